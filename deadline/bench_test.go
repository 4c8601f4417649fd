package deadline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// selects is an operation that waits on its context, and has its result at once.
func selects(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}

// byHand is what the layers replace.
func byHand(fn stoic.Func, limits ...time.Duration) stoic.Func {
	if len(limits) == 0 {
		return fn
	}
	next := byHand(fn, limits[1:]...)
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, limits[0])
		defer cancel()
		return next(ctx)
	}
}

func withStack(fn stoic.Func, limits ...time.Duration) stoic.Func {
	var layers []stoic.Policy
	for _, limit := range limits {
		layers = append(layers, deadline.New(limit))
	}
	return stoic.MustNew("payments", layers...).Wrap(fn)
}

// BenchmarkDeadline is beside context.WithTimeout by hand.
func BenchmarkDeadline(b *testing.B) {
	operations := []struct {
		outcome string
		fn      stoic.Func
		limits  []time.Duration // innermost last
	}{
		{"nobody-waits", func(context.Context) error { return nil }, []time.Duration{2 * time.Hour, time.Hour}},
		{"waits", selects, []time.Duration{2 * time.Hour, time.Hour}},
		{"expired", wait, []time.Duration{time.Hour, time.Nanosecond}},
	}
	for _, o := range operations {
		for name, limits := range map[string][]time.Duration{"one": o.limits[1:], "nested": o.limits} {
			for variant, do := range map[string]stoic.Func{
				name:              withStack(o.fn, limits...),
				name + "-by-hand": byHand(o.fn, limits...),
			} {
				bench(b, o.outcome+"/"+variant, do)
			}
		}
	}
}

func bench(b *testing.B, name string, do stoic.Func) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = do(ctx)
		}
	})
	b.Run(name+"/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = do(ctx)
			}
		})
	})
}
