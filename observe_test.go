package stoic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
)

func TestObserveOutcomes(t *testing.T) {
	errRejected := &stoic.Rejection{Policy: "bulkhead", Reason: "is full"}
	tests := []struct {
		name string
		fn   func(ctx context.Context, cancel context.CancelFunc) error
		want hooks.Outcome
		err  error
	}{
		{"success", func(context.Context, context.CancelFunc) error { return nil }, hooks.Succeeded, nil},
		{"failure", func(context.Context, context.CancelFunc) error { return errBoom }, hooks.Failed, errBoom},
		{"the value Canceled", func(context.Context, context.CancelFunc) error { return context.Canceled }, hooks.Failed, context.Canceled},
		{"rejection", func(context.Context, context.CancelFunc) error { return errRejected }, hooks.Rejected, errRejected},
		{"caller cancels", func(_ context.Context, cancel context.CancelFunc) error {
			cancel()
			return errBoom
		}, hooks.Canceled, errBoom},
		{"caller cancels, result in hand", func(_ context.Context, cancel context.CancelFunc) error {
			cancel()
			return nil
		}, hooks.Succeeded, nil},
		{"caller's deadline", func(ctx context.Context, _ context.CancelFunc) error {
			<-ctx.Done()
			return ctx.Err()
		}, hooks.Failed, context.DeadlineExceeded},
		{"rejection when the caller's deadline is over", func(ctx context.Context, _ context.CancelFunc) error {
			<-ctx.Done()
			return errRejected
		}, hooks.Rejected, errRejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rec hookstest.Recorder
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(1, 0))
				got := p.Do(ctx, func(ctx context.Context) error { return tt.fn(ctx, cancel) })
				if !errors.Is(got, tt.err) {
					t.Errorf("got %v, want %v", got, tt.err)
				}
				ends := 0
				for _, e := range rec.All() {
					if e.Method != hookstest.End {
						continue
					}
					ends++
					want := tt.err // of the attempt
					if e.Op.Kind == hooks.KindCall {
						want = got
					}
					if e.Result.Outcome != tt.want || !same(e.Result.Err, want) || e.Result.Panic != nil {
						t.Errorf("%v with %+v, want %v and %v", e, e.Result, tt.want, want)
					}
				}
				if ends != 2 {
					t.Errorf("%d ends, want 2: of the call and of the attempt", ends)
				}
				if err := rec.Check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestObserveWithoutARetrySeesNoAttempts(t *testing.T) {
	var rec hookstest.Recorder
	p := stoic.MustNew("payments", stoic.Observe(&rec), breaker.New("b"), ratelimit.New(rate.Inf, 0))
	_ = p.Do(t.Context(), fail)
	wantLines(t, rec.Strings(), []string{"start call payments #1", "end call payments #1 failed"})
}

func TestObserveInsideARetry(t *testing.T) {
	var outer, inner hookstest.Recorder
	p := stoic.MustNew("payments", stoic.Observe(&outer), attempts(2, 0), stoic.Observe(&inner))
	_ = p.Do(t.Context(), fail)
	wantLines(t, outer.Strings(), []string{
		"start call payments #1",
		"start attempt payments #1", "end attempt payments #1 failed", "retry retry payments #1 0s",
		"start attempt payments #2", "end attempt payments #2 failed", "gave_up retry payments #2 max_attempts",
		"end call payments #1 failed",
	})
	wantLines(t, inner.Strings(), []string{
		"start call payments #1", "end call payments #1 failed",
		"start call payments #2", "end call payments #2 failed",
	})
}

func TestContextDoneDuringTheCallSilencesNoHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec hookstest.Recorder
		ctx, cancel := context.WithCancel(t.Context())
		p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(3, time.Second))
		time.AfterFunc(1500*time.Millisecond, cancel)
		err := p.Do(ctx, fail)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) {
			t.Errorf("got %v, want Canceled and the failure", err)
		}
		wantLines(t, rec.Strings(), []string{
			"start call payments #1",
			"start attempt payments #1", "end attempt payments #1 failed", "retry retry payments #1 1s",
			"start attempt payments #2", "end attempt payments #2 failed", "retry retry payments #2 1s",
			"gave_up retry payments #2 canceled",
			"end call payments #1 canceled",
		})
	})
}

func TestDurationsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec hookstest.Recorder
		p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(2, time.Second))
		_ = p.Do(t.Context(), func(ctx context.Context) error {
			time.Sleep(time.Duration(stoic.Attempt(ctx)) * 300 * time.Millisecond)
			return errBoom
		})
		var got []time.Duration
		for _, e := range rec.All() {
			if e.Method == hookstest.End {
				got = append(got, e.Result.Duration)
			}
		}
		want := []time.Duration{300 * time.Millisecond, 600 * time.Millisecond, 1900 * time.Millisecond}
		if !slices.Equal(got, want) {
			t.Errorf("durations %v, want %v", got, want)
		}
	})
}
