package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

// BenchmarkLimiter is beside rate.Allow by hand, which it calls.
func BenchmarkLimiter(b *testing.B) {
	limiters := map[string]func() *rate.Limiter{
		"admitted": func() *rate.Limiter { return rate.NewLimiter(1e12, 1e9) },
		"rejected": func() *rate.Limiter { return empty(1e-6) },
	}
	for outcome, limiter := range limiters {
		byHand := limiter()
		variants := map[string]stoic.Func{
			"reject": single(limiter()).Wrap(succeed),
			"wait":   single(limiter(), ratelimit.Wait(time.Millisecond)).Wrap(succeed),
			"by-hand": func(ctx context.Context) error {
				if !byHand.Allow() {
					return ratelimit.ErrLimited
				}
				return succeed(ctx)
			},
		}
		for variant, do := range variants {
			b.Run(outcome+"/"+variant, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_ = do(context.Background())
				}
			})
			b.Run(outcome+"/"+variant+"/parallel", func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						_ = do(context.Background())
					}
				})
			})
		}
	}
}
