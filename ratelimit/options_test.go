package ratelimit_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

func TestWaitMustBePositive(t *testing.T) {
	for _, d := range []time.Duration{0, -1} {
		invalid(t, ratelimit.New(1, 1, ratelimit.Wait(d)), "Wait", d)
	}
}

func TestNilOptionIsRefused(t *testing.T) {
	invalid(t, ratelimit.New(1, 1, nil), "Option", "nil")
}

func TestLastOptionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tests := []struct {
			name  string
			opts  []ratelimit.Option
			waits bool
		}{
			{"default", nil, false},
			{"Reject", []ratelimit.Option{ratelimit.Reject()}, false},
			{"Wait, Reject", []ratelimit.Option{ratelimit.Wait(time.Minute), ratelimit.Reject()}, false},
			{"Reject, Wait", []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute)}, true},
			{"invalid Wait, Wait", []ratelimit.Option{ratelimit.Wait(-1), ratelimit.Wait(time.Minute)}, true},
			{"invalid Wait, Reject", []ratelimit.Option{ratelimit.Wait(-1), ratelimit.Reject()}, false},
			{"short Wait, long Wait", []ratelimit.Option{ratelimit.Wait(1), ratelimit.Wait(time.Minute)}, true},
			{"long Wait, short Wait", []ratelimit.Option{ratelimit.Wait(time.Minute), ratelimit.Wait(1)}, false},
		}
		for _, tt := range tests {
			err := single(empty(1), tt.opts...).Do(t.Context(), succeed)
			if got := err == nil; got != tt.waits {
				t.Errorf("%s: waits: %v (%v), want %v", tt.name, got, err, tt.waits)
			}
		}
	})
}

func TestPer(t *testing.T) {
	tests := []struct {
		n    int
		d    time.Duration
		want rate.Limit
	}{
		{100, time.Second, 100},
		{100, time.Minute, 100.0 / 60},
		{1, time.Hour, 1.0 / 3600},
		{3, 500 * time.Millisecond, 6},
		{2, time.Millisecond, 2000},
	}
	for _, tt := range tests {
		if got := ratelimit.Per(tt.n, tt.d); got != tt.want {
			t.Errorf("Per(%d, %v) = %v, want %v", tt.n, tt.d, got, tt.want)
		}
		if _, err := stoic.New("payments", ratelimit.New(ratelimit.Per(tt.n, tt.d), 1)); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []struct {
		n int
		d time.Duration
	}{{0, time.Second}, {-1, time.Second}, {1, 0}, {0, 0}, {-1, 0}, {1, -time.Second}, {-1, -time.Second}, {math.MinInt, -1}} {
		limit := ratelimit.Per(bad.n, bad.d)
		invalid(t, ratelimit.New(limit, 1), "limit", float64(limit))
	}
}

func TestFromSharesTheBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := rate.NewLimiter(1, 2)
		p, q := single(limiter), single(limiter)
		if err := p.Do(t.Context(), succeed); err != nil {
			t.Error(err)
		}
		if !limiter.Allow() {
			t.Error("the second token is not there for a direct user")
		}
		wantIs(t, q.Do(t.Context(), succeed), ratelimit.ErrLimited)
		limiter.SetBurst(5)
		limiter.SetLimit(5)
		time.Sleep(time.Second)
		for range 5 {
			if err := q.Do(t.Context(), succeed); err != nil {
				t.Error(err)
			}
		}
		if limiter.Allow() {
			t.Error("a sixth token")
		}
	})
}

func TestOneValueIsOneBucket(t *testing.T) {
	l := ratelimit.New(1, 1)
	p, q := stoic.MustNew("p", l), stoic.MustNew("q", l)
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	wantIs(t, q.Do(t.Context(), succeed), ratelimit.ErrLimited)
}

func TestNoLimiterIsInvalid(t *testing.T) {
	for name, l := range map[string]*ratelimit.Limiter{"From(nil)": ratelimit.From(nil), "zero value": {}} {
		t.Run(name, func(t *testing.T) {
			invalid(t, l, "Limiter", "nil")
			_, err := stoic.New("payments", l)
			if !strings.Contains(err.Error(), "ratelimit.New") {
				t.Errorf("%q does not say how to make one", err)
			}
			// Whoever runs it without New gets an error, not a panic.
			wantIs(t, l.Run(t.Context(), stoic.Next{}), stoic.ErrInvalid)
		})
	}
}

func TestSameBucketTwiceIsInvalid(t *testing.T) {
	limiter := rate.NewLimiter(1, 1)
	for name, layers := range map[string][]stoic.Policy{
		"From": {ratelimit.From(limiter), ratelimit.From(limiter)},
		"From of different options, around a retry": {ratelimit.From(limiter), attempts(2), ratelimit.From(limiter, ratelimit.Wait(1))},
	} {
		_, err := stoic.New("payments", layers...)
		invalid, ok := errors.AsType[*stoic.InvalidError](err)
		if !ok || invalid.Layer != len(layers) || !strings.Contains(invalid.Reason, "layer 1") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := stoic.New("payments", ratelimit.New(1, 1), ratelimit.New(1, 1)); err != nil {
		t.Errorf("two buckets: %v", err)
	}
}
