package lab_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// A minute in which the dependency hangs for ten seconds: what do the retries make of it?
func ExampleRun() {
	scenario := lab.Scenario{
		Name:     "hang",
		Duration: time.Minute,
		Clients:  lab.Clients{Processes: 10, Rate: 500},
		Server:   lab.Server{Workers: 40, Service: lab.Exp(50 * time.Millisecond), Hop: lab.Fixed(time.Millisecond)},
		Faults:   []lab.Fault{{Kind: lab.BlackHole, From: 20 * time.Second, To: 30 * time.Second}},
	}
	bare := func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("payments", retry.New(retry.MaxAttempts(4)), deadline.New(500*time.Millisecond))
	}
	recommended := func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("payments",
			deadline.New(2*time.Second), budget.New(), retry.New(retry.MaxAttempts(4)), breaker.New("payments"),
			deadline.New(500*time.Millisecond))
	}
	for _, stack := range []lab.Stack{bare, recommended} {
		res, err := lab.Run(scenario, stack)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("amplification below 1.2: %t, recovered: %t, ties: %d\n", res.Amplification < 1.2, res.Recovered, res.Ties)
	}
	// Output:
	// amplification below 1.2: false, recovered: false, ties: 0
	// amplification below 1.2: true, recovered: true, ties: 0
}

// One client that calls in a loop, with an operation of its own.
func ExampleRun_operation() {
	res, err := lab.Run(lab.Scenario{
		Duration: time.Second,
		Clients:  lab.Clients{Loop: 1, Think: lab.Fixed(90 * time.Millisecond), Requests: 5},
		Op: func(ctx context.Context, c lab.Call) error {
			return c.Sleep(ctx, 10*time.Millisecond)
		},
	}, func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("cache") })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.OK, res.Length.Round(time.Millisecond))
	// Output: 5 500ms
}
