package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

//nolint:forbidigo // an example
func charge(context.Context) error {
	fmt.Println("charged")
	return nil
}

// Two calls at once, then one every ten seconds; what is above that is refused.
func ExampleNew() {
	payments := stoic.MustNew("payments", ratelimit.New(0.1, 2))

	for range 3 {
		err := payments.Do(context.Background(), charge)
		if errors.Is(err, ratelimit.ErrLimited) {
			fmt.Println("limited")
		}
	}
	// Output:
	// charged
	// charged
	// limited
}

func ExamplePer() {
	fmt.Println(ratelimit.Per(100, time.Second))
	fmt.Println(ratelimit.Per(90, time.Minute))

	_, err := stoic.New("payments", ratelimit.New(ratelimit.Per(0, time.Second), 1))
	fmt.Println(err)
	// Output:
	// 100
	// 1.5
	// payments: layer 1 (ratelimit): limit(0): must be a positive, finite number of calls a second; rate.Inf is no limit
}

// The second call waits for its token. A call that would have to wait for more than a
// second is refused at once.
func ExampleWait() {
	payments := stoic.MustNew("payments",
		ratelimit.New(ratelimit.Per(50, time.Second), 1, ratelimit.Wait(time.Second)),
	)
	start := time.Now()
	_ = payments.Do(context.Background(), charge)
	_ = payments.Do(context.Background(), charge)
	fmt.Println("spread over 15ms or more:", time.Since(start) > 15*time.Millisecond)
	// Output:
	// charged
	// charged
	// spread over 15ms or more: true
}

// A limiter that the program has already: both take from one bucket.
func ExampleFrom() {
	limiter := rate.NewLimiter(rate.Every(time.Hour), 2)
	payments := stoic.MustNew("payments", ratelimit.From(limiter))

	fmt.Println("direct:", limiter.Allow())
	_ = payments.Do(context.Background(), charge)
	fmt.Println("direct:", limiter.Allow())
	// Output:
	// direct: true
	// charged
	// direct: false
}
