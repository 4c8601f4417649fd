package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

func TestC11_CancelDuringTheBackoffReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := plain(t, retry.New(retry.MaxAttempts(5), retry.NoJitter(10*time.Second, time.Minute)))
		op := newOp(errBoom)
		time.AfterFunc(50*time.Millisecond, cancel)
		err := p.Do(ctx, op.run)
		equal(t, "returned after", time.Since(op.start), 50*time.Millisecond)
		equal(t, "calls", op.calls(), 1)
		matches(t, err, context.Canceled, errBoom)
	})
}

func TestC12_BackoffPastTheDeadlineFailsNow(t *testing.T) {
	tests := []struct {
		name    string
		delay   time.Duration
		calls   int
		retries int
	}{
		{"5s of 800ms", 5 * time.Second, 1, 0},
		{"exactly the 800ms left", 800 * time.Millisecond, 1, 0},
		{"1ns before", 800*time.Millisecond - 1, 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				p, rec := stack(t, retry.New(retry.MaxAttempts(2), retry.Constant(tt.delay)))
				start, calls := time.Now(), 0
				err := p.Do(ctx, func(context.Context) error {
					if calls++; calls == 1 {
						time.Sleep(200 * time.Millisecond)
					}
					return errBoom
				})
				equal(t, "calls", calls, tt.calls)
				equal(t, "retry events", len(rec.Events(hooks.Retry)), tt.retries)
				matches(t, err, errBoom)
				if ctx.Err() != nil {
					t.Errorf("ctx.Err() is %v", ctx.Err())
				}
				if tt.calls > 1 {
					equal(t, "returned after", time.Since(start), time.Second-1)
					return
				}
				equal(t, "returned after", time.Since(start), 200*time.Millisecond)
				matches(t, err, context.DeadlineExceeded)
				equal(t, "text", err.Error(), "pay: retry stopped after 1 attempt: the next attempt is due in "+
					tt.delay.String()+", the deadline in 800ms; last failure: boom")
			})
		})
	}
}

func TestC14_WhoseDeadlineItWas(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration // of the caller
		cancel  time.Duration
		calls   int
		want    time.Duration
		reason  error
	}{
		{name: "a: caller without deadline", calls: 3, want: 3300 * time.Millisecond, reason: deadline.ErrExceeded},
		{
			name: "b: caller deadline 1.5s", timeout: 1500 * time.Millisecond, calls: 2, want: 1500 * time.Millisecond,
			reason: context.DeadlineExceeded,
		},
		{
			name: "c: caller cancels at 500ms", cancel: 500 * time.Millisecond, calls: 1, want: 500 * time.Millisecond,
			reason: context.Canceled,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.timeout > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, tt.timeout)
					defer stop()
				}
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				retryable := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
				p := plain(t, retry.New(retry.NoJitter(100*time.Millisecond, 10*time.Second), retry.If(retryable)),
					deadline.New(time.Second))
				start := time.Now()
				var begun []time.Duration
				err := p.Do(ctx, func(ctx context.Context) error {
					begun = append(begun, time.Since(start))
					<-ctx.Done()
					return ctx.Err()
				})
				equal(t, "calls", len(begun), tt.calls)
				equal(t, "returned after", time.Since(start), tt.want)
				matches(t, err, tt.reason)
				if len(begun) > 1 {
					equal(t, "second attempt", begun[1], 1100*time.Millisecond)
				}
				if stopped, ok := errors.AsType[*retry.StoppedError](err); ok != (ctx.Err() != nil) {
					t.Errorf("got %v, want a StoppedError exactly when the caller's context is done", stopped)
				}
			})
		})
	}
}

func TestDeadlineOf1sNeverSleepsPastIt(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			p := plain(t, retry.New(retry.Unlimited(), retry.FullJitter(100*time.Millisecond, 10*time.Second)))
			op := newOp(errBoom)
			err := p.Do(ctx, op.run)
			matches(t, err, errBoom, context.DeadlineExceeded)
			if got := time.Since(op.start); got >= time.Second || ctx.Err() != nil {
				t.Errorf("returned after %v, ctx.Err() %v, want before the deadline", got, ctx.Err())
			}
		})
	}
}

func TestDoneContextDoesNothing(t *testing.T) {
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	asked := 0
	b := newBudget(10)
	p, rec := stack(t, b, retry.New(retry.If(func(error) bool { asked++; return true })))
	op := newOp(errBoom)
	err := p.Do(ctx, op.run)
	matches(t, err, context.Canceled, cause)
	equal(t, "calls", op.calls(), 0)
	equal(t, "asked", asked, 0)
	equal(t, "hook calls", len(rec.All()), 0)
	b.check(t, 0, 0)
}
