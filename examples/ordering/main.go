// Command ordering prints what three stacks do, and what is wrong with them: the breaker
// inside the retry, the breaker outside it, and a stack that nobody should run.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// inside is the recommended order: the breaker sees every attempt.
func inside() (*stoic.Pipeline, error) {
	return stoic.New("breaker-inside",
		deadline.New(2*time.Second),
		budget.New(),
		retry.New(),
		breaker.New("payments"),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		deadline.New(500*time.Millisecond),
	)
}

// outside counts whole calls.
func outside() (*stoic.Pipeline, error) {
	return stoic.New("breaker-outside",
		breaker.New("payments"),
		deadline.New(2*time.Second),
		budget.New(),
		retry.New(),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		deadline.New(500*time.Millisecond),
	)
}

// bad is made of settings that each look reasonable.
func bad() (*stoic.Pipeline, error) {
	client := stoic.MustNew("client", retry.New(retry.MaxAttempts(3), retry.Constant(time.Second)))
	return stoic.New("bad",
		deadline.New(3*time.Second),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		retry.New(retry.MaxAttempts(4), retry.If(func(error) bool { return true })),
		breaker.New("payments", breaker.ConsecutiveFailures(3)),
		deadline.New(5*time.Second),
		client,
	)
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	for _, build := range []func() (*stoic.Pipeline, error){inside, outside, bad} {
		p, err := build()
		if err != nil {
			return err
		}
		fmt.Fprint(w, p.Explain())
		findings := p.Vet()
		fmt.Fprintf(w, "findings: %d%s\n\n", len(findings), findings)
	}
	return nil
}
