//go:build !race

package stoic_test

import (
	"context"
	"testing"

	"github.com/stoic-go/stoic"
)

func TestLayersAllocate(t *testing.T) {
	same := func(next stoic.Func) stoic.Func { return next }
	none := func(error) bool { return false }
	tests := []struct {
		name   string
		layers []stoic.Policy
		want   float64
	}{
		{"nothing", nil, 0},
		{"PolicyFunc", []stoic.Policy{stoic.PolicyFunc("f", next)}, 0},
		{"three PolicyFuncs", []stoic.Policy{stoic.PolicyFunc("f", next), stoic.PolicyFunc("g", next), stoic.PolicyFunc("h", next)}, 0},
		{"Middleware", []stoic.Policy{stoic.Middleware("m", same)}, 1},
		{"Observe(nil)", []stoic.Policy{stoic.Observe(nil)}, 0},
		{"Benign", []stoic.Policy{stoic.Benign(none)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ctx := stoic.MustNew("payments", tt.layers...), context.Background()
			if got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, succeed) }); got != tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

func TestGetAllocates(t *testing.T) {
	p, ctx := stoic.MustNew("payments"), context.Background()
	answer := func(context.Context) (int, error) { return 42, nil }
	fine := stoic.FailIf(func(int) error { return nil })
	plain := testing.AllocsPerRun(1000, func() { _, _ = stoic.Get(ctx, p, answer) })
	checked := testing.AllocsPerRun(1000, func() { _, _ = stoic.Get(ctx, p, answer, fine) })
	t.Logf("Get: %v allocations, with FailIf: %v", plain, checked)
	if plain > 2 || checked > 3 {
		t.Errorf("Get: %v allocations, with FailIf %v, want at most 2 and 3", plain, checked)
	}
}
