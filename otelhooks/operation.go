package otelhooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// operation is a call or an attempt between its Start and its End, and the context of
// what is inside it: one allocation for both.
type operation struct {
	context.Context //nolint:containedctx // it is a context

	hook   *Hook
	parent *operation // the call or attempt around an attempt; nil for a call
	series *series
	span   trace.Span // nil where spans are off
	start  time.Time  // of a recording span

	mu      sync.Mutex // attempts of one call may overlap
	ended   bool
	nested  bool         // an attempt began inside it
	sent    int          // attempts inside it that were sent
	stopped string       // why the last retry inside it gave up
	waits   []wait       // before attempts that have not begun
	held    []*operation // failed attempts inside it, of which it is not known yet whether they are worth a retry
	number  int          // of an attempt
	failure error        // of a held one
	end     time.Time    // of a held one
}

// wait is what a retry announced: after one attempt, before that with the number next,
// which is the same again if the one was rejected.
type wait struct {
	after, next int
	delay       time.Duration
}

// operationKey finds the innermost operation of one hook in a context.
type operationKey struct{ hook *Hook }

func (o *operation) Value(key any) any {
	if k, ok := key.(operationKey); ok && k.hook == o.hook {
		return o
	}
	return o.Context.Value(key)
}

// operationOf returns the innermost call or attempt that h knows of in ctx, or nil.
func (h *Hook) operationOf(ctx context.Context) *operation {
	if o, ok := ctx.(*operation); ok && o.hook == h {
		return o
	}
	o, _ := ctx.Value(operationKey{h}).(*operation)
	return o
}

// begin enters an attempt into the operation around it, and returns the wait that came
// before it, if there was one.
func (o *operation) begin(number int) (delay time.Duration, waited bool) {
	if o == nil {
		return 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nested = true
	w, waited := o.take(func(w wait) bool { return w.next == number })
	return w.delay, waited
}

// announce notes a wait. Retries that run at once may each have one.
func (o *operation) announce(w wait) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = append(o.waits, w)
}

// take removes the first wait that is meant. mu is held.
func (o *operation) take(meant func(wait) bool) (w wait, ok bool) {
	i := slices.IndexFunc(o.waits, meant)
	if i < 0 {
		return wait{}, false
	}
	w = o.waits[i]
	o.waits = slices.Delete(o.waits, i, i+1)
	return w, true
}

// gaveUp notes why a retry gave up: after it judged an attempt, or in the wait after that.
func (o *operation) gaveUp(number int, reason string, judged bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = reason
	if !judged {
		o.take(func(w wait) bool { return w.after == number })
	}
}

// settle ends an operation and returns how many attempts it sent, and why the last retry
// inside it gave up. Of attempts within attempts only the innermost went anywhere.
func (o *operation) settle(rejected bool) (sent int, stopped string) {
	o.mu.Lock()
	o.ended = true
	if !o.nested && !rejected {
		o.sent = 1
	}
	sent, stopped = o.sent, o.stopped
	o.mu.Unlock()
	if o.parent != nil {
		o.parent.mu.Lock()
		o.parent.sent += sent
		o.parent.mu.Unlock()
	}
	return sent, stopped
}

// hold keeps the span of a failed attempt open until the retry around it, which comes to
// speak next, has judged the failure. It reports false if there is nobody to wait for.
func (o *operation) hold(attempt *operation, failure error) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	attempt.failure = failure
	attempt.end = attempt.start.Add(time.Since(attempt.start))
	o.held = append(o.held, attempt)
	return true
}

// judged ends the span of the failed attempt that a retry speaks of, if it is held. worth
// says whether the failure was worth a retry, where that is known.
func (o *operation) judged(e hooks.Event, worth, known bool) bool {
	attempt := o.unhold(e)
	if attempt == nil {
		return false
	}
	if known {
		attempt.span.SetAttributes(keyRetryable.Bool(worth))
	}
	attempt.span.End(trace.WithTimestamp(attempt.end))
	return true
}

// unhold removes the attempt that a retry speaks of. Of several with its number, which
// loops that run at once have, it is one that failed with the same error, if there is one.
func (o *operation) unhold(e hooks.Event) *operation {
	o.mu.Lock()
	defer o.mu.Unlock()
	number, err := e.Attempt, e.Err
	i := slices.IndexFunc(o.held, func(a *operation) bool { return a.number == number && isAbout(err, a.failure) })
	if i < 0 {
		i = slices.IndexFunc(o.held, func(a *operation) bool { return a.number == number })
	}
	if i < 0 {
		return nil
	}
	attempt := o.held[i]
	o.held = slices.Delete(o.held, i, i+1)
	return attempt
}

// isAbout reports whether err, that of a retry's event, is the failure or tells of it. It
// calls none of their methods.
func isAbout(err, failure error) bool {
	if same(err, failure) {
		return true
	}
	stopped, ok := err.(*retry.StoppedError) //nolint:errorlint // one further in is of another retry
	return ok && (same(stopped.Err, failure) || same(stopped.Reason, failure))
}

// same takes two errors of one type that cannot be compared for the same.
func same(a, b error) (same bool) {
	defer func() {
		if recover() != nil {
			same = true
		}
	}()
	return a == b //nolint:errorlint // it is about the value, not what it wraps
}

// release ends the spans that nobody judged.
func (o *operation) release() {
	o.mu.Lock()
	held := o.held
	o.held = nil
	o.mu.Unlock()
	for _, a := range held {
		a.span.End(trace.WithTimestamp(a.end))
	}
}

// retryable tells from the reason for which a retry gave up whether the last failure was
// worth a retry; known is false where that was not asked, or was told before the wait.
func retryable(reason string) (worth, known bool) {
	switch reason {
	case hooks.StopMaxAttempts, hooks.StopBudget:
		return true, true
	case hooks.StopNotRetryable, hooks.StopNonIdempotent, hooks.StopRejected:
		return false, true
	default:
		return false, false
	}
}
