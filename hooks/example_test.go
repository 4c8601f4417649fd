package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

// printer is a hook that prints what it is told.
type printer struct{ name string }

func (p printer) Start(ctx context.Context, op hooks.Op) context.Context {
	say("%s: start %s\n", p.name, op.Kind)
	return ctx
}

func (p printer) End(_ context.Context, op hooks.Op, res hooks.Result) {
	say("%s: end %s %s\n", p.name, op.Kind, res.Outcome)
}

func (p printer) Event(_ context.Context, e hooks.Event) {
	say("%s: %s\n", p.name, e.Kind)
}

func say(format string, args ...any) {
	fmt.Printf(format, args...) //nolint:forbidigo // the output of the examples
}

// run makes the calls that a stack with stoic.Observe(h) makes when the first
// attempt of a call fails and the second succeeds.
func run(h hooks.Hook) {
	op := hooks.Op{Kind: hooks.KindCall, Pipeline: "payments", Operation: "payments", Attempt: 1}
	ctx := h.Start(context.Background(), op)
	h.Event(ctx, hooks.Event{
		Kind: hooks.Retry, Pipeline: "payments", Operation: "payments", Policy: "retry",
		Attempt: 1, Delay: 100 * time.Millisecond,
		Err: errors.New(`Post "https://user:secret@api.example/refund?token=secret": EOF`),
	})
	h.End(ctx, op, hooks.Result{Outcome: hooks.Succeeded, Duration: 250 * time.Millisecond})
}

func ExampleJoin() {
	run(hooks.Join(printer{"tracing"}, printer{"metrics"}))
	// Output:
	// tracing: start call
	// metrics: start call
	// tracing: retry
	// metrics: retry
	// metrics: end call succeeded
	// tracing: end call succeeded
}

func ExampleOnEvent() {
	run(hooks.OnEvent(func(_ context.Context, e hooks.Event) {
		if e.Kind == hooks.Retry {
			fmt.Printf("%s: attempt %d failed, the next follows in %s\n", e.Pipeline, e.Attempt, e.Delay)
		}
	}))
	// Output:
	// payments: attempt 1 failed, the next follows in 100ms
}

func ExampleSlog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // so that the output is the same each time
			}
			return a
		},
	}))
	run(hooks.Slog(logger))
	// Output:
	// level=DEBUG msg="stoic: retry" pipeline=payments operation=payments policy=retry attempt=1 delay=100ms error="Post \"https://api.example/refund\": EOF"
	// level=DEBUG msg="stoic: call ended" pipeline=payments operation=payments attempt=1 outcome=succeeded duration=250ms
}

// retryCounter needs only events.
type retryCounter struct {
	hooks.Nop

	n atomic.Int64
}

func (c *retryCounter) Event(_ context.Context, e hooks.Event) {
	if e.Kind == hooks.Retry {
		c.n.Add(1)
	}
}

func ExampleNop() {
	var retries retryCounter
	run(&retries)
	fmt.Println(retries.n.Load())
	// Output:
	// 1
}
