package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func TestBreakerThatOpensStopsTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sleeper
		b := newBudget(10)
		p := plain(t, b, retry.New(retry.MaxAttempts(9), retry.Sleep(s.sleep)),
			breaker.New("db", breaker.ConsecutiveFailures(2)))
		op := newOp(errBoom, errLast)
		err := p.Do(t.Context(), op.run)
		stoppedBy(t, err, 2, errLast, breaker.ErrOpen)
		stopped := stoppedIn(err)
		equal(t, "type", stopped.ErrorType(), "circuit_open")
		rejection, ok := errors.AsType[*stoic.Rejection](err)
		if !ok || rejection.Policy != stoic.KindBreaker || rejection.Name != "db" {
			t.Errorf("As: got %#v, want the breaker's rejection", rejection)
		}
		equal(t, "calls", op.calls(), 2)
		equal(t, "sleeps", len(s.slept), 2)
		b.check(t, 2, 1)

		// Now nothing is sent at all: the rejection itself, no sleep.
		err = p.Do(t.Context(), op.run)
		if _, ok := err.(*stoic.Rejection); !ok { //nolint:errorlint // itself
			t.Errorf("got %#v, want the rejection itself", err)
		}
		matches(t, err, breaker.ErrOpen, stoic.ErrRejected)
		equal(t, "sleeps", len(s.slept), 2)
		b.check(t, 2, 1)
	})
}

func TestRejectionsAndRealFailures(t *testing.T) {
	tests := []struct {
		name     string
		open     func(int) bool
		opts     []retry.Option
		script   []error
		attempts int // sent
		seen     int // by the gate
		failure  error
		want     error // itself, instead of a StoppedError
	}{
		{name: "nothing sent", open: never, seen: 1},
		{name: "nothing sent, all accepted", open: never, opts: []retry.Option{retry.If(accept)}, seen: 3},
		{name: "not accepted after a failure", open: onlyFirst, seen: 2, attempts: 1, failure: errBoom},
		{
			name: "accepted, attempts run out on it", open: onlyFirst, opts: []retry.Option{retry.If(accept)},
			seen: 3, attempts: 1, failure: errBoom,
		},
		{
			name: "attempt 3 refused of 4", open: allButThird, opts: []retry.Option{retry.If(accept), retry.MaxAttempts(4)},
			script: []error{errBoom, errBoom, errLast}, seen: 4, want: errLast,
		},
		{
			name: "failure after a rejection", open: allButFirst, opts: []retry.Option{retry.If(accept)},
			script: []error{errBoom, errLast}, seen: 3, want: errLast,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(tt.open)
			script := tt.script
			if script == nil {
				script = []error{errBoom}
			}
			op := newOp(script...)
			p, _ := stack(t, retry.New(append(tt.opts, retry.Constant(0))...), g)
			err := p.Do(t.Context(), op.run)
			equal(t, "seen by the gate", g.seen, tt.seen)
			switch {
			case tt.want != nil:
				identical(t, err, tt.want)
			case tt.attempts == 0:
				identical(t, err, g.rejection)
			default:
				stoppedBy(t, err, tt.attempts, tt.failure, errGate)
				stopped := stoppedIn(err)
				identical(t, stopped.Reason, g.rejection)
				equal(t, "type", stopped.ErrorType(), "gate_closed")
				if got, ok := errors.AsType[*stoic.Rejection](err); !ok || got != g.rejection {
					t.Errorf("As: got %v, want the rejection", got)
				}
			}
		})
	}
}

// Rejected attempts are not sent, so Attempts does not count them, whatever stops
// the retry in the end.
func TestAttemptsCountsWhatWasSent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newGate(func(n int) bool { return n%2 == 1 })
	calls := 0
	p := plain(t, retry.New(retry.Unlimited(), retry.If(accept), retry.Constant(0)), g)
	err := p.Do(ctx, func(context.Context) error {
		if calls++; calls == 5 {
			cancel()
		}
		return errBoom
	})
	equal(t, "attempts", g.seen, 9)
	stoppedBy(t, err, 5, errBoom, context.Canceled)
}

// The design says: if nothing was sent, the rejection itself comes back unchanged.
func TestNothingSentAndCancelledReturnsTheRejection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newGate(never)
	p := plain(t, retry.New(retry.If(accept), retry.Sleep(func(context.Context, time.Duration) error {
		cancel()
		return nil
	})), g)
	identical(t, p.Do(ctx, newOp(nil).run), g.rejection)
}

func TestOuterRetryNeverRetriesAStoppedError(t *testing.T) {
	for name, opts := range map[string][]retry.Option{"default": nil, "If accepts all": {retry.If(accept)}} {
		t.Run(name, func(t *testing.T) {
			p := plain(t, retry.New(append(opts, retry.MaxAttempts(5), retry.Constant(0))...),
				newBudget(1), retry.New(retry.AllowNested(), retry.Constant(0)))
			op := newOp(errBoom)
			stoppedBy(t, p.Do(t.Context(), op.run), 2, errBoom, errSpent)
			equal(t, "calls", op.calls(), 2)
		})
	}
}

func TestOuterBreakerCountsAStoppedErrorAsFailure(t *testing.T) {
	outer := breaker.New("outer", breaker.ConsecutiveFailures(1))
	p := plain(t, outer, retry.New(retry.Constant(0)), newGate(onlyFirst))
	stoppedBy(t, p.Do(t.Context(), newOp(errBoom).run), 1, errBoom, errGate)
	equal(t, "state", outer.State(), breaker.Open)

	// A rejection that came back unchanged is neutral.
	outer = breaker.New("outer", breaker.ConsecutiveFailures(1))
	p = plain(t, outer, retry.New(retry.Constant(0)), newGate(never))
	matches(t, p.Do(t.Context(), newOp(errBoom).run), errGate)
	equal(t, "state", outer.State(), breaker.Closed)
}

// What stopped the retry is the caller, also when the last attempt was refused.
func TestCancelAfterARejectionIsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sleeps := 0
	p := plain(t, retry.New(retry.If(accept), retry.Sleep(func(context.Context, time.Duration) error {
		if sleeps++; sleeps == 2 {
			cancel()
		}
		return nil
	})), newGate(onlyFirst))
	err := p.Do(ctx, newOp(errBoom).run)
	stoppedBy(t, err, 1, errBoom, context.Canceled)
	equal(t, "type", stoppedIn(err).ErrorType(), "canceled")
	if errors.Is(err, errGate) {
		t.Errorf("%v matches the rejection", err)
	}
}

func TestCallerWhoLeavesWhileTheLimiterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBudget(5)
		p := plain(t, b, retry.New(retry.Constant(0)),
			ratelimit.New(ratelimit.Per(1, time.Minute), 1, ratelimit.Wait(time.Hour)))
		op := newOp(errBoom)
		time.AfterFunc(time.Second, cancel)
		stoppedBy(t, p.Do(ctx, op.run), 1, errBoom, context.Canceled)
		equal(t, "calls", op.calls(), 1)
		equal(t, "returned after", time.Since(op.start), time.Second)
		b.check(t, 1, 1) // the second attempt was not sent
	})
}

// An attempt that was refused further in was not sent: the next one is still the first.
func TestAttemptNumbersCountWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		refuse := map[int]bool{1: true, 3: true} // by tries
		try := 0
		gate := stoic.PolicyFunc("gate", func(ctx context.Context, next stoic.Next) error {
			seen = append(seen, next.Attempt())
			if try++; refuse[try] {
				return &stoic.Rejection{Policy: "gate", Reason: "closed"}
			}
			return next.Do(ctx)
		})
		p := stoic.MustNew("pay", retry.New(retry.MaxAttempts(5), retry.If(accept), retry.Constant(0)), gate)
		_ = p.Do(t.Context(), func(ctx context.Context) error { return errBoom })
		equal(t, "attempts", fmt.Sprint(seen), "[1 1 2 2 3]")
	})
}

// The events of a retry inside an attempt carry the numbers of its own attempts.
func TestEventNumbersOfANestedRetry(t *testing.T) {
	var got []string
	h := hooks.OnEvent(func(_ context.Context, e hooks.Event) { got = append(got, fmt.Sprintf("%s %d", e.Kind, e.Attempt)) })
	p := stoic.MustNew("pay", stoic.Observe(h),
		retry.New(retry.MaxAttempts(2), retry.Constant(0)), retry.New(retry.MaxAttempts(2), retry.Constant(0), retry.AllowNested()))
	_ = p.Do(t.Context(), func(context.Context) error { return errBoom })
	equal(t, "events", strings.Join(got, ", "), "retry 1, gave_up 2, retry 1, retry 2, gave_up 3, gave_up 2")
}
