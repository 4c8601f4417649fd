package otelhooks_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
)

// everything makes f emit all that it can: each metric, and each attribute on each kind of
// span. It takes virtual time.
func everything(t *testing.T, f *fixture) {
	t.Helper()
	circuit := breaker.New("db", breaker.ConsecutiveFailures(3), breaker.OpenFor(sec))
	retries := budget.New(budget.Ratio(0), budget.MinPerSecond(0.6)) // six
	p := stoic.MustNew("payments", stoic.Observe(f), deadline.New(time.Minute), retries, thrice(),
		circuit, ratelimit.New(1, 1, ratelimit.Wait(2*sec)), deadline.New(5*sec))
	do := func(ctx context.Context, fn stoic.Func) { _ = p.Do(ctx, fn) }
	ctx := stoic.WithOperation(t.Context(), "charge")

	do(ctx, inTurn(lasting(0, errTyped), lasting(0, nil))) // recovers
	do(ctx, lasting(0, errTyped))                          // exhausted, and the breaker opens
	do(ctx, lasting(0, nil))                               // refused by the breaker
	time.Sleep(sec + 1)
	do(ctx, func(ctx context.Context) error { // the probe, with another call during it
		do(ctx, lasting(0, nil))
		return nil
	})
	circuit.Auto()
	do(ctx, lasting(0, nil)) // waits for the limiter
	canceled, cancel := context.WithCancel(ctx)
	time.AfterFunc(500*ms, cancel)
	do(canceled, lasting(0, nil)) // canceled while it waits
	do(ctx, lasting(0, nil))
	short, stop := context.WithTimeout(ctx, 250*ms)
	defer stop()
	do(short, lasting(0, nil)) // the token would come too late
	do(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	circuit.ForceClosed()
	for range 4 {
		do(ctx, lasting(0, errPlain)) // no budget is left for the last
	}
	func() {
		defer func() { _ = recover() }()
		do(ctx, func(context.Context) error { panic("boom") })
	}()
	var wg sync.WaitGroup
	wg.Go(func() { do(ctx, func(context.Context) error { runtime.Goexit(); return nil }) })
	wg.Wait()
	time.Sleep(time.Minute)
}
