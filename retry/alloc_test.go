//go:build !race

package retry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

func TestAllocations(t *testing.T) {
	ctx := context.Background()
	succeed := func(context.Context) error { return nil }
	calls := 0
	failOnce := func(context.Context) error {
		if calls++; calls%2 == 1 {
			return errBoom
		}
		return nil
	}
	fail := func(context.Context) error { return errBoom }
	noSleep := retry.Sleep(func(context.Context, time.Duration) error { return nil })
	tests := []struct {
		name   string
		layers []stoic.Policy
		fn     stoic.Func
		want   float64
	}{
		{"success", []stoic.Policy{retry.New()}, succeed, 0},
		{"success, budget", []stoic.Policy{granting{}, retry.New()}, succeed, 0},
		{"success, nil hook", []stoic.Policy{stoic.Observe(nil), retry.New()}, succeed, 0},
		{"success, nested", []stoic.Policy{retry.New(), retry.New()}, succeed, 0},
		{"failure, one attempt", []stoic.Policy{retry.New(retry.MaxAttempts(1))}, fail, 0},
		{"failure, not retryable", []stoic.Policy{retry.New(retry.If(retry.Transient))}, fail, 0},
		// A resend has a context that carries its number: 1. A timer would be 3 more.
		{"one retry, no sleep", []stoic.Policy{retry.New(noSleep)}, failOnce, 1},
		{"one retry, zero delay", []stoic.Policy{retry.New(retry.Constant(0))}, failOnce, 1},
		{"one retry, zero delay, budget", []stoic.Policy{granting{}, retry.New(retry.Constant(0))}, failOnce, 1},
		{"two retries, zero delay", []stoic.Policy{retry.New(retry.Constant(0))}, fail, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plain(t, tt.layers...)
			calls = 0
			if got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, tt.fn) }); got > tt.want {
				t.Errorf("got %v allocations, want at most %v", got, tt.want)
			}
		})
	}
}

func TestUnlimitedAllocatesTheSameForEachAttempt(t *testing.T) {
	p := plain(t, stoic.Observe(hooks.Nop{}), granting{}, retry.New(retry.Unlimited(), retry.Constant(0)))
	perAttempt := func(attempts int) float64 {
		allocs := testing.AllocsPerRun(5, func() {
			calls := 0
			_ = p.Do(context.Background(), func(context.Context) error {
				if calls++; calls < attempts {
					return errBoom
				}
				return nil
			})
		})
		return allocs / float64(attempts)
	}
	// The context of a resend, and its number from 256 on.
	for _, attempts := range []int{100, 10_000} {
		if got := perAttempt(attempts); got > 2.05 {
			t.Errorf("got %.2f allocations an attempt in a call of %d, want at most 2", got, attempts)
		}
	}
}
