package examples_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// README: begin

var errFull = errors.New("bulkhead: full")

// bulkhead lets n calls run at a time and refuses more.
func bulkhead(n int) stoic.Policy {
	slots := make(chan struct{}, n)
	return stoic.PolicyFunc("bulkhead", func(ctx context.Context, next stoic.Next) error {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }() // also after a panic
			return next.Do(ctx)
		default:
			return &stoic.Rejection{
				Pipeline: next.Pipeline(), Policy: "bulkhead", Reason: "all slots are taken", Err: errFull, Type: "bulkhead_full",
			}
		}
	})
}

// onRetry is a hook that calls f before each retry.
func onRetry(f func(after time.Duration)) hooks.Hook {
	return hooks.OnEvent(func(_ context.Context, e hooks.Event) {
		if e.Kind == hooks.Retry {
			f(e.Delay)
		}
	})
}

// README: end

// A layer and a hook of one's own, in a stack.
func Example() {
	p := stoic.MustNew("payments",
		stoic.Observe(onRetry(func(after time.Duration) { fmt.Println("again after", after) })),
		retry.New(retry.Constant(time.Millisecond)),
		bulkhead(1),
	)
	err := p.Do(context.Background(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) == 1 {
			return errors.New("connection reset")
		}
		// The only slot is taken by this call, so a call inside it finds none.
		return p.Do(ctx, func(context.Context) error { return nil })
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, errFull))
	// Output:
	// again after 1ms
	// payments: retry stopped after 1 attempt: payments: bulkhead: all slots are taken: the client did not send this call; last failure: connection reset
	// true
}
