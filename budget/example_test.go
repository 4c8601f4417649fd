package budget_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

// The dependency is down, and each of a hundred calls may make five attempts. The
// budget lets ten retries through.
func ExampleNew() {
	payments := stoic.MustNew("payments",
		budget.New(budget.Ratio(0.1), budget.MinPerSecond(0)),
		retry.New(retry.MaxAttempts(5), retry.Constant(0)),
	)

	sent := 0
	down := errors.New("connection refused")
	var err error
	for range 100 {
		err = payments.Do(context.Background(), func(context.Context) error {
			sent++
			return down
		})
	}
	fmt.Println(sent, "requests for 100 calls")
	fmt.Println(errors.Is(err, down), errors.Is(err, budget.ErrExhausted))
	// Output:
	// 110 requests for 100 calls
	// true true
}

// An HTTP client with retries of its own, below a stack that retries too: both pay
// from one budget, and a request counts once.
func ExampleBudget_WithdrawOnly() {
	shared := budget.New(budget.Ratio(0), budget.MinPerSecond(0.2)) // two in 10 s

	client := stoic.MustNew("payments-http",
		shared.WithdrawOnly(),
		retry.New(retry.MaxAttempts(3), retry.Constant(0)),
	)
	payments := stoic.MustNew("payments",
		shared,
		retry.New(retry.MaxAttempts(4), retry.Constant(0)),
	)

	sent := 0
	err := payments.Do(context.Background(), func(ctx context.Context) error {
		return client.Do(ctx, func(context.Context) error {
			sent++
			return errors.New("connection refused")
		})
	})
	fmt.Println(sent, "requests")
	fmt.Println(errors.Is(err, budget.ErrExhausted))
	// Output:
	// 3 requests
	// true
}
