package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// stoppedBy fails unless err is a StoppedError for the reason, with the real failure
// in it, and not a rejection.
func stoppedBy(t *testing.T, err error, attempts int, failure error, reasons ...error) {
	t.Helper()
	stopped, ok := err.(*retry.StoppedError) //nolint:errorlint // what the retry itself returned
	if !ok {
		t.Fatalf("got %#v, want a StoppedError", err)
	}
	equal(t, "attempts", stopped.Attempts, attempts)
	equal(t, "pipeline", stopped.Pipeline, "pay")
	identical(t, stopped.Err, failure)
	identical(t, errors.Unwrap(err), failure)
	matches(t, err, append(reasons, failure)...)
	matches(t, stopped.Reason, reasons...)
	if errors.Is(err, stoic.ErrRejected) {
		t.Errorf("%v matches ErrRejected", err)
	}
}

// stoppedIn is the StoppedError that err is known to be.
func stoppedIn(err error) *retry.StoppedError {
	stopped, _ := errors.AsType[*retry.StoppedError](err)
	return stopped
}

func TestLastErrorComesBackUnchanged(t *testing.T) {
	permanent := retry.Permanent(errBoom)
	tests := []struct {
		name   string
		opts   []retry.Option
		script []error
		want   error
	}{
		{"attempts ran out", nil, []error{errBoom, errBoom, errLast}, errLast},
		{"one attempt", []retry.Option{retry.MaxAttempts(1)}, []error{errBoom}, errBoom},
		{"not retryable", []retry.Option{retry.If(func(err error) bool { return err != errLast })}, []error{errBoom, errLast}, errLast}, //nolint:errorlint // identity
		{"permanent at once", nil, []error{permanent}, permanent},
		{"permanent later", nil, []error{errBoom, permanent}, permanent},
		{"joined", nil, []error{errors.Join(errBoom, errLast)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := stack(t, budget.New(), retry.New(append(tt.opts, retry.Constant(0))...), breaker.New("db"))
			want := tt.want
			if want == nil {
				want = tt.script[len(tt.script)-1]
			}
			identical(t, p.Do(t.Context(), newOp(tt.script...).run), want)
		})
	}
}

func TestCancelledCallGetsCauseAndFailure(t *testing.T) {
	cause := errors.New("client went away")
	tests := []struct {
		name string
		opts func(cancel context.CancelCauseFunc) []retry.Option
		op   func(cancel context.CancelCauseFunc) stoic.Func
	}{
		{
			"during the attempt", func(context.CancelCauseFunc) []retry.Option { return nil },
			func(cancel context.CancelCauseFunc) stoic.Func {
				return func(context.Context) error { cancel(cause); return errBoom }
			},
		},
		{"during the sleep", func(cancel context.CancelCauseFunc) []retry.Option {
			return []retry.Option{retry.Sleep(func(context.Context, time.Duration) error { cancel(cause); return nil })}
		}, func(context.CancelCauseFunc) stoic.Func { return newOp(errBoom).run }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			p := plain(t, retry.New(tt.opts(cancel)...))
			err := p.Do(ctx, tt.op(cancel))
			stoppedBy(t, err, 1, errBoom, context.Canceled, cause)
			stopped := stoppedIn(err)
			equal(t, "type", stopped.ErrorType(), "canceled")
			equal(t, "text", err.Error(),
				"pay: retry stopped after 1 attempt: context canceled: client went away; last failure: boom")
		})
	}
}

func TestDeadlineDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("too slow")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		p := plain(t, retry.New(retry.Constant(time.Millisecond)))
		calls := 0
		err := p.Do(ctx, func(ctx context.Context) error {
			if calls++; calls < 2 {
				return errBoom
			}
			<-ctx.Done()
			return errLast
		})
		stoppedBy(t, err, 2, errLast, context.DeadlineExceeded, cause)
		stopped := stoppedIn(err)
		equal(t, "type", stopped.ErrorType(), "deadline_exceeded")
	})
}

// An injected sleep may take longer than it was told.
func TestDeadlineDuringAnOversleptWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := plain(t, retry.New(retry.Sleep(func(context.Context, time.Duration) error {
			time.Sleep(time.Hour)
			return nil
		})))
		op := newOp(errBoom)
		stoppedBy(t, p.Do(ctx, op.run), 1, errBoom, context.DeadlineExceeded)
		equal(t, "calls", op.calls(), 1)
	})
}

func TestTotalDeadlineLayerStopsTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, deadline.New(time.Second), retry.New(retry.MaxAttempts(5), retry.Constant(400*time.Millisecond)))
		op := newOp(errBoom)
		stoppedBy(t, p.Do(t.Context(), op.run), 3, errBoom, context.DeadlineExceeded)
		equal(t, "calls", op.calls(), 3)
		equal(t, "returned after", time.Since(op.start), 800*time.Millisecond)
	})
}

func TestExhaustedBudgetStopsTheRetry(t *testing.T) {
	p := plain(t, budget.New(budget.Ratio(1), budget.MinPerSecond(0)), retry.New(retry.Constant(0)))
	op := newOp(errBoom, errLast)
	err := p.Do(t.Context(), op.run)
	stoppedBy(t, err, 2, errLast, budget.ErrExhausted)
	stopped := stoppedIn(err)
	equal(t, "type", stopped.ErrorType(), "budget_exhausted")
	rejection, ok := errors.AsType[*stoic.Rejection](err)
	if !ok || rejection.Policy != stoic.KindBudget || rejection.Pipeline != "pay" {
		t.Errorf("As: got %#v, want the budget's rejection under the pipeline's name", rejection)
	}
	equal(t, "text", err.Error(), "pay: retry stopped after 2 attempts: pay: retry budget spent: "+
		"the client did not send this retry; last failure: last")
}

func TestInjectedSleepThatFailsStopsTheRetry(t *testing.T) {
	errSleep := errors.New("no clock")
	p := plain(t, retry.New(retry.Sleep(func(context.Context, time.Duration) error { return errSleep })))
	op := newOp(errBoom)
	err := p.Do(t.Context(), op.run)
	stoppedBy(t, err, 1, errBoom, errSleep)
	stopped := stoppedIn(err)
	equal(t, "type", stopped.ErrorType(), "retry_stopped")
	equal(t, "calls", op.calls(), 1)
}

func TestStoppedErrorFindsTheFailureBeforeTheReason(t *testing.T) {
	inFailure, inReason := &codeError{1}, &codeError{2}
	err := error(&retry.StoppedError{Reason: inReason, Err: inFailure})
	if got, ok := errors.AsType[*codeError](err); !ok || got != inFailure {
		t.Errorf("As: got %v, want %v", got, inFailure)
	}
	matches(t, err, inFailure, inReason)
	if _, ok := errors.AsType[*url.Error](err); ok {
		t.Error("As found an error that is in neither")
	}
}

func TestAnswersAreNotRetried(t *testing.T) {
	errNoRows := errors.New("no rows")
	answer := stoic.Benign(func(err error) bool { return errors.Is(err, errNoRows) })
	for _, script := range [][]error{{errNoRows}, {errBoom, errNoRows}} {
		p, rec := stack(t, newBudget(5), retry.New(retry.Constant(0), retry.If(accept)), answer)
		op := newOp(script...)
		identical(t, p.Do(t.Context(), op.run), errNoRows)
		equal(t, "calls", op.calls(), len(script))
		equal(t, "events", len(rec.Events()), len(script)-1)
	}
}

func TestAnswerOfACancelledCallerComesBackUnchanged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plain(t, retry.New(), stoic.Benign(accept))
	identical(t, p.Do(ctx, func(context.Context) error { cancel(); return errBoom }), errBoom)
	identical(t, p.Do(t.Context(), newOp(nil).run), nil)
}

func TestResultInHandOfACancelledCallerIsASuccess(t *testing.T) {
	for _, script := range [][]error{{nil}, {errBoom, nil}} {
		ctx, cancel := context.WithCancel(t.Context())
		p, rec := stack(t, retry.New(retry.Constant(0)))
		op := newOp(script...)
		identical(t, p.Do(ctx, func(ctx context.Context) error {
			err := op.run(ctx)
			if err == nil {
				cancel()
			}
			return err
		}), nil)
		equal(t, "calls", op.calls(), len(script))
		equal(t, "GaveUp events", len(rec.Events(hooks.GaveUp)), 0)
	}
}

func TestC58_StoppedErrorPrintsNoSecrets(t *testing.T) {
	secret := &url.Error{Op: "Get", URL: "https://user:s3cr3t@api.example/v1/pay?token=hunter2#frag", Err: errors.New("status 503")}
	cancelled := func(cause error) func(*testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			ctx, cancel := context.WithCancelCause(t.Context())
			return plain(t, retry.New()).Do(ctx, func(context.Context) error { cancel(cause); return secret })
		}
	}
	tests := map[string]func(*testing.T) error{
		"canceled":            cancelled(nil),
		"secret in the cause": cancelled(fmt.Errorf("client of %w", secret)),
		"budget": func(t *testing.T) error {
			t.Helper()
			return plain(t, newBudget(1), retry.New(retry.Constant(0))).Do(t.Context(), newOp(secret).run)
		},
		"secret of the breaker": func(t *testing.T) error {
			t.Helper()
			return plain(t, retry.New(retry.Constant(0)), newGate(onlyFirst)).Do(t.Context(), newOp(secret).run)
		},
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			text := run(t).Error()
			if strings.Contains(text, "hunter2") || strings.Contains(text, "s3cr3t") {
				t.Errorf("%q contains a secret", text)
			}
			if !strings.Contains(text, `Get "https://api.example/v1/pay": status 503`) {
				t.Errorf("%q does not say what failed", text)
			}
		})
	}
}
