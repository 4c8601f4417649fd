//go:build !race

package otelhooks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/retry"
)

// What the hook adds to a call, in allocations: those of the call without it are
// subtracted, but a call that succeeds at once has none.
func TestAllocsOfACall(t *testing.T) {
	bounds := map[string]struct{ one, three float64 }{
		"nil":              {0, 0},
		"Nop":              {0, 0},
		"noop":             {2, 4},  // a context for the call, and one for each attempt
		"global":           {8, 17}, // where nobody installed an SDK, its spans are still made
		"metrics":          {2, 4},
		"metrics detailed": {2, 4},
		"unsampled":        {8, 17}, // from here on most is the SDK's
		"sampled":          {15, 46},
	}
	baseline := map[int]float64{}
	for _, o := range observers(t) {
		bound, ok := bounds[o.name]
		if !ok {
			t.Errorf("%s has no bound", o.name)
		}
		for attempts, most := range map[int]float64{1: bound.one, 3: bound.three} {
			call := observed(t, o, attempts)
			call() // makes what is made once
			got := testing.AllocsPerRun(1000, call)
			if o.hook == nil {
				baseline[attempts] = got
			}
			if got -= baseline[attempts]; got > most {
				t.Errorf("%s, %d attempts: %v allocations more than without a hook, want at most %v", o.name, attempts, got, most)
			}
			t.Logf("%s, %d attempts: %v", o.name, attempts, got)
		}
	}
	if baseline[1] != 0 {
		t.Errorf("%v allocations without a hook, want none", baseline[1])
	}
}

// The promise: one attempt with no-op providers, or with metrics only, is at most three,
// also when it fails and when it names its operation.
func TestAllocsOfOneAttempt(t *testing.T) {
	for _, o := range observers(t) {
		if o.name != "noop" && o.name != "metrics" && o.name != "metrics detailed" {
			continue
		}
		p := stoic.MustNew("payments", stoic.Observe(o.hook), retry.New(retry.MaxAttempts(1)))
		bare := stoic.MustNew("payments", retry.New(retry.MaxAttempts(1)))
		ctx := stoic.WithOperation(t.Context(), "charge")
		for name, fn := range map[string]stoic.Func{
			"success": func(context.Context) error { return nil },
			"failure": func(context.Context) error { return errTyped },
		} {
			base := testing.AllocsPerRun(1000, func() { _ = bare.Do(ctx, fn) })
			got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, fn) }) - base
			if got > 3 {
				t.Errorf("%s, %s: %v allocations, want at most 3", o.name, name, got)
			}
			t.Logf("%s, %s: %v, of %v", o.name, name, got, got+base)
		}
	}
}

// A rejection by an open breaker, which there may be many of, makes none but its context.
func TestAllocsOfARejection(t *testing.T) {
	for _, o := range observers(t) {
		if o.name != "metrics" {
			continue
		}
		circuit := breaker.New("db")
		p := stoic.MustNew("payments", stoic.Observe(o.hook), circuit)
		bare := stoic.MustNew("payments", circuit)
		circuit.ForceOpen()
		fn := func(context.Context) error { return nil }
		base := testing.AllocsPerRun(1000, func() { _ = bare.Do(t.Context(), fn) })
		if got := testing.AllocsPerRun(1000, func() { _ = p.Do(t.Context(), fn) }) - base; got > 1 {
			t.Errorf("%v allocations more than without a hook, want 1", got)
		}
	}
}

// An operation that is one of too many costs no more than one that has its place.
func TestAllocsOfTooManyOperations(t *testing.T) {
	for _, o := range observers(t) {
		if o.name != "metrics" {
			continue
		}
		p := stoic.MustNew("payments", stoic.Observe(o.hook))
		fn := func(context.Context) error { return nil }
		for i := range 1100 {
			_ = p.Do(stoic.WithOperation(t.Context(), fmt.Sprint("order-", i)), fn)
		}
		for _, name := range []string{"order-0", "order-1099", "never seen"} {
			ctx := stoic.WithOperation(t.Context(), name)
			if got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, fn) }); got > 1 {
				t.Errorf("%s: %v allocations, want 1", name, got)
			}
		}
	}
}
