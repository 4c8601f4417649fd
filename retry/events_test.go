package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// TestGaveUpOnceWithItsReason goes through every way in which a retry stops.
func TestGaveUpOnceWithItsReason(t *testing.T) {
	tests := []struct {
		name    string
		opts    []retry.Option
		layers  []stoic.Policy // inside
		budget  int
		ctx     func(context.Context) context.Context
		timeout time.Duration
		script  []error
		cancel  int // the call that cancels
		want    string
		attempt int
		retries int
	}{
		{name: "attempts ran out", script: []error{errBoom}, want: hooks.StopMaxAttempts, attempt: 3, retries: 2},
		{name: "one attempt", opts: []retry.Option{retry.MaxAttempts(1)}, script: []error{errBoom}, want: hooks.StopMaxAttempts, attempt: 1},
		{name: "If says no", opts: []retry.Option{retry.If(func(err error) bool { return !errors.Is(err, errLast) })}, script: []error{errBoom, errLast}, want: hooks.StopNotRetryable, attempt: 2, retries: 1},
		{name: "permanent", script: []error{retry.Permanent(errBoom)}, want: hooks.StopNotRetryable, attempt: 1},
		{name: "stopped further in", script: []error{&retry.StoppedError{Reason: errLast, Err: errBoom}}, want: hooks.StopNotRetryable, attempt: 1},
		{name: "must not be repeated", ctx: stoic.WithNonIdempotent, script: []error{retry.NotExecuted(errBoom), errBoom}, want: hooks.StopNonIdempotent, attempt: 2, retries: 1},
		{name: "budget", budget: 1, script: []error{errBoom}, want: hooks.StopBudget, attempt: 2, retries: 1},
		{name: "too late", timeout: time.Second, opts: []retry.Option{retry.Constant(600 * time.Millisecond)}, script: []error{errBoom}, want: hooks.StopDeadline, attempt: 2, retries: 1},
		{name: "deadline passes in the sleep", timeout: time.Second, opts: []retry.Option{retry.Sleep(func(context.Context, time.Duration) error { time.Sleep(time.Minute); return nil })}, script: []error{errBoom}, want: hooks.StopDeadline, attempt: 1, retries: 1},
		{name: "canceled in attempt 1", cancel: 1, script: []error{errBoom}, want: hooks.StopCanceled, attempt: 1},
		{name: "canceled in attempt 2", cancel: 2, script: []error{errBoom}, want: hooks.StopCanceled, attempt: 2, retries: 1},
		{name: "rejected at once", layers: []stoic.Policy{newGate(never)}, script: []error{errBoom}, want: hooks.StopRejected, attempt: 1},
		{name: "rejected later", layers: []stoic.Policy{newGate(onlyFirst)}, script: []error{errBoom}, want: hooks.StopRejected, attempt: 2, retries: 1},
		{name: "rejection that If refuses", opts: []retry.Option{retry.If(func(err error) bool { return errors.Is(err, errBoom) })}, layers: []stoic.Policy{newGate(onlyFirst)}, script: []error{errBoom}, want: hooks.StopRejected, attempt: 2, retries: 1},
		{name: "accepted rejections run out", opts: []retry.Option{retry.If(accept)}, layers: []stoic.Policy{newGate(never)}, script: []error{errBoom}, want: hooks.StopMaxAttempts, attempt: 1, retries: 2},
		{name: "sleep fails", opts: []retry.Option{retry.Sleep(func(context.Context, time.Duration) error { return errLast })}, script: []error{errBoom}, want: hooks.StopSleep, attempt: 1, retries: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				limit := tt.budget
				if limit == 0 {
					limit = 100
				}
				layers := append([]stoic.Policy{newBudget(limit), retry.New(append([]retry.Option{retry.Constant(1)}, tt.opts...)...)}, tt.layers...)
				p, rec := stack(t, layers...)
				op := newOp(tt.script...)
				err := p.Do(ctx, func(ctx context.Context) error {
					if op.calls()+1 == tt.cancel {
						cancel()
					}
					return op.run(ctx)
				})

				equal(t, "retry events", len(rec.Events(hooks.Retry)), tt.retries)
				events := rec.Events(hooks.Retry, hooks.GaveUp)
				want := append(slices.Repeat([]hooks.EventKind{hooks.Retry}, tt.retries), hooks.GaveUp)
				if got := kinds(events); !slices.Equal(got, want) {
					t.Fatalf("events: got %v, want %v", got, want)
				}
				e := events[len(events)-1]
				identical(t, e.Err, err)
				want1 := hooks.Event{
					Kind: hooks.GaveUp, Pipeline: "pay", Operation: "pay", Policy: stoic.KindRetry,
					Attempt: tt.attempt, Reason: tt.want, Err: err,
				}
				equal(t, "event", e, want1)
			})
		})
	}
}

func TestRetryEventHasItsFields(t *testing.T) {
	p, rec := stack(t, retry.New(retry.MaxAttempts(2), retry.Constant(0)))
	ctx := stoic.WithOperation(t.Context(), "charge")
	identical(t, p.Do(ctx, newOp(errBoom, nil).run), nil)
	want := hooks.Event{
		Kind: hooks.Retry, Pipeline: "pay", Operation: "charge", Policy: stoic.KindRetry, Attempt: 1, Err: errBoom,
	}
	if events := rec.Events(); len(events) != 1 || events[0] != want {
		t.Errorf("got %+v, want only %+v", events, want)
	}
}

func TestSuccessGivesNothingUp(t *testing.T) {
	for _, script := range [][]error{{nil}, {errBoom, nil}, {errBoom, errBoom, nil}} {
		p, rec := stack(t, retry.New(retry.Constant(0)))
		op := newOp(script...)
		identical(t, p.Do(t.Context(), op.run), nil)
		equal(t, "calls", op.calls(), len(script))
		equal(t, "GaveUp events", len(rec.Events(hooks.GaveUp)), 0)
		equal(t, "retry events", len(rec.Events(hooks.Retry)), len(script)-1)
	}
}

func TestEventsComeAlsoWhenTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, rec := stack(t, retry.New())
	_ = p.Do(ctx, func(context.Context) error { cancel(); return errBoom })
	got, want := kinds(rec.Events()), []hooks.EventKind{hooks.GaveUp}
	if !slices.Equal(got, want) {
		t.Errorf("events: got %v, want %v", got, want)
	}
}

// A hook may cancel the call: then there is no sleep and no attempt.
func TestHookThatCancelsOnTheRetryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBudget(5)
		p := plain(t, stoic.Observe(hook(cancel)), b, retry.New(retry.Constant(time.Hour)))
		op := newOp(errBoom)
		stoppedBy(t, p.Do(ctx, op.run), 1, errBoom, context.Canceled)
		equal(t, "returned after", time.Since(op.start), 0)
		b.check(t, 1, 1)
	})
}

func TestAttemptsAreMarkedForTheHooks(t *testing.T) {
	p, rec := stack(t, retry.New(retry.Constant(0)))
	identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
	var numbers []int
	for _, op := range rec.Ops(hooks.KindAttempt) {
		numbers = append(numbers, op.Attempt)
	}
	if want := []int{1, 2, 3}; !slices.Equal(numbers, want) {
		t.Errorf("attempts: got %v, want %v", numbers, want)
	}
}
