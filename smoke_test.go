package stoic_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"golang.org/x/time/rate"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hooks.OnEvent(func(ctx context.Context, e hooks.Event) { t.Log(time.Now().Format("05.000000"), e.Kind, e.Policy, e.From, e.To, e.Delay, e.Attempt, e.Err, e.Reason) })
		p := stoic.MustNew("pay", stoic.Observe(h), deadline.New(20*time.Second), budget.New(), retry.New(retry.NoJitter(100*time.Millisecond, time.Second), retry.MaxAttempts(5)),
			breaker.New("b", breaker.ConsecutiveFailures(7)), ratelimit.New(ratelimit.Per(100, time.Second), 20), deadline.New(500*time.Millisecond))
		for range 3 {
			err := p.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			t.Log(err, errors.Is(err, breaker.ErrOpen), errors.Is(err, deadline.ErrExceeded))
		}
		time.Sleep(6 * time.Second)
		t.Log(p.Do(t.Context(), func(ctx context.Context) error { return nil }))
		_, err := stoic.New("bad", budget.New(budget.Ratio(2)), retry.New(retry.MaxAttempts(0), retry.Constant(-1)), nil, breaker.New("", breaker.Probes(0)), deadline.New(0), ratelimit.New(0, 0), (*retry.Retry)(nil), &breaker.Breaker{})
		t.Log("\n" + err.Error())
	})
}

func TestAllocSmoke(t *testing.T) {
	ok := func(ctx context.Context) error { return nil }
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		default:
		}
		return nil
	}
	lim := func() stoic.Policy { return ratelimit.New(rate.Limit(1e9), 1e9) }
	for name, p := range map[string]*stoic.Pipeline{
		"empty":    stoic.MustNew("x"),
		"retry":    stoic.MustNew("x", retry.New()),
		"budget":   stoic.MustNew("x", budget.New(), retry.New()),
		"breaker":  stoic.MustNew("x", breaker.New("b")),
		"limit":    stoic.MustNew("x", lim()),
		"four":     stoic.MustNew("x", budget.New(), retry.New(), breaker.New("b"), lim()),
		"deadline": stoic.MustNew("x", deadline.New(time.Second)),
		"full":     stoic.MustNew("x", deadline.New(time.Second), budget.New(), retry.New(), breaker.New("b"), lim(), deadline.New(time.Second)),
	} {
		ctx := context.Background()
		t.Log(name, testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, ok) }), testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, wait) }))
	}
}
