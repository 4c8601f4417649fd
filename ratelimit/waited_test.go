package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

// watched is a stack of one limiter with a hook around it.
func watched(limiter *rate.Limiter, opts ...ratelimit.Option) (*stoic.Pipeline, *hookstest.Recorder) {
	rec := &hookstest.Recorder{}
	return stoic.MustNew("payments", stoic.Observe(rec), ratelimit.From(limiter, opts...)), rec
}

// wantEvents compares all but the error, which must match each of the errors in is.
func wantEvents(t *testing.T, rec *hookstest.Recorder, is []error, want ...hooks.Event) {
	t.Helper()
	got := rec.Events()
	for i := range got {
		if (got[i].Err == nil) != (len(is) == 0) {
			t.Errorf("event %d: error %v", i, got[i].Err)
		}
		wantIs(t, got[i].Err, is...)
		got[i].Err = nil
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func waitedEvent(operation string, attempt int, delay time.Duration) hooks.Event {
	return hooks.Event{
		Kind: hooks.Waited, Pipeline: "payments", Operation: operation, Policy: "ratelimit", Attempt: attempt, Delay: delay,
	}
}

func rejectEvent(reason string, delay time.Duration) hooks.Event {
	return hooks.Event{
		Kind: hooks.Reject, Pipeline: "payments", Operation: "payments", Policy: "ratelimit", Attempt: 1,
		Reason: reason, Delay: delay,
	}
}

// A call that was let pass after a wait says how long it was: once, before what is
// inside is entered.
func TestWaitedCarriesTheWait(t *testing.T) {
	tests := []struct {
		limit rate.Limit
		want  time.Duration
	}{
		{1, time.Second},
		{4, 250 * time.Millisecond},
		{1000, time.Millisecond},
		{ratelimit.Per(6, time.Minute), 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.want.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rec := watched(empty(tt.limit), ratelimit.Wait(time.Minute))
				o := newOp(func(context.Context) error {
					wantEvents(t, rec, nil, waitedEvent("charge", 1, tt.want))
					time.Sleep(3 * time.Second) // is not part of the wait
					return nil
				})
				if err := p.Do(stoic.WithOperation(t.Context(), "charge"), o.run); err != nil {
					t.Error(err)
				}
				o.elapsed(t, tt.want+3*time.Second)
				wantEvents(t, rec, nil, waitedEvent("charge", 1, tt.want))
			})
		})
	}
}

// Each in a queue waited as long as it did, not as long as one token takes.
func TestWaitedOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rec := watched(empty(1), ratelimit.Wait(time.Minute))
		for range 3 {
			go func() { _ = p.Do(t.Context(), succeed) }()
			synctest.Wait()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		wantEvents(t, rec, nil,
			waitedEvent("payments", 1, time.Second), waitedEvent("payments", 1, 2*time.Second), waitedEvent("payments", 1, 3*time.Second))
	})
}

// The number is that of the attempt that waited.
func TestWaitedOfAResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &hookstest.Recorder{}
		p := stoic.MustNew("payments", stoic.Observe(rec), attempts(2), ratelimit.New(1, 1, ratelimit.Wait(time.Minute)))
		_ = p.Do(t.Context(), fail)
		// The retry's wait of 100 ms comes first.
		if got, want := rec.Events(hooks.Waited), []hooks.Event{waitedEvent("payments", 2, 900*time.Millisecond)}; !slices.Equal(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
	})
}

func TestNoEventWithoutAWait(t *testing.T) {
	for _, opt := range []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			p, rec := watched(rate.NewLimiter(1, 2), opt)
			for _, fn := range []stoic.Func{succeed, fail} {
				_ = p.Do(t.Context(), fn)
			}
			wantEvents(t, rec, nil)
		})
	}
}

// Reject.Delay is the part of the wait that came before its end.
func TestRejectCarriesTheWaitThatWasCutShort(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		cut    func(ctx context.Context) (context.Context, context.CancelFunc)
		reason string
		is     []error
	}{
		{"canceled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(300*ms, func() { cancel(errDown) })
			return ctx, func() { cancel(nil) }
		}, "canceled", []error{context.Canceled, errDown, stoic.ErrRejected}},
		{"expired without a deadline that was known", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithTimeout(ctx, 300*ms)
			return hidden{ctx}, cancel
		}, "deadline_exceeded", []error{context.DeadlineExceeded, stoic.ErrRejected}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rec := watched(empty(1), ratelimit.Wait(time.Minute))
				ctx, cancel := tt.cut(t.Context())
				defer cancel()
				o := newOp(succeed)
				wantIs(t, p.Do(ctx, o.run), tt.is...)
				o.want(t)
				o.elapsed(t, 300*ms)
				wantEvents(t, rec, tt.is, rejectEvent(tt.reason, 300*ms))
			})
		})
	}
}

// hidden is a context that does not tell when it ends.
type hidden struct{ context.Context }

func (hidden) Deadline() (time.Time, bool) { return time.Time{}, false }

// A refusal at once has no wait, whatever the reason.
func TestRejectAtOnceCarriesNoWait(t *testing.T) {
	const sec = time.Second
	tests := []struct {
		name   string
		opts   []ratelimit.Option
		limit  time.Duration // of the caller's context; 0: none
		reason string
		is     []error
	}{
		{"never waits", nil, 0, "rate_limited", []error{ratelimit.ErrLimited}},
		{"would wait too long", []ratelimit.Option{ratelimit.Wait(sec - 1)}, 0, "rate_limited", []error{ratelimit.ErrLimited}},
		{
			"would wait past the deadline",
			[]ratelimit.Option{ratelimit.Wait(time.Minute)},
			sec, "deadline_too_short",
			[]error{ratelimit.ErrLimited, context.DeadlineExceeded},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rec := watched(empty(1), tt.opts...)
				ctx := t.Context()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				o := newOp(succeed)
				err := p.Do(ctx, o.run)
				o.want(t)
				o.elapsed(t, 0)
				wantIs(t, err, tt.is...)
				wantEvents(t, rec, tt.is, rejectEvent(tt.reason, 0))
			})
		})
	}
}

// Our own deadline around it cuts a wait short like anybody else's.
func TestRejectCarriesTheWaitUntilADeadlineInTheStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &hookstest.Recorder{}
		hide := stoic.PolicyFunc("hide", func(ctx context.Context, next stoic.Next) error { return next.Do(hidden{ctx}) })
		p := stoic.MustNew("payments", stoic.Observe(rec), deadline.New(700*time.Millisecond), hide,
			ratelimit.From(empty(1), ratelimit.Wait(time.Minute)))
		err := p.Do(t.Context(), succeed)
		wantIs(t, err, context.DeadlineExceeded)
		rejects := rec.Events(hooks.Reject)
		if len(rejects) != 1 || rejects[0].Delay != 700*time.Millisecond || rejects[0].Reason != "deadline_exceeded" {
			t.Errorf("got %+v, want one after 700ms", rejects)
		}
	})
}

// The event of a call that nobody else hears is the same for whoever listens: several
// hooks are told the same wait.
func TestWaitedReachesEachHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outer, inner hookstest.Recorder
		p := stoic.MustNew("payments", stoic.Observe(&outer), stoic.Observe(&inner),
			ratelimit.From(empty(1), ratelimit.Wait(time.Minute)))
		if err := p.Do(t.Context(), succeed); err != nil {
			t.Error(err)
		}
		for _, rec := range []*hookstest.Recorder{&outer, &inner} {
			wantEvents(t, rec, nil, waitedEvent("payments", 1, time.Second))
		}
	})
}

// A hook that panics on Waited takes the call with it: the token is used, and the next
// call finds the limiter as it should be.
func TestWaitedToAPanickingHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := empty(1)
		h := hooks.OnEvent(func(context.Context, hooks.Event) { panic(errDown) })
		p := stoic.MustNew("payments", stoic.Observe(h), ratelimit.From(limiter, ratelimit.Wait(time.Minute)))
		o := newOp(succeed)
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, errDown) {
					t.Errorf("recovered %v, want the hook's panic", err)
				}
			}()
			_ = p.Do(t.Context(), o.run)
		}()
		o.want(t)
		wantTokens(t, limiter, 0)
	})
}
