package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// The first layer is the outermost.
func ExampleNew() {
	layer := func(name string) stoic.Policy {
		return stoic.PolicyFunc(name, func(ctx context.Context, next stoic.Next) error {
			fmt.Println("before", name)
			defer fmt.Println("after", name)
			return next.Do(ctx)
		})
	}
	p, err := stoic.New("payments", layer("outer"), layer("middle"), layer("inner"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = p.Do(context.Background(), func(context.Context) error {
		fmt.Println("the call")
		return nil
	})
	// Output:
	// before outer
	// before middle
	// before inner
	// the call
	// after inner
	// after middle
	// after outer
}

// New reports every mistake, and where it is.
func ExampleNew_invalid() {
	_, err := stoic.New("payments",
		retry.New(retry.MaxAttempts(0)),
		deadline.New(0),
	)
	fmt.Println(err)
	fmt.Println(errors.Is(err, stoic.ErrInvalid))
	// Output:
	// payments: layer 1 (retry): MaxAttempts(0): must be at least 1 (the first call counts); for no limit use Unlimited()
	// payments: layer 2 (deadline): New(0s): must be positive; leave the layer out for no limit
	// true
}

// A stack for a dependency, in the recommended order, made once.
func ExamplePipeline_Do() {
	payments := stoic.MustNew("payments",
		deadline.New(2*time.Second),
		budget.New(),
		retry.New(retry.FullJitter(time.Millisecond, time.Second)),
		breaker.New("payments"),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		deadline.New(500*time.Millisecond),
	)

	err := payments.Do(context.Background(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) == 1 {
			fmt.Println("attempt 1 fails")
			return errors.New("connection reset")
		}
		fmt.Println("attempt", stoic.Attempt(ctx), "works")
		return nil
	})
	fmt.Println(err)
	// Output:
	// attempt 1 fails
	// attempt 2 works
	// <nil>
}

func ExampleGet() {
	type response struct {
		Status int
		Body   string
	}
	search := stoic.MustNew("search", retry.New(retry.Constant(time.Millisecond)))

	// The server is busy twice, and says so without an error.
	ask := func(ctx context.Context) (response, error) {
		if stoic.Attempt(ctx) < 3 {
			return response{503, "busy"}, nil
		}
		return response{200, "42"}, nil
	}
	unavailable := stoic.FailIf(func(r response) error {
		if r.Status == 503 {
			return errors.New("503 Service Unavailable")
		}
		return nil
	})

	r, err := stoic.Get(context.Background(), search, ask, unavailable)
	fmt.Println(r.Status, r.Body, err)
	// Output: 200 42 <nil>
}

// A bulkhead: at most two calls at a time.
func ExamplePolicyFunc() {
	places := make(chan struct{}, 2)
	bulkhead := stoic.PolicyFunc("bulkhead", func(ctx context.Context, next stoic.Next) error {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			return next.Do(ctx)
		default:
			return &stoic.Rejection{
				Pipeline: next.Pipeline(), Policy: "bulkhead", Reason: "two calls are running", Type: "bulkhead_full",
			}
		}
	})
	reports := stoic.MustNew("reports", bulkhead)

	places <- struct{}{}
	places <- struct{}{}
	err := reports.Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println(err)
	fmt.Println(errors.Is(err, stoic.ErrRejected))
	// Output:
	// reports: bulkhead: two calls are running: the client did not send this call
	// true
}

// Middleware that exists already becomes a layer. What it keeps stays outside wrap,
// which runs on every call.
func ExampleMiddleware() {
	calls := 0
	count := func(next stoic.Func) stoic.Func {
		return func(ctx context.Context) error {
			calls++
			return next(ctx)
		}
	}
	p := stoic.MustNew("search", stoic.Middleware("count", count))
	for range 3 {
		_ = p.Do(context.Background(), func(context.Context) error { return nil })
	}
	fmt.Println(calls)
	// Output: 3
}

func ExampleObserve() {
	log := hooks.OnEvent(func(_ context.Context, e hooks.Event) {
		fmt.Println(e.Operation, e.Kind, "after attempt", e.Attempt, e.Delay, e.Err)
	})
	payments := stoic.MustNew("payments",
		stoic.Observe(log),
		retry.New(retry.MaxAttempts(2), retry.Constant(time.Millisecond)),
	)
	ctx := stoic.WithOperation(context.Background(), "charge")
	_ = payments.Do(ctx, func(context.Context) error { return errors.New("connection reset") })
	// Output:
	// charge retry after attempt 1 1ms connection reset
	// charge gave_up after attempt 2 0s connection reset
}

// "Not found" is an answer: no reason for another attempt, and no sign that the
// dependency is ill.
func ExampleBenign() {
	errNotFound := errors.New("not found")
	users := stoic.MustNew("users",
		retry.New(),
		breaker.New("users", breaker.ConsecutiveFailures(1)),
		stoic.Benign(func(err error) bool { return errors.Is(err, errNotFound) }),
	)

	calls := 0
	for range 3 {
		err := users.Do(context.Background(), func(context.Context) error {
			calls++
			return errNotFound
		})
		fmt.Println(errors.Is(err, errNotFound))
	}
	fmt.Println(calls, "calls")
	// Output:
	// true
	// true
	// true
	// 3 calls
}
