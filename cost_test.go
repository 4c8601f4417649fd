//go:build !race

package stoic_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// costStacks are what a success may allocate, with nobody listening.
var costStacks = []struct {
	name   string
	max    float64
	layers func() []stoic.Policy
}{
	{"empty", 0, func() []stoic.Policy { return nil }},
	{"retry", 0, func() []stoic.Policy { return []stoic.Policy{retry.New()} }},
	{"budget around retry", 0, func() []stoic.Policy { return []stoic.Policy{budget.New(), retry.New()} }},
	{"breaker", 0, func() []stoic.Policy { return []stoic.Policy{breaker.New("b")} }},
	{"rate limit", 0, func() []stoic.Policy { return []stoic.Policy{benchLimiter()} }},
	{"the four without deadlines", 0, benchFour},
	{"deadline", 1, func() []stoic.Policy { return []stoic.Policy{deadline.New(time.Second)} }},
	{"full stack", 2, benchFull},
}

func costAllocs(t *testing.T, layers ...stoic.Policy) float64 {
	t.Helper()
	p := stoic.MustNew("p", layers...)
	ctx := context.Background()
	var err error
	allocs := testing.AllocsPerRun(1000, func() {
		if e := p.Do(ctx, benchNoWait); e != nil {
			err = e
		}
	})
	if err != nil {
		t.Fatalf("got %v, want nil", err)
	}
	return allocs
}

func TestCostAllocations(t *testing.T) {
	observers := []struct {
		name   string
		layers []stoic.Policy
	}{
		{"no hook", nil},
		{"nil hook", []stoic.Policy{stoic.Observe(nil)}},
		{"hook that does nothing", []stoic.Policy{stoic.Observe(hooks.Nop{})}},
		{"two hooks that do nothing", []stoic.Policy{stoic.Observe(hooks.Join(hooks.Nop{}, hooks.Nop{}))}},
	}
	for _, stack := range costStacks {
		t.Run(stack.name, func(t *testing.T) {
			for _, observer := range observers {
				t.Run(observer.name, func(t *testing.T) {
					if got := costAllocs(t, append(observer.layers, stack.layers()...)...); got > stack.max {
						t.Errorf("%v allocations, want at most %v", got, stack.max)
					}
				})
			}
		})
	}
}

// An Observe layer with a nil hook, anywhere, is as if it was not there.
func TestCostNilHookAddsNothing(t *testing.T) {
	without := costAllocs(t, benchFull()...)
	var layers []stoic.Policy
	for _, l := range benchFull() {
		layers = append(layers, stoic.Observe(nil), l)
	}
	if got := costAllocs(t, layers...); got != without {
		t.Errorf("%v allocations with nil hooks, %v without", got, without)
	}
}

// Layers made from functions add nothing of their own.
func TestCostOfLayersOfFunctions(t *testing.T) {
	pass := stoic.PolicyFunc("pass", func(ctx context.Context, next stoic.Next) error { return next.Do(ctx) })
	benign := stoic.Benign(func(error) bool { return false })
	if got := costAllocs(t, pass, benign); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
