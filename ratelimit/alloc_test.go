//go:build !race

package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

func TestAllocations(t *testing.T) {
	tests := []struct {
		name    string
		limiter *ratelimit.Limiter
		ok      bool
		most    float64
	}{
		{"a token is there", ratelimit.New(1e9, 1e9), true, 0},
		{"a token is there, Wait", ratelimit.New(1e9, 1e9, ratelimit.Wait(time.Second)), true, 0},
		{"no limit", ratelimit.New(rate.Inf, 0), true, 0},
		{"rejected", ratelimit.From(empty(1e-6)), false, 2},
		{"rejected, Wait", ratelimit.From(empty(1e-6), ratelimit.Wait(time.Second)), false, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := stoic.MustNew("payments", tt.limiter)
			ctx := context.Background()
			if err := p.Do(ctx, succeed); (err == nil) != tt.ok {
				t.Fatalf("got %v", err)
			}
			if got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, succeed) }); got > tt.most {
				t.Errorf("%v allocations, want at most %v", got, tt.most)
			}
		})
	}
}
