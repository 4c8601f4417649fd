package retry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/redact"
)

// StoppedError is what a retry returns when something else than the last failure
// ended it after calls were made: the caller's context, a deadline that the next
// attempt would miss, the retry budget, a layer further in that refused.
//
// It unwraps to the last failure of a call that was sent, and matches Reason too:
// context.Canceled and its cause, context.DeadlineExceeded, budget.ErrExhausted,
// breaker.ErrOpen. It does not match stoic.ErrRejected, because calls were made: to
// whoever counts it is a failure. No retry further out retries it.
type StoppedError struct {
	Pipeline string
	Reason   error // what ended the retry
	Attempts int   // how many attempts were sent; those that a layer further in refused are not
	Err      error // the last failure of an attempt that was sent
}

// Error says what stopped the retry and what the last failure was. URLs in the
// text of the failure lose user, query and fragment.
func (e *StoppedError) Error() string {
	attempts := "1 attempt"
	if e.Attempts != 1 {
		attempts = fmt.Sprintf("%d attempts", e.Attempts)
	}
	return fmt.Sprintf("%s: retry stopped after %s: %s; last failure: %s",
		e.Pipeline, attempts, redact.Error(e.Reason), redact.Error(e.Err))
}

// Unwrap returns the last failure.
func (e *StoppedError) Unwrap() error { return e.Err }

// Is makes the error match what Reason matches, but not stoic.ErrRejected.
func (e *StoppedError) Is(target error) bool {
	return target != stoic.ErrRejected && errors.Is(e.Reason, target)
}

// As finds target in the last failure first, then in Reason.
func (e *StoppedError) As(target any) bool {
	return errors.As(e.Err, target) || errors.As(e.Reason, target)
}

// ErrorType is why the retry stopped: "canceled", "deadline_exceeded", the type of
// the rejection ("budget_exhausted", "circuit_open", …), or "retry_stopped".
func (e *StoppedError) ErrorType() string {
	if r, ok := errors.AsType[*stoic.Rejection](e.Reason); ok {
		return r.ErrorType()
	}
	switch {
	case errors.Is(e.Reason, context.DeadlineExceeded):
		return "deadline_exceeded"
	case errors.Is(e.Reason, context.Canceled):
		return "canceled"
	default:
		return "retry_stopped"
	}
}

// tooLateError is the reason when the next attempt would start at the deadline or
// after it. The context is not done yet, but that is why the retry stopped.
type tooLateError struct{ delay, left time.Duration }

func (e *tooLateError) Error() string {
	return fmt.Sprintf("the next attempt is due in %s, the deadline in %s", e.delay, e.left)
}

func (e *tooLateError) Unwrap() error { return context.DeadlineExceeded }

// Permanent marks err as not worth a retry, by any retry: it ends every loop. The
// caller gets the marked error, which reads like err and unwraps to it. Permanent of
// nil is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// After marks err with the wait that the other side asked for; it replaces the
// computed delay, up to [MaxRetryAfter]. Below zero is zero. An error that has a
// method RetryAfter() (time.Duration, bool) needs no mark. After of nil is nil.
func After(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &afterError{error: err, after: d}
}

// NotExecuted marks err as proof that the operation was not executed, so that a
// call marked by stoic.WithNonIdempotent may be sent again. NotExecuted of nil is
// nil.
func NotExecuted(err error) error {
	if err == nil {
		return nil
	}
	return &notExecutedError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

type notExecutedError struct{ error }

func (e *notExecutedError) Unwrap() error { return e.error }

type afterError struct {
	error
	after time.Duration
}

func (e *afterError) Unwrap() error                     { return e.error }
func (e *afterError) RetryAfter() (time.Duration, bool) { return e.after, true }

// isPermanent reports whether err ends every retry.
func isPermanent(err error) bool {
	if _, ok := errors.AsType[*permanentError](err); ok {
		return true
	}
	_, ok := errors.AsType[*StoppedError](err)
	return ok
}

// hintOf returns the first wait that an error in the tree asks for. One that could ask and
// does not (an answer without the header) hides none below it.
func hintOf(err error) (time.Duration, bool) {
	if hinter, ok := err.(interface {
		RetryAfter() (time.Duration, bool)
	}); ok {
		if d, ok := hinter.RetryAfter(); ok {
			return d, true
		}
	}
	//nolint:errorlint // the whole tree is walked here, and errors.As would stop at the first
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return hintOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			if d, ok := hintOf(branch); ok {
				return d, true
			}
		}
	}
	return 0, false
}

// notExecuted reports whether err proves that the operation was not executed: it
// was never connected, or somebody who knows says so. Of the errors of several
// endpoints, joined, one failed dial proves nothing when another got further. Nor does
// a failed dial in the error of an http.Client, which does not tell whether it was for a
// redirect: then the first request was executed.
func notExecuted(err error) bool {
	proven, doubted := evidence(err)
	return proven && !doubted
}

// evidence looks for errors that prove that nothing was executed, and for those of a
// connection that was made.
func evidence(err error) (proven, doubted bool) {
	//nolint:errorlint // the whole tree is walked here, and errors.As would stop at the first
	switch e := err.(type) {
	case *notExecutedError:
		return true, false
	case *url.Error:
		proven, _ = evidence(e.Err)
		return false, proven
	case *net.DNSError:
		return true, false
	case *net.OpError:
		dial := e.Op == "dial" || e.Op == "proxyconnect"
		return dial, !dial
	case interface{ Unwrap() error }:
		return evidence(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			p, d := evidence(branch)
			proven, doubted = proven || p, doubted || d
		}
	}
	return proven, doubted
}
