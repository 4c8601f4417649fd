package retry_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// byHand is the loop that people write instead of a retry, with full jitter from
// 100 ms to 10 s.
func byHand(ctx context.Context, attempts int, sleep func(context.Context, time.Duration) error, fn stoic.Func) error {
	delay := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := fn(ctx)
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, rand.N(delay)); err != nil { //nolint:gosec // jitter needs no secrecy
			return err
		}
		delay = min(2*delay, 10*time.Second)
	}
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func always(err error) func() stoic.Func {
	return func() stoic.Func {
		return func(context.Context) error { return err }
	}
}

func everySecond(err error) func() stoic.Func {
	return func() stoic.Func {
		calls := 0
		return func(context.Context) error {
			if calls++; calls%2 == 1 {
				return err
			}
			return nil
		}
	}
}

func BenchmarkRetry(b *testing.B) {
	ctx := context.Background()
	p := stoic.MustNew("bench", retry.New(retry.Sleep(noSleep)))
	variants := []struct {
		name string
		do   func(fn stoic.Func) error
	}{
		{"stoic", func(fn stoic.Func) error { return p.Do(ctx, fn) }},
		{"byhand", func(fn stoic.Func) error { return byHand(ctx, 3, noSleep, fn) }},
	}
	outcomes := []struct {
		name string
		fn   func() stoic.Func // one for each goroutine
	}{
		{"success", always(nil)},
		{"fail-then-success", everySecond(errBoom)},
		{"exhausted", always(errBoom)},
	}
	for _, outcome := range outcomes {
		for _, variant := range variants {
			b.Run(outcome.name+"/"+variant.name, func(b *testing.B) {
				b.ReportAllocs()
				fn := outcome.fn()
				for b.Loop() {
					_ = variant.do(fn)
				}
			})
			b.Run(outcome.name+"/"+variant.name+"/parallel", func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					fn := outcome.fn()
					for pb.Next() {
						_ = variant.do(fn)
					}
				})
			})
		}
	}
}
