package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

func TestC41_WaitThatCannotFitTheDeadlineCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := empty(1)
		p := single(limiter, ratelimit.Wait(time.Minute))

		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		o := newOp(succeed)
		err := p.Do(short, o.run)
		o.want(t)
		o.elapsed(t, 0)
		wantIs(t, err, ratelimit.ErrLimited, context.DeadlineExceeded, stoic.ErrRejected)
		if short.Err() != nil {
			t.Error("the context is done, which the case is not about")
		}
		wantTokens(t, limiter, 0)

		long, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := p.Do(long, o.run); err != nil {
			t.Error(err)
		}
		o.want(t, time.Second)
	})
}

// invalid makes a stack of l and returns its only mistake, which must be about field
// and value.
func invalid(t *testing.T, l *ratelimit.Limiter, field string, value any) {
	t.Helper()
	_, err := stoic.New("payments", l)
	wantIs(t, err, stoic.ErrInvalid)
	var fields []string
	for _, e := range leaves(err) {
		got, ok := errors.AsType[*stoic.InvalidError](e)
		if !ok {
			t.Fatalf("got %v, want an InvalidError", e)
		}
		fields = append(fields, got.Field)
		if got.Field == field && got.Policy == "ratelimit" && fmt.Sprint(got.Value) == fmt.Sprint(value) && got.Reason != "" {
			return
		}
	}
	t.Errorf("got %v (fields %q), want %s(%v)", err, fields, field, value)
}

func leaves(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func TestC42_RateThatMeansNothingIsInvalid(t *testing.T) {
	for _, limit := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			invalid(t, ratelimit.New(rate.Limit(limit), 1, ratelimit.Wait(time.Minute)), "limit", limit)
			invalid(t, ratelimit.New(rate.Limit(limit), 1), "limit", limit)
			invalid(t, ratelimit.From(rate.NewLimiter(rate.Limit(limit), 1)), "limit", limit)
		})
	}
	t.Run("rate.Inf is no limit", func(t *testing.T) {
		for _, burst := range []int{0, 1, -1} {
			p, err := stoic.New("payments", ratelimit.New(rate.Inf, burst))
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if err := p.Do(t.Context(), succeed); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	// Shared limiters can be changed after New: still no call blocks.
	t.Run("set to 0 later", func(t *testing.T) {
		for _, change := range []func(l *rate.Limiter){
			func(l *rate.Limiter) { l.SetLimit(0) },
			func(l *rate.Limiter) { l.SetLimit(-1) },
			func(l *rate.Limiter) { l.SetBurst(0) },
		} {
			for _, maxWait := range []time.Duration{time.Minute, math.MaxInt64} {
				synctest.Test(t, func(t *testing.T) {
					limiter := empty(1)
					p := single(limiter, ratelimit.Wait(maxWait))
					change(limiter)
					o := newOp(succeed)
					err := p.Do(context.Background(), o.run)
					o.want(t)
					o.elapsed(t, 0)
					wantIs(t, err, ratelimit.ErrLimited)
					wantNot(t, err, context.DeadlineExceeded)
					if after, ok := rejection(t, err).RetryAfter(); ok {
						t.Errorf("RetryAfter = %v, want unknown", after)
					}
				})
			}
		}
	})
}

func TestC47_LimiterAndDeadline(t *testing.T) {
	half := deadline.New(500 * time.Millisecond)
	t.Run("deadline, limiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := empty(1)
			p := stoic.MustNew("payments", half, ratelimit.From(limiter, ratelimit.Wait(time.Minute)))
			o := newOp(succeed)
			err := p.Do(t.Context(), o.run)
			o.want(t)
			o.elapsed(t, 0)
			wantIs(t, err, ratelimit.ErrLimited, context.DeadlineExceeded)
			wantNot(t, err, deadline.ErrExceeded) // no time has passed
			wantTokens(t, limiter, 0)
		})
	})
	t.Run("limiter, deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := stoic.MustNew("payments", ratelimit.From(empty(1), ratelimit.Wait(time.Minute)), half)
			o := newOp(func(ctx context.Context) error {
				at, _ := ctx.Deadline()
				if left := time.Until(at); left != 500*time.Millisecond {
					t.Errorf("%v left, want 500ms", left)
				}
				return nil
			})
			if err := p.Do(t.Context(), o.run); err != nil {
				t.Error(err)
			}
			o.want(t, time.Second)
		})
	})
}

func TestC48_LimiterInsideOrOutsideTheRetry(t *testing.T) {
	t.Run("retry, limiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := stoic.MustNew("payments", attempts(3), ratelimit.New(1, 1, ratelimit.Wait(time.Minute)))
			o := newOp(fail)
			wantIs(t, p.Do(t.Context(), o.run), errDown)
			o.want(t, 0, time.Second, 2*time.Second)
		})
	})
	t.Run("limiter, retry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := rate.NewLimiter(1, 1)
			p := stoic.MustNew("payments", ratelimit.From(limiter, ratelimit.Wait(time.Minute)), attempts(3))
			o := newOp(fail)
			wantIs(t, p.Do(t.Context(), o.run), errDown)
			o.want(t, 0, 100*time.Millisecond, 300*time.Millisecond)
			wantTokens(t, limiter, 0.3) // one was used, and 300ms have passed
		})
	})
}

func TestC74_BurstBelowOneIsInvalid(t *testing.T) {
	share := 0.33
	for _, burst := range []int{0, int(share * 2), -1} {
		t.Run(strconv.Itoa(burst), func(t *testing.T) {
			invalid(t, ratelimit.New(2, burst), "burst", burst)
			invalid(t, ratelimit.New(2, burst, ratelimit.Wait(time.Second)), "burst", burst)
			invalid(t, ratelimit.From(rate.NewLimiter(2, burst)), "burst", burst)
		})
	}
	t.Run("and the rate as well", func(t *testing.T) {
		l := ratelimit.New(-2, -1, ratelimit.Wait(-time.Second))
		invalid(t, l, "limit", -2)
		invalid(t, l, "burst", -1)
		invalid(t, l, "Wait", -time.Second)
	})
}
