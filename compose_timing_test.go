package stoic_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
)

func TestC47_DeadlineInsideOrOutsideTheRetry(t *testing.T) {
	hang := func(ctx context.Context) error { return composeHang(ctx, 0) }
	tests := []struct {
		name     string
		layers   []stoic.Policy
		returned time.Duration
		entries  []time.Duration
	}{
		{
			"inside",
			[]stoic.Policy{composeR(3), deadline.New(time.Second)},
			3300 * time.Millisecond,
			[]time.Duration{0, 1100 * time.Millisecond, 2300 * time.Millisecond},
		},
		{
			"outside",
			[]stoic.Policy{deadline.New(time.Second), composeR(3)},
			time.Second,
			[]time.Duration{0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stoic.MustNew("p", tt.layers...)
				var e composeEntries
				err := p.Do(t.Context(), e.fn(hang))
				e.want(t, tt.returned, tt.entries...)
				if !errors.Is(err, deadline.ErrExceeded) {
					t.Errorf("got %v, want ErrExceeded", err)
				}
			})
		})
	}
}

func TestC47_DeadlineInsideOrOutsideTheLimiter(t *testing.T) {
	// The empty limiter gives one token a second.
	empty := func() (*rate.Limiter, stoic.Policy) {
		limiter := rate.NewLimiter(1, 1)
		limiter.Allow()
		return limiter, ratelimit.From(limiter, ratelimit.Wait(time.Minute))
	}
	t.Run("outside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter, layer := empty()
			p := stoic.MustNew("p", deadline.New(500*time.Millisecond), layer)
			var e composeEntries
			err := p.Do(t.Context(), e.fn(composeFail))
			e.want(t, 0)
			if !errors.Is(err, ratelimit.ErrLimited) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, deadline.ErrExceeded) {
				t.Errorf("got %v, want ErrLimited and DeadlineExceeded, and not ErrExceeded: its time is not up", err)
			}
			time.Sleep(time.Second + 1)
			if !limiter.Allow() {
				t.Error("the call that was refused took a token")
			}
		})
	})
	t.Run("inside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, layer := empty()
			p := stoic.MustNew("p", layer, deadline.New(500*time.Millisecond))
			start := time.Now()
			var entered, left time.Duration
			err := p.Do(t.Context(), func(ctx context.Context) error {
				entered = time.Since(start)
				at, _ := ctx.Deadline()
				left = time.Until(at)
				return nil
			})
			if entered < time.Second-1 || entered > time.Second+1 || left != 500*time.Millisecond || err != nil {
				t.Errorf("entered after %v with %v left, got %v; want 1s, 500ms, nil", entered, left, err)
			}
		})
	})
}

func TestC48_LimiterInsideTheRetryTakesATokenForEachAttempt(t *testing.T) {
	t.Run("inside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := stoic.MustNew("p", composeR(3), ratelimit.New(1, 1, ratelimit.Wait(time.Minute)))
			var e composeEntries
			if err := p.Do(t.Context(), e.fn(composeFail)); err != errCompose { //nolint:errorlint // unchanged
				t.Errorf("got %v, want E unchanged", err)
			}
			if len(e.at) != 3 {
				t.Fatalf("entered at %v, want three times", e.at)
			}
			for i, at := range e.at {
				if want := time.Duration(i) * time.Second; at < want-1 || at > want+1 {
					t.Errorf("attempt %d entered at %v, want %v ± 1ns", i+1, at, want)
				}
			}
		})
	})
	t.Run("outside", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := rate.NewLimiter(1, 1)
			p := stoic.MustNew("p", ratelimit.From(limiter, ratelimit.Wait(time.Minute)), composeR(3))
			var e composeEntries
			fn := e.fn(composeFail)
			if err := p.Do(t.Context(), fn); err != errCompose { //nolint:errorlint // unchanged
				t.Errorf("got %v, want E unchanged", err)
			}
			e.want(t, 300*time.Millisecond, 0, 100*time.Millisecond, 300*time.Millisecond)
			if got := limiter.TokensAt(e.start.Add(time.Second)); got != 1 {
				t.Errorf("%v tokens after 1s, want 1: one was taken", got)
			}
		})
	})
}
