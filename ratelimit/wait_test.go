package ratelimit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

func TestWaitBounds(t *testing.T) {
	const sec = time.Second
	tests := []struct {
		name     string
		max      time.Duration
		deadline time.Duration // of the caller; 0: none
		admitted bool
		tooLate  bool
	}{
		{"fits", 2 * sec, 0, true, false},
		{"as long as max", sec, 0, true, false},
		{"1ns longer than max", sec - 1, 0, false, false},
		{"1ns before the deadline", 2 * sec, sec + 1, true, false},
		{"at the deadline", 2 * sec, sec, false, true},
		{"after the deadline", 2 * sec, sec - 1, false, true},
		{"longer than max, before the deadline", sec - 1, 2 * sec, false, false},
		{"longer than both", sec - 2, sec - 1, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := empty(1)
				p := single(limiter, ratelimit.Wait(tt.max))
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				o := newOp(succeed)
				err := p.Do(ctx, o.run)
				if tt.admitted {
					if err != nil {
						t.Error(err)
					}
					o.want(t, sec)
					return
				}
				o.want(t)
				o.elapsed(t, 0)
				wantTokens(t, limiter, 0)
				wantIs(t, err, ratelimit.ErrLimited, stoic.ErrRejected)
				if tt.tooLate {
					wantIs(t, err, context.DeadlineExceeded)
				} else {
					wantNot(t, err, context.DeadlineExceeded)
				}
				if after, ok := rejection(t, err).RetryAfter(); !ok || after != sec {
					t.Errorf("RetryAfter = %v, %v; want 1s", after, ok)
				}
			})
		})
	}
}

// What ends the wait: the error is the context's, and a neutral rejection, but nobody
// was limited.
func TestContextEndsDuringTheWait(t *testing.T) {
	for _, cause := range []error{nil, errDown} {
		synctest.Test(t, func(t *testing.T) {
			limiter := empty(1)
			p := single(limiter, ratelimit.Wait(time.Minute))
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
			o := newOp(succeed)
			err := p.Do(ctx, o.run)
			o.want(t)
			o.elapsed(t, 300*time.Millisecond)
			wantIs(t, err, context.Canceled, context.Cause(ctx), stoic.ErrRejected)
			wantNot(t, err, ratelimit.ErrLimited, context.DeadlineExceeded)
			if r := rejection(t, err); r.ErrorType() != "canceled" || r.Pipeline != "payments" {
				t.Errorf("got %+v", r)
			}
			wantTokens(t, limiter, 0.3) // the token came back
		})
	}
}

// The context ends at the very moment at which the wait does: it is asked again.
func TestContextIsCheckedAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which comes first is chance
		for range 50 {
			p := single(empty(1), ratelimit.Wait(time.Minute))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			o := newOp(succeed)
			err := p.Do(ctx, o.run)
			if (err == nil) != (len(o.entered) == 1) {
				t.Fatalf("got %v after %d calls", err, len(o.entered))
			}
			synctest.Wait()
		}
	})
	t.Run("a context that ends in its own Done", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx := &endsAt{Context: context.Background(), at: time.Now().Add(time.Second)}
			o := newOp(succeed)
			err := single(empty(1), ratelimit.Wait(time.Minute)).Do(ctx, o.run)
			o.want(t)
			wantIs(t, err, context.Canceled)
			wantNot(t, err, ratelimit.ErrLimited)
		})
	})
}

// endsAt is a context that ends for Err, and never for Done.
type endsAt struct {
	context.Context
	at time.Time
}

func (c *endsAt) Err() error {
	if time.Now().Before(c.at) {
		return nil
	}
	return context.Canceled
}

func TestCancelledBeforeTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := empty(1)
		ctx, cancel := context.WithCancel(t.Context())
		p := stoic.MustNew("payments", stoic.PolicyFunc("cancel", func(ctx context.Context, next stoic.Next) error {
			cancel()
			return next.Do(ctx)
		}), ratelimit.From(limiter, ratelimit.Wait(time.Minute)))
		o := newOp(succeed)
		err := p.Do(ctx, o.run)
		o.want(t)
		o.elapsed(t, 0)
		wantIs(t, err, context.Canceled, stoic.ErrRejected)
		wantTokens(t, limiter, 0)
	})
}

// A lazy deadline around the limiter becomes real when it waits, and only then.
func TestWaitUnderALazyDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		limiter := empty(1)
		p := stoic.MustNew("payments", deadline.New(time.Hour), deadline.New(time.Minute), ratelimit.From(limiter, ratelimit.Wait(time.Minute)))
		o := newOp(succeed)
		wantIs(t, p.Do(ctx, o.run), context.Canceled)
		o.want(t)
		o.elapsed(t, 500*time.Millisecond)
		wantTokens(t, limiter, 0.5)
	})
}

// noDone is a context that must not be asked for Done.
type noDone struct {
	context.Context
	t *testing.T
}

func (c noDone) Done() <-chan struct{} {
	c.t.Error("asked for Done, which wakes a lazy deadline")
	return c.Context.Done()
}

func TestNoDoneWhenATokenIsThere(t *testing.T) {
	for _, opt := range []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute)} {
		p := single(rate.NewLimiter(1e-6, 2), opt)
		for range 2 {
			if err := p.Do(noDone{t.Context(), t}, succeed); err != nil {
				t.Error(err)
			}
		}
	}
	// Nor when the answer is no.
	wantIs(t, single(empty(1)).Do(noDone{t.Context(), t}, succeed), ratelimit.ErrLimited)
	wantIs(t, single(empty(1), ratelimit.Wait(1)).Do(noDone{t.Context(), t}, succeed), ratelimit.ErrLimited)
}
