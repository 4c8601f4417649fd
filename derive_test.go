package stoic_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestC50_DerivedStacksDoNotMix(t *testing.T) {
	t.Run("from a slice with room to spare", func(t *testing.T) {
		var ja, jb journal
		base := make([]stoic.Policy, 0, 8)
		for range 3 {
			base = append(base, stoic.PolicyFunc("base", next))
		}
		a := stoic.MustNew("a", append(base, ja.layer("X"))...)
		b := stoic.MustNew("b", append(base, jb.layer("Y"))...) // over X
		runBoth(t, a, b)
		ja.want(t, "X")
		jb.want(t, "Y")
	})
	t.Run("from a pipeline, at the same time", func(t *testing.T) {
		var jBase, ja, jb journal
		base := stoic.MustNew("base", jBase.layer("1"), jBase.layer("2"), jBase.layer("3"))
		var a, b *stoic.Pipeline
		var deriving sync.WaitGroup
		deriving.Go(func() { a = stoic.MustNew("a", base, ja.layer("X")) })
		deriving.Go(func() { b = stoic.MustNew("b", base, jb.layer("Y")) })
		deriving.Wait()
		runBoth(t, a, b)
		ja.want(t, "X")
		jb.want(t, "Y")
		jBase.lines = nil
		if err := a.Do(t.Context(), succeed); err != nil {
			t.Error(err)
		}
		jBase.want(t, "1", "2", "3")
	})
	t.Run("the caller's slice changes later", func(t *testing.T) {
		var j journal
		layers := []stoic.Policy{j.layer("1"), j.layer("2")}
		p := stoic.MustNew("p", layers...)
		layers[0], layers[1] = j.layer("other"), nil
		if err := p.Do(t.Context(), j.fn("fn")); err != nil {
			t.Error(err)
		}
		j.want(t, "1", "2", "fn")
	})
	t.Run("an empty stack calls the operation once", func(t *testing.T) {
		op := &operation{err: errBoom}
		if err := stoic.MustNew("empty").Do(t.Context(), op.run); !same(err, errBoom) {
			t.Errorf("%v, want its error", err)
		}
		op.want(t, 1)
	})
	t.Run("nil is refused", func(t *testing.T) {
		if _, err := stoic.New("p", stoic.MustNew("base"), nil); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	})
}

func next(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

// runBoth runs a call through each at the same time.
func runBoth(t *testing.T, pipelines ...*stoic.Pipeline) {
	t.Helper()
	var running sync.WaitGroup
	for _, p := range pipelines {
		running.Go(func() {
			if err := p.Do(t.Context(), succeed); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

func TestNestedPipelinesAreOneStack(t *testing.T) {
	t.Run("order", func(t *testing.T) {
		var j journal
		inner := stoic.MustNew("inner", j.layer("3"), j.layer("4"))
		middle := stoic.MustNew("middle", j.layer("2"), inner, stoic.MustNew("empty"), j.layer("5"))
		p := stoic.MustNew("outer", j.layer("1"), middle, j.layer("6"))
		if err := p.Do(t.Context(), j.fn("fn")); err != nil {
			t.Error(err)
		}
		j.want(t, "1", "2", "3", "4", "5", "6", "fn")
	})
	t.Run("attempt numbers go in", func(t *testing.T) {
		var got []int
		inner := stoic.MustNew("inner", stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
			got = append(got, next.Attempt())
			return next.Do(ctx)
		}))
		op := &operation{err: errBoom}
		_ = stoic.MustNew("outer", attempts(3, 0), inner).Do(t.Context(), op.run)
		if len(got) != 3 || got[0] != 1 || got[1] != 2 || got[2] != 3 {
			t.Errorf("attempts %v, want 1 2 3", got)
		}
	})
	t.Run("the budget around reaches a retry inside", func(t *testing.T) {
		inner := stoic.MustNew("inner", attempts(3, 0))
		op := &operation{err: errBoom}
		none := budget.New(budget.Ratio(0), budget.MinPerSecond(0))
		err := stoic.MustNew("outer", none, inner).Do(t.Context(), op.run)
		if !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted", err)
		}
		op.want(t, 1)
	})
	t.Run("hooks around see what is inside, under the outer name", func(t *testing.T) {
		var outside, inside hookstest.Recorder
		inner := stoic.MustNew("inner", attempts(2, 0), stoic.Observe(&inside))
		p := stoic.MustNew("outer", stoic.Observe(&outside), inner)
		_ = p.Do(t.Context(), fail)
		wantLines(t, outside.Strings(), []string{
			"start call outer #1",
			"start attempt outer #1", "end attempt outer #1 failed", "retry retry outer #1 0s",
			"start attempt outer #2", "end attempt outer #2 failed", "gave_up retry outer #2 max_attempts",
			"end call outer #1 failed",
		})
		wantLines(t, inside.Strings(), []string{
			"start call outer #1", "end call outer #1 failed",
			"start call outer #2", "end call outer #2 failed",
		})
	})
	t.Run("the nested one stays what it was", func(t *testing.T) {
		var j journal
		inner := stoic.MustNew("inner", j.layer("inner"))
		stoic.MustNew("outer", j.layer("outer"), inner, j.layer("below"))
		if err := inner.Do(t.Context(), j.fn("fn")); err != nil {
			t.Error(err)
		}
		j.want(t, "inner", "fn")
		if inner.Name() != "inner" {
			t.Errorf("name %q, want inner", inner.Name())
		}
	})
}
