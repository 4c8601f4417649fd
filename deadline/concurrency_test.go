package deadline_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// Everything at once, while the layers return: for the race detector, and for what
// must hold on each goroutine whatever the others do.
func TestManyUseTheContextWhileTheLayerReturns(t *testing.T) {
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
	defer cancel()
	uses := []func(ctx context.Context, t *testing.T){
		func(ctx context.Context, _ *testing.T) { <-ctx.Done() },
		pollErr,
		func(ctx context.Context, t *testing.T) {
			t.Helper()
			if got := ctx.Value(key{}); got != "value" {
				t.Errorf("Value = %v", got)
			}
		},
		func(ctx context.Context, t *testing.T) {
			t.Helper()
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
		},
		func(ctx context.Context, _ *testing.T) { context.AfterFunc(ctx, func() {}) },
		func(ctx context.Context, _ *testing.T) { _ = context.Cause(ctx) },
	}
	stacks := map[string]*stoic.Pipeline{
		"one":     stoic.MustNew("p", deadline.New(time.Hour)),
		"nested":  stoic.MustNew("p", deadline.New(2*time.Hour), deadline.New(time.Hour)),
		"expires": stoic.MustNew("p", deadline.New(time.Hour), deadline.New(50*time.Microsecond)),
	}
	for name, p := range stacks {
		t.Run(name, func(t *testing.T) {
			for i := range 200 {
				var wg sync.WaitGroup
				var seen context.Context
				_ = p.Do(parent, func(ctx context.Context) error {
					seen = ctx
					for j := range uses {
						wg.Go(func() { uses[(i+j)%len(uses)](ctx, t) })
						if j < i%len(uses) {
							wg.Go(func() { pollErr(ctx, t) })
						}
					}
					return nil
				})
				wg.Wait()
				if seen.Err() == nil {
					t.Fatal("the context is not done after the return")
				}
			}
		})
	}
}

// pollErr looks until the context is over; then Err, Done and Cause must agree.
func pollErr(ctx context.Context, t *testing.T) {
	t.Helper()
	err := ctx.Err()
	for ; err == nil; err = ctx.Err() {
		runtime.Gosched()
	}
	select {
	case <-ctx.Done():
	default:
		t.Error("Err is set and Done is open")
	}
	if again, cause := ctx.Err(), context.Cause(ctx); !same(again, err) || !same(cause, err) {
		t.Errorf("Err was %v, is %v, Cause is %v", err, again, cause)
	}
}

// A sibling that is detached keeps using the context while others register with the
// outer one: hedging middleware does that.
func TestManyInnerDeadlinesUnderOneOuter(t *testing.T) {
	const n = 50
	var mu sync.Mutex
	var seen []context.Context
	var wg sync.WaitGroup
	hedge := stoic.Middleware("hedge", func(next stoic.Func) stoic.Func {
		return func(ctx context.Context) error {
			first := make(chan error, n)
			for range n {
				wg.Go(func() { first <- next(ctx) })
			}
			return <-first
		}
	})
	p := stoic.MustNew("p", deadline.New(2*time.Hour), hedge, deadline.New(time.Hour))
	for range 50 {
		turn := make(chan struct{}, 1)
		turn <- struct{}{}
		err := p.Do(context.Background(), func(ctx context.Context) error {
			mu.Lock()
			seen = append(seen, ctx)
			mu.Unlock()
			select {
			case <-turn: // the fastest
				return nil
			case <-ctx.Done(): // must end when the outer layer returns
				return ctx.Err()
			}
		})
		if err != nil && !same(err, context.Canceled) {
			t.Fatal(err)
		}
		wg.Wait()
	}
	for _, ctx := range seen {
		wantDone(ctx, t, context.Canceled, context.Canceled)
	}
}
