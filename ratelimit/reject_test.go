package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

func TestRejectRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hookstest.Recorder{}
		limiter := empty(2)
		p := stoic.MustNew("payments", stoic.Observe(h), ratelimit.From(limiter))
		o := newOp(succeed)
		err := p.Do(t.Context(), o.run)
		o.want(t)
		o.elapsed(t, 0)
		wantIs(t, err, ratelimit.ErrLimited, stoic.ErrRejected)
		wantNot(t, err, context.DeadlineExceeded, context.Canceled)
		wantTokens(t, limiter, 0)

		r := rejection(t, err)
		if r.Pipeline != "payments" || r.Policy != "ratelimit" || r.ErrorType() != "rate_limited" {
			t.Errorf("got %+v", r)
		}
		want := "payments: ratelimit: rate limit reached: the client did not send this call (retry after 500ms)"
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := h.Events(hooks.Reject); len(got) != 1 || !same(got[0].Err, err) || got[0].Reason != "rate_limited" {
			t.Errorf("events %+v, want one with the error itself", got)
		}
	})
}

func TestRejectionIsNeutralForAnOuterBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("api", breaker.ConsecutiveFailures(1))
		p := stoic.MustNew("payments", b, ratelimit.From(empty(1)))
		for range 10 {
			wantIs(t, p.Do(t.Context(), succeed), ratelimit.ErrLimited)
		}
		if got := b.State(); got != breaker.Closed {
			t.Errorf("breaker is %v, want closed", got)
		}
	})
}

// Whoever waits as long as RetryAfter says finds a token, if nobody else took it:
// for limits from 1e9 a second to one in two years, and whatever rounding does.
func TestWaitingRetryAfterAdmits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		limit, burst, waiting := rate.Limit(math.Exp(rng.Float64()*38.7-18)), 1+rng.IntN(5), rng.IntN(3)
		pause := time.Duration(rng.Float64() * float64(time.Second) / float64(limit))
		synctest.Test(t, func(t *testing.T) {
			limiter := rate.NewLimiter(limit, burst)
			for range burst + waiting {
				limiter.Reserve()
			}
			time.Sleep(pause)
			waitRetryAfter(t, limiter)
		})
	}
}

func waitRetryAfter(t *testing.T, limiter *rate.Limiter) {
	t.Helper()
	p := single(limiter)
	err := p.Do(t.Context(), succeed)
	if err == nil {
		return
	}
	after, ok := rejection(t, err).RetryAfter()
	if !ok {
		t.Fatalf("limit %v: RetryAfter is unknown", limiter.Limit())
	}
	if early := after - after/1_000_000 - 3; limiter.TokensAt(time.Now().Add(early)) >= 1 {
		t.Fatalf("limit %v: a token is there well before %v", limiter.Limit(), after)
	}
	time.Sleep(after)
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Fatalf("limit %v: after %v still %v", limiter.Limit(), after, err)
	}
}

func TestRetryAfterIsTheTimeUntilAToken(t *testing.T) {
	tests := []struct {
		limit  rate.Limit
		passed time.Duration
		want   time.Duration
	}{
		{1, 0, time.Second},
		{1, 400 * time.Millisecond, 600 * time.Millisecond},
		{1, time.Second - 10, 10},
		{1000, 0, time.Millisecond},
		{1e9, 0, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			p := single(empty(tt.limit))
			time.Sleep(tt.passed)
			got, ok := rejection(t, p.Do(t.Context(), succeed)).RetryAfter()
			if !ok || got != tt.want {
				t.Errorf("%v/s: got %v, %v; want %v", float64(tt.limit), got, ok, tt.want)
			}
		})
	}
}

// A token in more than the 292 years that a time.Duration can hold: nothing overflows.
func TestHugeWaits(t *testing.T) {
	for _, limit := range []rate.Limit{1e-10, 1e-300, 5e-324} {
		for _, opt := range []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute), ratelimit.Wait(math.MaxInt64)} {
			synctest.Test(t, func(t *testing.T) {
				p := single(empty(limit), opt)
				err := p.Do(context.Background(), succeed)
				wantIs(t, err, ratelimit.ErrLimited)
				wantNot(t, err, context.DeadlineExceeded)
				if after, ok := rejection(t, err).RetryAfter(); ok {
					t.Errorf("%v: RetryAfter = %v, want unknown", limit, after)
				}
			})
		}
	}
}

// Whoever does not want to wait has no deadline that is too short.
func TestRejectDoesNotLookAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := single(empty(1)).Do(ctx, succeed)
		wantIs(t, err, ratelimit.ErrLimited)
		wantNot(t, err, context.DeadlineExceeded)
		if got := rejection(t, err).ErrorType(); got != "rate_limited" {
			t.Errorf("type is %q", got)
		}
	})
}

// A retry outside, which is told to retry rejections, waits as long as the limiter says.
func TestRejectionTellsARetryWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := single(empty(1))
		o := newOp(succeed)
		err := p.Do(t.Context(), o.run)
		var hint interface{ RetryAfter() (time.Duration, bool) }
		if !errors.As(err, &hint) {
			t.Fatalf("%v has no RetryAfter", err)
		}
		after, _ := hint.RetryAfter()
		time.Sleep(after)
		if err := p.Do(t.Context(), o.run); err != nil {
			t.Error(err)
		}
		o.want(t, time.Second)
	})
}

// The rejections that the limiter makes have types of a closed list, and all of them
// say who refused.
func TestRejectionTypes(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	tests := []struct {
		want string
		opts []ratelimit.Option
		ctx  func() (context.Context, context.CancelFunc)
	}{
		{"rate_limited", nil, func() (context.Context, context.CancelFunc) { return canceled, cancel }},
		{"deadline_too_short", []ratelimit.Option{ratelimit.Wait(time.Minute)}, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Millisecond)
		}},
		{"canceled", []ratelimit.Option{ratelimit.Wait(time.Minute)}, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Millisecond, cancel)
			return ctx, cancel
		}},
	}
	var types []string
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := tt.ctx()
			defer cancel()
			err := single(empty(1), tt.opts...).Do(ctx, succeed)
			r := rejection(t, err)
			types = append(types, r.ErrorType())
			if r.ErrorType() != tt.want || !strings.Contains(err.Error(), "the client did not send this call") {
				t.Errorf("%s: got %s: %v", tt.want, r.ErrorType(), err)
			}
		})
	}
	if slices.Contains(types, "") {
		t.Error("a rejection without a type")
	}
}
