package stoic_test

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
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestVerdictOf(t *testing.T) {
	live := t.Context()
	done := doneContexts(live)
	canceled, caused, expired := done["canceled"].ctx, done["canceled, with cause"].ctx, done["expired"].ctx
	rejection := &stoic.Rejection{Policy: "breaker", Reason: "open"}
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want stoic.Verdict
	}{
		{"nil", live, nil, stoic.Success},
		{"nil of a caller who canceled", canceled, nil, stoic.Success},
		{"nil after the deadline", expired, nil, stoic.Success},
		{"error", live, errBoom, stoic.Failure},
		{"the value Canceled proves nothing", live, context.Canceled, stoic.Failure},
		{"deadline of somebody", live, context.DeadlineExceeded, stoic.Failure},
		{"deadline of the caller", expired, context.DeadlineExceeded, stoic.Failure},
		{"error after the caller's deadline", expired, errBoom, stoic.Failure},
		{"caller canceled", canceled, context.Canceled, stoic.Neutral},
		{"caller canceled, any error", canceled, errBoom, stoic.Neutral},
		{"caller canceled, with a cause", caused, errCause, stoic.Neutral},
		{"caller canceled, a deadline further in", canceled, context.DeadlineExceeded, stoic.Neutral},
		{"rejection", live, rejection, stoic.Neutral},
		{"wrapped rejection", live, fmt.Errorf("call: %w", rejection), stoic.Neutral},
		{"rejection after the deadline", expired, rejection, stoic.Neutral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := stoic.VerdictOf(tt.ctx, tt.err); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestVerdictText(t *testing.T) {
	for v, want := range map[stoic.Verdict]string{
		stoic.Success: "success", stoic.Failure: "failure", stoic.Neutral: "neutral", 0: "no verdict", 99: "no verdict",
	} {
		if got := v.String(); got != want {
			t.Errorf("%d: got %q, want %q", v, got, want)
		}
	}
}

var errNoRows = errors.New("no rows")

// noRows makes errNoRows an answer, and counts how often it is asked.
func noRows(asked *int) stoic.Policy {
	return stoic.Benign(func(err error) bool {
		*asked++
		return errors.Is(err, errNoRows)
	})
}

func none(ctx context.Context) error { return errNoRows }

func TestBenignIsASuccessForEveryLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec hookstest.Recorder
		var asked int
		br := breaker.New("db", breaker.ConsecutiveFailures(1))
		p := stoic.MustNew("db", stoic.Observe(&rec), deadline.New(time.Minute), attempts(3, time.Second), br, noRows(&asked))
		op := &operation{err: errNoRows}
		if err := p.Do(t.Context(), op.run); !same(err, errNoRows) {
			t.Errorf("got %v, want the very error", err)
		}
		op.want(t, 1)
		if asked != 1 {
			t.Errorf("asked %d times, want 1", asked)
		}
		if got := br.Counts(); got.Successes != 1 || got.Failures != 0 || br.State() != breaker.Closed {
			t.Errorf("the breaker is %v with %+v, want closed with one success", br.State(), got)
		}
		wantLines(t, rec.Strings(), []string{
			"start call db #1", "start attempt db #1", "end attempt db #1 succeeded", "end call db #1 succeeded",
		})
		for _, e := range rec.All() {
			if e.Method == hookstest.End && !same(e.Result.Err, errNoRows) {
				t.Errorf("%v: error %v, want the very error", e, e.Result.Err)
			}
		}
	})
}

func TestBenignLeavesOtherOutcomesAlone(t *testing.T) {
	var asked int
	p := stoic.MustNew("db", noRows(&asked))
	if err := p.Do(t.Context(), succeed); err != nil || asked != 0 {
		t.Errorf("got %v after %d questions, want nil and none", err, asked)
	}
	if err := p.Do(t.Context(), fail); !same(err, errBoom) || asked != 1 {
		t.Errorf("got %v after %d questions, want the very error and 1", err, asked)
	}
}

func TestBenignInTheMiddle(t *testing.T) {
	var asked int
	inner, outer := breaker.New("inner", breaker.ConsecutiveFailures(5)), breaker.New("outer", breaker.ConsecutiveFailures(1))
	p := stoic.MustNew("db", outer, noRows(&asked), attempts(3, 0), inner)
	op := &operation{err: errNoRows}
	if err := p.Do(t.Context(), op.run); !same(err, errNoRows) {
		t.Errorf("got %v, want the very error", err)
	}
	op.want(t, 3) // the retry is inside and knows no better
	if in, out := inner.Counts(), outer.Counts(); in.Failures != 3 || out.Successes != 1 || out.Failures != 0 {
		t.Errorf("inner %+v, outer %+v, want 3 failures and 1 success", in, out)
	}
}

func TestBenignTwice(t *testing.T) {
	var first, second int
	p := stoic.MustNew("db", noRows(&first), noRows(&second))
	if err := p.Do(t.Context(), none); !same(err, errNoRows) {
		t.Errorf("got %v, want the very error", err)
	}
	if first != 0 || second != 1 {
		t.Errorf("asked %d and %d times, want 0 and 1: the inner one decides", first, second)
	}
}

func TestBenignWrappedByALayer(t *testing.T) {
	var asked int
	br := breaker.New("db", breaker.ConsecutiveFailures(1))
	wrap := stoic.PolicyFunc("wrap", func(ctx context.Context, next stoic.Next) error {
		if err := next.Do(ctx); err != nil {
			return fmt.Errorf("query: %w", err)
		}
		return nil
	})
	op := &operation{err: errNoRows}
	err := stoic.MustNew("db", attempts(3, 0), br, wrap, noRows(&asked)).Do(t.Context(), op.run)
	if !errors.Is(err, errNoRows) || err.Error() != "query: no rows" {
		t.Errorf("got %v, want the wrapped error", err)
	}
	op.want(t, 1)
	if got := br.Counts(); got.Successes != 1 || got.Failures != 0 {
		t.Errorf("the breaker counts %+v, want one success", got)
	}
}

func TestBenignForACanceledCaller(t *testing.T) {
	var asked int
	var rec hookstest.Recorder
	ctx, cancel := context.WithCancel(t.Context())
	p := stoic.MustNew("db", stoic.Observe(&rec), noRows(&asked))
	err := p.Do(ctx, func(context.Context) error {
		cancel()
		return errNoRows
	})
	if !same(err, errNoRows) {
		t.Errorf("got %v, want the very error: an answer is in hand", err)
	}
	wantLines(t, rec.Strings(), []string{"start call db #1", "end call db #1 succeeded"})
}

func TestRejection(t *testing.T) {
	full := &stoic.Rejection{
		Pipeline: "payments", Policy: "breaker", Name: "db", Reason: "is open", Err: errBoom, Type: "circuit_open", After: 4200 * time.Millisecond,
	}
	tests := []struct {
		name string
		r    *stoic.Rejection
		want string
	}{
		{"all", full, `payments: breaker "db": is open: the client did not send this call (retry after 4.2s)`},
		{"least", &stoic.Rejection{Policy: "bulkhead", Reason: "is full"}, "bulkhead: is full: the client did not send this call"},
		{
			"a nanosecond more", &stoic.Rejection{Policy: "breaker", Reason: "is open", After: 5*time.Second + 1},
			"breaker: is open: the client did not send this call (retry after 5s)",
		},
		{
			"microseconds", &stoic.Rejection{Policy: "ratelimit", Reason: "limit", After: 250 * time.Microsecond},
			"ratelimit: limit: the client did not send this call (retry after 250µs)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.r.Error(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	wrapped := fmt.Errorf("call: %w", full)
	if !errors.Is(wrapped, stoic.ErrRejected) || !errors.Is(wrapped, errBoom) || errors.Is(wrapped, stoic.ErrInvalid) {
		t.Errorf("%v: want it to match ErrRejected and its sentinel only", wrapped)
	}
	if got, ok := errors.AsType[*stoic.Rejection](wrapped); !ok || got != full || got.ErrorType() != "circuit_open" {
		t.Errorf("got %v, want the rejection", got)
	}
}

func TestRejectionRetryAfter(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{time.Second: time.Second, 1: 1, 0: 0, -time.Second: 0} {
		r := &stoic.Rejection{Policy: "breaker", After: after}
		if d, known := r.RetryAfter(); d != want || known != (after > 0) {
			t.Errorf("After %v: %v, %v, want %v", after, d, known, want)
		}
		if strings.Contains(r.Error(), "retry after") != (after > 0) {
			t.Errorf("After %v: %q", after, r)
		}
	}
}

// Rejections are neutral: neither an outer breaker nor a hook takes one for a failure.
func TestRejectionOfAThirdPartyLayerIsNeutral(t *testing.T) {
	var rec hookstest.Recorder
	br := breaker.New("db", breaker.ConsecutiveFailures(1))
	full := stoic.PolicyFunc("bulkhead", func(context.Context, stoic.Next) error {
		return &stoic.Rejection{Policy: "bulkhead", Reason: "is full", Type: "bulkhead_full"}
	})
	op := &operation{}
	err := stoic.MustNew("db", stoic.Observe(&rec), attempts(3, 0), br, full).Do(t.Context(), op.run)
	if r, ok := errors.AsType[*stoic.Rejection](err); !ok || !same(err, r) || r.Policy != "bulkhead" {
		t.Errorf("got %v, want the rejection itself", err)
	}
	op.want(t, 0)
	if got := br.Counts(); got.Failures != 0 || got.Successes != 0 {
		t.Errorf("the breaker counts %+v, want nothing", got)
	}
	for _, e := range rec.All() {
		if e.Method == hookstest.End && e.Result.Outcome != hooks.Rejected {
			t.Errorf("%v, want rejected", e)
		}
	}
}
