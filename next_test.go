package stoic_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestZeroNext(t *testing.T) {
	for name, n := range map[string]stoic.Next{"zero": {}, "with an attempt": stoic.Next{}.WithAttempt(3)} {
		if err := n.Do(t.Context()); !errors.Is(err, stoic.ErrInvalid) || err.Error() != "stoic: Next{}: the zero Next has nothing to run" {
			t.Errorf("%s: Do: %v, want ErrInvalid", name, err)
		}
		if n.Budget() != nil || n.Observed() || n.Pipeline() != "" {
			t.Errorf("%s: budget %v, observed %v, pipeline %q", name, n.Budget(), n.Observed(), n.Pipeline())
		}
		n.Emit(t.Context(), hooks.Event{Kind: hooks.Retry})
	}
	if got := (stoic.Next{}).Attempt(); got != 1 {
		t.Errorf("attempt %d, want 1", got)
	}
}

// within runs f as the layer between outer and inner.
func within(t *testing.T, outer []stoic.Policy, f func(ctx context.Context, next stoic.Next) error, inner ...stoic.Policy) error {
	t.Helper()
	layers := slices.Concat(outer, []stoic.Policy{stoic.PolicyFunc("within", f)}, inner)
	return stoic.MustNew("payments", layers...).Do(t.Context(), succeed)
}

func TestNextMayBeKeptCopiedAndUsedFromAnywhere(t *testing.T) {
	op := &operation{err: errBoom}
	var kept stoic.Next
	p := stoic.MustNew("payments",
		stoic.PolicyFunc("several", func(ctx context.Context, next stoic.Next) error {
			kept = next
			other := next
			var running sync.WaitGroup
			for range 8 {
				running.Go(func() {
					if err := other.Do(ctx); !same(err, errBoom) {
						t.Errorf("got %v, want its error", err)
					}
				})
			}
			running.Wait()
			return next.Do(ctx)
		}),
		attempts(2, 0))
	if err := p.Do(t.Context(), op.run); !same(err, errBoom) {
		t.Error(err)
	}
	op.want(t, 9*2)
	if err := kept.Do(t.Context()); !same(err, errBoom) { // after Do has returned
		t.Error(err)
	}
	op.want(t, 10*2)
}

func TestNextNeverCalled(t *testing.T) {
	op := &operation{}
	p := stoic.MustNew("payments", stoic.PolicyFunc("answer", func(context.Context, stoic.Next) error { return errBoom }))
	if err := p.Do(t.Context(), op.run); !same(err, errBoom) {
		t.Error(err)
	}
	op.want(t, 0)
}

func TestWithAttempt(t *testing.T) {
	tests := []struct{ k, want int }{
		{math.MinInt, 1},
		{-1, 1},
		{0, 1},
		{1, 1},
		{2, 2},
		{1000, 1000},
		{math.MaxInt32, math.MaxInt32},
		{math.MaxInt, math.MaxInt32},
	}
	for _, tt := range tests {
		var below, inFunc int
		p := stoic.MustNew("payments",
			stoic.PolicyFunc("set", func(ctx context.Context, next stoic.Next) error {
				if err := next.WithAttempt(tt.k).Do(ctx); err != nil {
					return err
				}
				if got := next.Attempt(); got != 1 {
					t.Errorf("WithAttempt changed the Next that it was called on: %d", got)
				}
				return nil
			}),
			stoic.PolicyFunc("get", func(ctx context.Context, next stoic.Next) error {
				below = next.Attempt()
				return next.Do(ctx)
			}))
		caller := t.Context()
		_ = p.Do(caller, func(ctx context.Context) error {
			inFunc = stoic.Attempt(ctx)
			if tt.want == 1 && ctx != caller {
				t.Errorf("WithAttempt(%d): attempt 1 is in the context, want nothing", tt.k)
			}
			return nil
		})
		if below != tt.want || inFunc != tt.want {
			t.Errorf("WithAttempt(%d): %d below, %d in the Func, want %d", tt.k, below, inFunc, tt.want)
		}
	}
}

func TestNextBudgetIsTheNearestAround(t *testing.T) {
	outer, inner := budget.New(), budget.New()
	var got []stoic.Budget
	note := stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
		got = append(got, next.Budget())
		return next.Do(ctx)
	})
	p := stoic.MustNew("payments", note, outer, note, attempts(1, 0), note, stoic.MustNew("nested", inner, note, attempts(1, 0)), note)
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	want := []stoic.Budget{nil, outer, outer, inner, inner}
	if len(got) != len(want) {
		t.Fatalf("%d budgets, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("layer %d: budget %v, want %v", i, got[i], want[i])
		}
	}
}

// selfish is a budget that notes which budget is around it.
type selfish struct {
	*budget.Budget
	around stoic.Budget
}

func (s *selfish) Run(ctx context.Context, next stoic.Next) error {
	s.around = next.Budget()
	return next.Do(ctx)
}

func TestNextBudgetIsNotTheHolder(t *testing.T) {
	outer, inner := budget.New(), &selfish{Budget: budget.New()}
	if err := stoic.MustNew("payments", outer, attempts(1, 0), inner, attempts(1, 0)).Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	if inner.around != outer {
		t.Errorf("got %v, want the budget around it", inner.around)
	}
}

func TestEmitReachesTheObserveLayersAround(t *testing.T) {
	var j journal
	hook := func(name string) hooks.Hook {
		return hooks.OnEvent(func(_ context.Context, e hooks.Event) {
			j.add(name + ": " + e.Pipeline + "/" + e.Operation + " " + e.Policy)
		})
	}
	f := func(ctx context.Context, next stoic.Next) error {
		if !next.Observed() {
			t.Error("not observed")
		}
		next.Emit(ctx, hooks.Event{Kind: hooks.Reject, Policy: "within", Pipeline: "overwritten", Operation: "overwritten"})
		next.Emit(stoic.WithOperation(ctx, "refund"), hooks.Event{Kind: hooks.Reject, Policy: "within"})
		return next.Do(ctx)
	}
	outer := []stoic.Policy{stoic.Observe(hook("1")), attempts(1, 0), stoic.Observe(nil), stoic.Observe(hook("2"))}
	if err := within(t, outer, f, stoic.Observe(hook("inside"))); err != nil {
		t.Error(err)
	}
	j.want(t, "1: payments/payments within", "2: payments/payments within", "1: payments/refund within", "2: payments/refund within")
}

func TestEmitWithoutAHookDoesNothing(t *testing.T) {
	var inside hookstest.Recorder
	f := func(ctx context.Context, next stoic.Next) error {
		if next.Observed() {
			t.Error("observed by a layer inside")
		}
		next.Emit(ctx, hooks.Event{Kind: hooks.Reject})
		return next.Do(ctx)
	}
	if err := within(t, []stoic.Policy{stoic.Observe(nil)}, f, stoic.Observe(&inside)); err != nil {
		t.Error(err)
	}
	if got := inside.Events(); len(got) != 0 {
		t.Errorf("events %v, want none", got)
	}
}

func TestNextPipelineIsTheOuterName(t *testing.T) {
	var got string
	note := stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
		got = next.Pipeline()
		return next.Do(ctx)
	})
	_ = stoic.MustNew("payments", stoic.MustNew("nested", note)).Do(t.Context(), succeed)
	if got != "payments" {
		t.Errorf("got %q, want payments", got)
	}
}
