package stoic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

func TestDoReturnsTheErrorOfTheOperation(t *testing.T) {
	p := stoic.MustNew("payments", stoic.Observe(nil), attempts(1, 0))
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if err := p.Do(t.Context(), fail); !same(err, errBoom) {
		t.Errorf("got %v, want the very error", err)
	}
}

func TestDoRefusesWhatItCannotRun(t *testing.T) {
	valid := stoic.MustNew("payments")
	tests := []struct {
		name string
		p    *stoic.Pipeline
		fn   stoic.Func
		want string
	}{
		{"nil Func", valid, nil, "payments: Do(nil): needs a function to call"},
		{"zero Pipeline", &stoic.Pipeline{}, succeed, "stoic: the pipeline was not made by New"},
		{"nil Pipeline", nil, succeed, "stoic: the pipeline was not made by New"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, err := range map[string]error{
				"Do":   tt.p.Do(t.Context(), tt.fn),
				"Wrap": tt.p.Wrap(tt.fn)(t.Context()),
			} {
				if !errors.Is(err, stoic.ErrInvalid) || err.Error() != tt.want {
					t.Errorf("%s: got %v, want %s", how, err, tt.want)
				}
			}
		})
	}
}

func TestRunRefusesAPipelineNotMadeByNew(t *testing.T) {
	for name, inner := range map[string]*stoic.Pipeline{"zero": {}, "nil": nil} {
		choose := stoic.PolicyFunc("choose", func(ctx context.Context, next stoic.Next) error { return inner.Run(ctx, next) })
		op := &operation{}
		if err := stoic.MustNew("payments", choose).Do(t.Context(), op.run); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
		op.want(t, 0)
	}
}

func TestWrapRunsTheStackOnEachCall(t *testing.T) {
	var j journal
	wrapped := stoic.MustNew("payments", j.layer("layer")).Wrap(j.fn("fn"))
	for range 2 {
		if err := wrapped(t.Context()); err != nil {
			t.Error(err)
		}
	}
	j.want(t, "layer", "fn", "layer", "fn")
}

// choose is a layer that picks its pipeline at call time.
func choose(inner *stoic.Pipeline) stoic.Policy {
	return stoic.PolicyFunc("choose", func(ctx context.Context, next stoic.Next) error {
		return inner.Run(ctx, next)
	})
}

func TestRunAsALayerChosenAtCallTime(t *testing.T) {
	t.Run("order", func(t *testing.T) {
		var j journal
		inner := stoic.MustNew("inner", j.layer("2"), j.layer("3"))
		p := stoic.MustNew("outer", j.layer("1"), choose(inner), j.layer("4"))
		if err := p.Do(t.Context(), j.fn("fn")); err != nil {
			t.Error(err)
		}
		j.want(t, "1", "2", "3", "4", "fn")
	})
	t.Run("the error is unchanged", func(t *testing.T) {
		if err := stoic.MustNew("outer", choose(stoic.MustNew("inner"))).Do(t.Context(), fail); !same(err, errBoom) {
			t.Errorf("got %v, want the very error", err)
		}
	})
	t.Run("attempts are carried in and out", func(t *testing.T) {
		var inside, below, inFunc []int
		note := func(to *[]int) stoic.Policy {
			return stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
				*to = append(*to, next.Attempt())
				return next.Do(ctx)
			})
		}
		inner := stoic.MustNew("inner", attempts(3, 0), note(&inside))
		p := stoic.MustNew("outer", attempts(4, 0), choose(inner), note(&below))
		_ = p.Do(t.Context(), func(ctx context.Context) error {
			inFunc = append(inFunc, stoic.Attempt(ctx))
			return errBoom
		})
		// 4+3−1, as if it had been flattened: the inner one leaves resends to the outer.
		want := []int{1, 2, 3, 2, 3, 4}
		for name, got := range map[string][]int{"inside": inside, "below": below, "in the Func": inFunc} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: attempts %v, want %v", name, got, want)
			}
		}
	})
	t.Run("a budget inside counts a call once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(1), budget.MinPerSecond(0))
			inner := stoic.MustNew("inner", b, attempts(1, 0))
			_ = stoic.MustNew("outer", attempts(5, 0), choose(inner)).Do(t.Context(), fail)
			if got := granted(b); got != 1 {
				t.Errorf("%d requests counted, want 1", got)
			}
		})
	})
	t.Run("the hooks outside see below it again", func(t *testing.T) {
		var outside, inside hookstest.Recorder
		inner := stoic.MustNew("inner", stoic.Observe(&inside))
		p := stoic.MustNew("outer", stoic.Observe(&outside), choose(inner), attempts(2, 0))
		_ = p.Do(t.Context(), fail)
		wantLines(t, outside.Strings(), []string{
			"start call outer #1",
			"start attempt outer #1", "end attempt outer #1 failed", "retry retry outer #1 0s",
			"start attempt outer #2", "end attempt outer #2 failed", "gave_up retry outer #2 max_attempts",
			"end call outer #1 failed",
		})
		wantLines(t, inside.Strings(), []string{"start call inner #1", "end call inner #1 failed"})
	})
}

// granted is how many retries b grants now.
func granted(b stoic.Budget) int {
	for n := 0; ; n++ {
		if _, err := b.Reserve(); err != nil {
			return n
		}
	}
}

// A pipeline that is chosen at call time behaves as one that is flattened, also in a
// stack that is called inside the resend of another: that other attempt is not its own.
func TestRunDoesNotTakeTheAttemptOfAStackAroundIt(t *testing.T) {
	entered := func(layer stoic.Policy) int64 {
		inner := stoic.MustNew("inner", layer, attempts(3, 0))
		outer := stoic.MustNew("outer", attempts(2, 0))
		op := &operation{err: errBoom}
		_ = outer.Do(t.Context(), func(ctx context.Context) error { return inner.Do(ctx, op.run) })
		return op.entered.Load()
	}
	empty := stoic.MustNew("empty")
	if flat, chosen := entered(empty), entered(choose(empty)); flat != 6 || chosen != flat {
		t.Errorf("flattened: %d runs, chosen at call time: %d, want 6 for both", flat, chosen)
	}
}

func TestOnePipelineInManyGoroutines(t *testing.T) {
	p := stoic.MustNew("payments", budget.New(), retry.New(), stoic.Benign(func(err error) bool { return same(err, errBoom) }))
	runBoth(t, p, p, p, p, p, p, p, p)
}
