package hookstest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func ExampleRecorder() {
	var r hookstest.Recorder

	// A stack with stoic.Observe(&r) makes these calls.
	op := hooks.Op{Kind: hooks.KindCall, Pipeline: "payments", Operation: "payments", Attempt: 1}
	ctx := r.Start(context.Background(), op)
	r.Event(ctx, hooks.Event{
		Kind: hooks.Retry, Pipeline: "payments", Operation: "payments", Policy: "retry",
		Attempt: 1, Delay: 100 * time.Millisecond, Err: errors.New("connection reset"),
	})
	r.End(ctx, op, hooks.Result{Outcome: hooks.Succeeded, Duration: 250 * time.Millisecond})

	for _, line := range r.Strings() {
		fmt.Println(line)
	}
	fmt.Println("open:", r.Open())
	fmt.Println("check:", r.Check())
	// Output:
	// start call payments #1
	// retry retry payments #1 100ms
	// end call payments #1 succeeded
	// open: 0
	// check: <nil>
}
