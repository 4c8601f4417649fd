package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

// logger returns a logger whose lines have no time, and where they go.
func logger(level slog.Level) (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})), &b
}

// event returns an event of the stack that the golden lines are about.
func event(kind hooks.EventKind, change func(*hooks.Event)) hooks.Event {
	e := hooks.Event{Kind: kind, Pipeline: "payments", Operation: "refund", Policy: "retry"}
	if change != nil {
		change(&e)
	}
	return e
}

func gaveUp(reason string, attempt int) hooks.Event {
	return event(hooks.GaveUp, func(e *hooks.Event) { e.Reason, e.Attempt, e.Err = reason, attempt, errors.New("boom") })
}

func changed(from, to string) hooks.Event {
	return event(hooks.StateChange, func(e *hooks.Event) { e.Policy, e.Name, e.From, e.To = "breaker", "api", from, to })
}

func TestSlogEvent(t *testing.T) {
	const where = "pipeline=payments operation=refund "
	tests := []struct {
		name string
		e    hooks.Event
		want string
	}{
		{
			"retry",
			event(hooks.Retry, func(e *hooks.Event) { e.Attempt, e.Delay, e.Err = 1, 100*time.Millisecond, errors.New("boom") }),
			`level=DEBUG msg="stoic: retry" ` + where + "policy=retry attempt=1 delay=100ms error=boom",
		},
		{
			"retry at once",
			event(hooks.Retry, func(e *hooks.Event) { e.Attempt = 1 }),
			`level=DEBUG msg="stoic: retry" ` + where + "policy=retry attempt=1 delay=0s",
		},
		{
			"rejected",
			event(hooks.Reject, func(e *hooks.Event) {
				e.Policy, e.Name, e.Attempt, e.Reason = "breaker", "api", 2, "circuit_open"
				e.Err = errors.New("payments: breaker api is open")
			}),
			`level=DEBUG msg="stoic: rejected" ` + where +
				`policy=breaker name=api attempt=2 reason=circuit_open error="payments: breaker api is open"`,
		},
		{
			"deadline",
			event(hooks.DeadlineExceeded, func(e *hooks.Event) {
				e.Policy, e.Attempt, e.Delay, e.Err = "deadline", 1, 2*time.Second, context.DeadlineExceeded
			}),
			`level=DEBUG msg="stoic: deadline exceeded" ` + where +
				`policy=deadline attempt=1 limit=2s error="context deadline exceeded"`,
		},
		{
			"nested retry",
			event(hooks.NestedRetry, func(e *hooks.Event) { e.Attempt, e.Err = 2, errors.New("boom") }),
			`level=DEBUG msg="stoic: nested retry" ` + where + "policy=retry attempt=2 error=boom",
		},
		{
			"breaker opens",
			changed("closed", "open"),
			`level=WARN msg="stoic: breaker state changed" ` + where + "policy=breaker name=api from=closed to=open",
		},
		{
			"breaker opens again",
			changed("half-open", "open"),
			`level=WARN msg="stoic: breaker state changed" ` + where + "policy=breaker name=api from=half-open to=open",
		},
		{
			"breaker tries",
			changed("open", "half-open"),
			`level=INFO msg="stoic: breaker state changed" ` + where + "policy=breaker name=api from=open to=half-open",
		},
		{
			"breaker closes",
			changed("half-open", "closed"),
			`level=INFO msg="stoic: breaker state changed" ` + where + "policy=breaker name=api from=half-open to=closed",
		},
		{
			"gave up",
			gaveUp(hooks.StopMaxAttempts, 3),
			`level=WARN msg="stoic: gave up" ` + where + "policy=retry attempt=3 reason=max_attempts error=boom",
		},
		{
			"unknown",
			event(200, nil),
			`level=DEBUG msg="stoic: event" ` + where + "policy=retry",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, b := logger(slog.LevelDebug)
			hooks.Slog(l).Event(t.Context(), tt.e)
			if got, want := b.String(), tt.want+"\n"; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestSlogGaveUpLevel(t *testing.T) {
	tests := []struct {
		reason  string
		attempt int
		want    string
	}{
		{hooks.StopMaxAttempts, 1, "WARN"},
		{hooks.StopMaxAttempts, 3, "WARN"},
		{hooks.StopNonIdempotent, 1, "WARN"},
		{hooks.StopBudget, 1, "WARN"},
		{hooks.StopDeadline, 1, "WARN"},
		{hooks.StopSleep, 1, "WARN"},
		{hooks.StopNotRetryable, 1, "DEBUG"}, // nothing was repeated
		{hooks.StopNotRetryable, 2, "WARN"},
		{hooks.StopRejected, 1, "DEBUG"}, // an open breaker: one for each call
		{hooks.StopRejected, 2, "WARN"},
		{hooks.StopCanceled, 1, "DEBUG"},
		{hooks.StopCanceled, 2, "DEBUG"}, // the caller did it
		{"some later reason", 1, "WARN"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s#%d", tt.reason, tt.attempt), func(t *testing.T) {
			l, b := logger(slog.LevelDebug)
			hooks.Slog(l).Event(t.Context(), gaveUp(tt.reason, tt.attempt))
			if got, want := b.String(), "level="+tt.want+" "; !strings.HasPrefix(got, want) {
				t.Errorf("got %q, want %q in front", got, want)
			}
		})
	}
}

func TestSlogEnd(t *testing.T) {
	const where = "pipeline=payments operation=refund "
	failed := hooks.Result{Outcome: hooks.Failed, Err: errors.New("boom"), Duration: time.Second}
	tests := []struct {
		name string
		op   hooks.Op
		res  hooks.Result
		want string
	}{
		{
			"success", call,
			hooks.Result{Outcome: hooks.Succeeded, Duration: 1500 * time.Microsecond},
			`level=DEBUG msg="stoic: call ended" ` + where + "attempt=1 outcome=succeeded duration=1.5ms",
		},
		{
			"failure", call, failed,
			`level=DEBUG msg="stoic: call ended" ` + where + "attempt=1 outcome=failed duration=1s error=boom",
		},
		{
			"panic", call,
			hooks.Result{Outcome: hooks.Panicked, Panic: "boom"},
			`level=ERROR msg="stoic: call ended" ` + where + "attempt=1 outcome=panicked duration=0s panic=boom",
		},
		{
			"exit", call,
			hooks.Result{Outcome: hooks.Exited},
			`level=WARN msg="stoic: call ended" ` + where + "attempt=1 outcome=exited duration=0s",
		},
		{
			"attempt", attempt, failed,
			`level=DEBUG msg="stoic: attempt ended" ` + where + "attempt=2 outcome=failed duration=1s error=boom",
		},
		{
			// The call around it says so at ERROR.
			"panic of an attempt", attempt,
			hooks.Result{Outcome: hooks.Panicked, Panic: 7},
			`level=DEBUG msg="stoic: attempt ended" ` + where + `attempt=2 outcome=panicked duration=0s panic="value of type int"`,
		},
		{
			"unknown",
			hooks.Op{Kind: 200, Pipeline: "payments", Operation: "refund"},
			hooks.Result{},
			`level=DEBUG msg="stoic: ended" ` + where + "outcome=unknown duration=0s",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, b := logger(slog.LevelDebug)
			h := hooks.Slog(l)
			h.End(h.Start(t.Context(), tt.op), tt.op, tt.res)
			if got, want := b.String(), tt.want+"\n"; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// A call that fails for good after retries is one line at INFO.
func TestSlogOneLineForACallThatFails(t *testing.T) {
	l, b := logger(slog.LevelInfo)
	h := hooks.Slog(l)
	failed := hooks.Result{Outcome: hooks.Failed, Err: errors.New("boom")}
	ctx := h.Start(t.Context(), call)
	for range 2 {
		h.End(h.Start(ctx, attempt), attempt, failed)
		h.Event(ctx, event(hooks.Retry, nil))
	}
	h.End(h.Start(ctx, attempt), attempt, failed)
	h.Event(ctx, gaveUp(hooks.StopMaxAttempts, 3))
	h.End(ctx, call, failed)
	if got := strings.Count(b.String(), "\n"); got != 1 {
		t.Errorf("got %d lines, want 1:\n%s", got, b)
	}
}

// spoken prints itself, and is no error.
type spoken struct{ token string }

func (s *spoken) String() string { return s.token }

// An open breaker inside a retry does not write a line for each call at INFO.
func TestSlogNoLineForACallThatIsRejected(t *testing.T) {
	l, b := logger(slog.LevelInfo)
	h := hooks.Slog(l)
	ctx := h.Start(t.Context(), call)
	h.Event(ctx, event(hooks.Reject, func(e *hooks.Event) { e.Reason = "circuit_open" }))
	h.Event(ctx, gaveUp(hooks.StopRejected, 1))
	h.End(ctx, call, hooks.Result{Outcome: hooks.Rejected, Err: errors.New("open")})
	if got := b.String(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestSlogPrintsNoSecrets(t *testing.T) {
	secret := &url.Error{
		Op: "Get", URL: "https://user:s3cr3t@host/path?token=hunter2#hunter2", Err: errors.New("503"),
	}
	wrapped := fmt.Errorf("refund: %w", secret)
	l, b := logger(slog.LevelDebug)
	h := hooks.Slog(l)
	ctx := h.Start(t.Context(), call)
	lines := 0
	for kind := range hooks.Waited + 1 {
		for _, err := range []error{secret, wrapped} {
			h.Event(ctx, event(kind, func(e *hooks.Event) { e.Err = err }))
			lines++
		}
	}
	for _, op := range []hooks.Op{call, attempt} {
		for _, v := range []any{
			secret, wrapped, secret.URL,
			// Their texts were not made to be read: only the type is printed.
			[]error{secret},
			struct{ token string }{"hunter2"},
			&spoken{"hunter2"}, []byte("hunter2"),
			map[string]string{"token": "hunter2"},
		} {
			h.End(ctx, op, hooks.Result{Outcome: hooks.Panicked, Err: secret, Panic: v})
			lines++
		}
	}
	for _, secret := range []string{"s3cr3t", "hunter2"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the log contains %q:\n%s", secret, b)
		}
	}
	if got := strings.Count(b.String(), "https://host/path"); got < lines {
		t.Errorf("the URL itself is in %d places, want one in each of %d lines:\n%s", got, lines, b)
	}
}

// contextHandler adds the value that a real one takes a trace ID from.
type contextHandler struct{ slog.Handler }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	if v, ok := ctx.Value(nameKey{}).(string); ok {
		r.AddAttrs(slog.String("trace", v))
	}
	return h.Handler.Handle(ctx, r)
}

func TestSlogPassesTheContext(t *testing.T) {
	l, b := logger(slog.LevelDebug)
	h := hooks.Slog(slog.New(contextHandler{l.Handler()}))
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), nameKey{}, "t1"))
	cancel() // which must not stop the lines
	ctx = h.Start(ctx, call)
	h.Event(ctx, event(hooks.Retry, nil))
	h.End(ctx, call, hooks.Result{Outcome: hooks.Canceled})
	if got := strings.Count(b.String(), "trace=t1\n"); got != 2 {
		t.Errorf("got %d lines with the value of the context, want 2:\n%s", got, b)
	}
}

// It looks the default up for each line: main sets it after package-level
// variables are made.
func TestSlogNilIsTheDefault(t *testing.T) {
	h := hooks.Slog(nil)
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	for range 2 {
		l, b := logger(slog.LevelDebug)
		slog.SetDefault(l)
		h.Event(t.Context(), event(hooks.Retry, nil))
		h.End(t.Context(), call, hooks.Result{Outcome: hooks.Succeeded})
		if got := strings.Count(b.String(), "\n"); got != 2 {
			t.Errorf("got %d lines in the default logger, want 2:\n%s", got, b)
		}
	}
}

// untold is an error that must not be asked for its text.
type untold struct{ t *testing.T }

func (e *untold) Error() string {
	e.t.Error("the text of the error was made for a line that is not written")
	return ""
}

func TestSlogBelowTheLevelCostsNothing(t *testing.T) {
	l, b := logger(slog.LevelError + 1)
	h := hooks.Slog(l)
	ctx := t.Context()
	res := hooks.Result{Outcome: hooks.Panicked, Err: &untold{t}, Panic: &untold{t}}
	events := []hooks.Event{
		event(hooks.Retry, func(e *hooks.Event) { e.Err = &untold{t} }),
		event(hooks.GaveUp, func(e *hooks.Event) { e.Err = &untold{t} }),
		changed("closed", "open"),
		changed("open", "half-open"),
	}
	got := testing.AllocsPerRun(100, func() {
		inner := h.Start(ctx, call)
		for _, e := range events {
			h.Event(inner, e)
		}
		h.End(inner, call, res)
	})
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if b.Len() > 0 {
		t.Errorf("wrote %q", b)
	}
}

func TestSlogConformance(t *testing.T) {
	hookstest.TestHook(t, func() hooks.Hook {
		return hooks.Slog(slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})))
	})
}

func BenchmarkSlog(b *testing.B) {
	retry := event(hooks.Retry, func(e *hooks.Event) { e.Attempt, e.Delay, e.Err = 1, time.Second, errors.New("boom") })
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		b.Run("retry/level="+level.String(), func(b *testing.B) {
			h := hooks.Slog(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level})))
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				h.Event(ctx, retry)
			}
		})
	}
}
