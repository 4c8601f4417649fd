package hooks

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stoic-go/stoic/internal/redact"
)

// Slog returns a [Hook] that writes one line to l for each event and for the end
// of each call and attempt, with the context of the call:
//
//	ERROR  a call panicked
//	WARN   a retry gave up a call that it had repeated, or would have; a breaker
//	       opened; a call ended by runtime.Goexit
//	INFO   a breaker changed to another state
//	DEBUG  everything else: each retry, rejection, deadline and end. Also a retry
//	       that gave up because the caller canceled, or at once because the first
//	       attempt was rejected or not retryable: the caller has the error, and an
//	       open breaker would write a line for each call that it refuses.
//
// So at the level INFO a call that fails for good after retries is one line, and
// an outage is one line for each change of the breaker. The level is set in the
// handler. A line below it costs nothing.
//
// Messages begin with "stoic: ". Keys are pipeline and operation on each line,
// and where they apply policy, name, attempt, delay, waited, limit, reason, from, to,
// outcome, duration, error and panic.
//
// The texts of errors and of panics are printed without the user information,
// the query and the fragment of the URLs in them, because those may be secret. Of a panic
// with another value than an error or a string only the type is printed.
//
// A nil l is [slog.Default], looked up for each line, so that a stack in a
// package-level variable follows a later [slog.SetDefault].
func Slog(l *slog.Logger) Hook {
	return &slogHook{logger: l}
}

type slogHook struct {
	Nop
	logger *slog.Logger
}

func (h *slogHook) End(ctx context.Context, op Op, res Result) {
	l, level := h.log(), endLevel(op, res)
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 7)
	attrs = append(attrs, slog.String("pipeline", op.Pipeline), slog.String("operation", op.Operation))
	if op.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", op.Attempt))
	}
	attrs = append(attrs, slog.String("outcome", res.Outcome.String()), slog.Duration("duration", res.Duration))
	if res.Err != nil {
		attrs = append(attrs, slog.String("error", redact.Error(res.Err)))
	}
	if res.Panic != nil {
		attrs = append(attrs, slog.String("panic", panicText(res.Panic)))
	}
	l.LogAttrs(ctx, level, endMessage(op.Kind), attrs...)
}

func (h *slogHook) Event(ctx context.Context, e Event) {
	l, level := h.log(), eventLevel(e)
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs,
		slog.String("pipeline", e.Pipeline), slog.String("operation", e.Operation), slog.String("policy", e.Policy))
	if e.Name != "" {
		attrs = append(attrs, slog.String("name", e.Name))
	}
	if e.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", e.Attempt))
	}
	switch e.Kind { //nolint:exhaustive // the others have no delay
	case Retry:
		attrs = append(attrs, slog.Duration("delay", e.Delay))
	case Waited:
		attrs = append(attrs, slog.Duration("waited", e.Delay))
	case Reject:
		if e.Delay > 0 {
			attrs = append(attrs, slog.Duration("waited", e.Delay))
		}
	case DeadlineExceeded:
		attrs = append(attrs, slog.Duration("limit", e.Delay))
	}
	if e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	if e.From != "" || e.To != "" {
		attrs = append(attrs, slog.String("from", e.From), slog.String("to", e.To))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.String("error", redact.Error(e.Err)))
	}
	l.LogAttrs(ctx, level, eventMessage(e.Kind), attrs...)
}

// panicText is the text of a panic. Of a value that is neither an error nor a string it
// is the type: the value was not made to be read, and may hold secrets.
func panicText(v any) string {
	switch v := v.(type) {
	case error:
		return redact.Error(v)
	case string:
		return redact.Text(v)
	default:
		return fmt.Sprintf("value of type %T", v)
	}
}

func (h *slogHook) log() *slog.Logger {
	if h.logger == nil {
		return slog.Default()
	}
	return h.logger
}

func endLevel(op Op, res Result) slog.Level {
	switch {
	case op.Kind != KindCall:
		return slog.LevelDebug // the call around it says the same once more
	case res.Outcome == Panicked:
		return slog.LevelError
	case res.Outcome == Exited:
		return slog.LevelWarn // nobody gets an error
	default:
		return slog.LevelDebug
	}
}

func eventLevel(e Event) slog.Level {
	switch {
	case e.Kind == GaveUp && !ordinary(e):
		return slog.LevelWarn
	case e.Kind == StateChange && e.To == StateOpen:
		return slog.LevelWarn
	case e.Kind == StateChange:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// ordinary tells a GaveUp that is no news: the caller canceled, or there was
// nothing to repeat.
func ordinary(e Event) bool {
	switch e.Reason {
	case StopCanceled:
		return true
	case StopRejected, StopNotRetryable:
		return e.Attempt <= 1
	default:
		return false
	}
}

func endMessage(k OpKind) string {
	switch k {
	case KindCall:
		return "stoic: call ended"
	case KindAttempt:
		return "stoic: attempt ended"
	default:
		return "stoic: ended"
	}
}

func eventMessage(k EventKind) string {
	switch k {
	case Retry:
		return "stoic: retry"
	case GaveUp:
		return "stoic: gave up"
	case Reject:
		return "stoic: rejected"
	case StateChange:
		return "stoic: breaker state changed"
	case DeadlineExceeded:
		return "stoic: deadline exceeded"
	case NestedRetry:
		return "stoic: nested retry"
	case Waited:
		return "stoic: waited"
	default:
		return "stoic: event"
	}
}
