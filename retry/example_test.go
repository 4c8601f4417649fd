package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

func ExampleNew() {
	// Observe is there to print; a stack works without it.
	print := hooks.OnEvent(func(_ context.Context, e hooks.Event) {
		fmt.Printf("attempt %d: %v, next in %v\n", e.Attempt, e.Err, e.Delay)
	})
	search := stoic.MustNew("search",
		stoic.Observe(print),
		budget.New(), // shared by all calls: at most 10 % more load
		retry.New(
			retry.MaxAttempts(4),                          // the first one included
			retry.NoJitter(time.Millisecond, time.Second), // so that the output is always the same
		),
	)

	err := search.Do(context.Background(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) < 3 {
			return errors.New("connection reset")
		}
		return nil
	})
	fmt.Println("result:", err)
	// Output:
	// attempt 1: connection reset, next in 1ms
	// attempt 2: connection reset, next in 2ms
	// result: <nil>
}

func ExampleDo() {
	attempts := 0
	err := retry.Do(context.Background(), func(context.Context) error {
		attempts++
		return errors.New("no route to host")
	}, retry.MaxAttempts(2), retry.Constant(time.Millisecond))
	fmt.Println(attempts, "attempts:", err)
	// Output:
	// 2 attempts: no route to host
}

func ExamplePermanent() {
	errDeclined := errors.New("card declined")
	attempts := 0
	err := retry.Do(context.Background(), func(context.Context) error {
		attempts++
		return retry.Permanent(errDeclined)
	})
	fmt.Println(attempts, "attempt:", err)
	fmt.Println(errors.Is(err, errDeclined))
	// Output:
	// 1 attempt: card declined
	// true
}

func ExampleAfter() {
	start := time.Now()
	err := retry.Do(context.Background(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) == 1 {
			// The server said when to come back.
			return retry.After(20*time.Millisecond, errors.New("too many requests"))
		}
		return nil
	}, retry.Constant(time.Hour))
	fmt.Println(err, time.Since(start) >= 20*time.Millisecond)
	// Output:
	// <nil> true
}

func ExampleIf() {
	errBusy, errUnknown := errors.New("busy"), errors.New("unknown account")
	busy := func(err error) bool { return errors.Is(err, errBusy) }

	for _, failure := range []error{errBusy, errUnknown} {
		attempts := 0
		_ = retry.Do(context.Background(), func(context.Context) error {
			attempts++
			return failure
		}, retry.If(busy), retry.Constant(time.Millisecond))
		fmt.Println(failure, attempts)
	}
	// Output:
	// busy 3
	// unknown account 1
}

func ExampleTransient() {
	// To retry only what is known to pass.
	_ = stoic.MustNew("payments", retry.New(retry.If(retry.Transient)))

	fmt.Println(retry.Transient(context.DeadlineExceeded))
	fmt.Println(retry.Transient(statusError(503)))
	fmt.Println(retry.Transient(statusError(404)))
	fmt.Println(retry.Transient(errors.New("bad request")))
	// Output:
	// true
	// true
	// false
	// false
}

func ExampleNotExecuted() {
	// A payment must not be made twice: without an idempotency key, only a failure
	// that proves that nothing happened is retried.
	ctx := stoic.WithNonIdempotent(context.Background())
	for _, failure := range []error{
		errors.New("timeout"),
		retry.NotExecuted(errors.New("queue full")),
	} {
		attempts := 0
		err := retry.Do(ctx, func(context.Context) error {
			attempts++
			return failure
		}, retry.Constant(time.Millisecond))
		fmt.Println(err, attempts)
	}
	// Output:
	// timeout 1
	// queue full 3
}

func ExampleStoppedError() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	errDown := errors.New("connection refused")
	search := stoic.MustNew("search", retry.New(retry.Constant(time.Hour)))

	err := search.Do(ctx, func(context.Context) error { return errDown })

	// The next attempt would come after the deadline, so there is no point in waiting.
	if stopped, ok := errors.AsType[*retry.StoppedError](err); ok {
		fmt.Println("attempts:", stopped.Attempts)
		fmt.Println("failure:", stopped.Err)
	}
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, errDown))
	// Output:
	// attempts: 1
	// failure: connection refused
	// true true
}
