package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

// One deadline for the whole call, and one for each attempt.
func ExampleNew() {
	payments := stoic.MustNew("payments",
		deadline.New(10*time.Second),      // total: attempts and the waits between them
		retry.New(retry.Constant(0)),      // three attempts
		deadline.New(20*time.Millisecond), // each attempt
	)
	err := payments.Do(context.Background(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) < 3 {
			<-ctx.Done() // hangs
			fmt.Println(stoic.Attempt(ctx), ctx.Err())
			return ctx.Err()
		}
		fmt.Println(stoic.Attempt(ctx), "charged")
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 context deadline exceeded
	// 2 context deadline exceeded
	// 3 charged
	// <nil>
}

func ExampleExceededError() {
	payments := stoic.MustNew("payments", deadline.New(20*time.Millisecond))

	err := payments.Do(context.Background(), func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("reading the answer: connection closed")
	})

	fmt.Println(errors.Is(err, deadline.ErrExceeded), errors.Is(err, context.DeadlineExceeded))
	if exceeded, ok := errors.AsType[*deadline.ExceededError](err); ok {
		fmt.Println(exceeded.Limit, "were not enough:", exceeded.Err)
	}
	fmt.Println(err)
	// Output:
	// true true
	// 20ms were not enough: reading the answer: connection closed
	// payments: deadline of 20ms exceeded: reading the answer: connection closed
}
