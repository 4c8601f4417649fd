package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

// A breaker opens after failures, and then refuses without calling. The rejection tells
// when it will let a probe through, whose success closes it.
func ExampleNew() {
	db := breaker.New("db", breaker.ConsecutiveFailures(2), breaker.OpenFor(time.Minute))
	orders := stoic.MustNew("orders", db)

	refused := errors.New("connection refused")
	for range 2 {
		err := orders.Do(context.Background(), func(context.Context) error { return refused })
		fmt.Println(err)
	}
	err := orders.Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println("refused by the client:", errors.Is(err, breaker.ErrOpen), db.State())

	if rejection, ok := errors.AsType[*stoic.Rejection](err); ok {
		after, _ := rejection.RetryAfter()
		fmt.Println("again in", after.Round(time.Minute))
	}
	// Output:
	// connection refused
	// connection refused
	// refused by the client: true open
	// again in 1m0s
}

// An answer that says nothing about the health of the other side does not count.
func ExampleJudge() {
	errNotFound := errors.New("404 not found")
	api := breaker.New("api", breaker.ConsecutiveFailures(2), breaker.Judge(func(err error) stoic.Verdict {
		if errors.Is(err, errNotFound) {
			return stoic.Neutral
		}
		return stoic.Failure
	}))
	users := stoic.MustNew("users", api)

	for _, err := range []error{errors.New("503"), errNotFound, errNotFound} {
		_ = users.Do(context.Background(), func(context.Context) error { return err })
	}
	fmt.Println(api.State(), api.Counts().ConsecutiveFailures)
	// Output: closed 1
}

// An operator takes a dependency out, and puts it back.
func ExampleBreaker_ForceOpen() {
	db := breaker.New("db")
	orders := stoic.MustNew("orders", db)
	call := func(context.Context) error { return nil }

	db.ForceOpen()
	fmt.Println(orders.Do(context.Background(), call))
	db.Auto()
	fmt.Println(orders.Do(context.Background(), call))
	// Output:
	// orders: breaker "db": circuit breaker is forced open: the client did not send this call
	// <nil>
}
