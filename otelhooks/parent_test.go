package otelhooks_test

import (
	"context"
	"testing"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/otelhooks"
)

func remote(ctx context.Context, sampled bool) (context.Context, trace.SpanContext) {
	c := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true}
	if sampled {
		c.TraceFlags = trace.FlagsSampled
	}
	parent := trace.NewSpanContext(c)
	return trace.ContextWithRemoteSpanContext(ctx, parent), parent
}

func TestARemoteParentIsTheParentOfTheCall(t *testing.T) {
	f := newFixture(t)
	ctx, parent := remote(t.Context(), true)
	if err := f.stack(attempts(1)).Do(ctx, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	attempt, call := f.spans.Ended()[0], f.spans.Ended()[1]
	if !call.Parent().Equal(parent) || !call.Parent().IsRemote() {
		t.Errorf("the call has the parent %+v, want %+v", call.Parent(), parent)
	}
	if !attempt.Parent().Equal(call.SpanContext()) || attempt.SpanContext().TraceID() != parent.TraceID() {
		t.Errorf("the attempt has the parent %+v, want the call %+v", attempt.Parent(), call.SpanContext())
	}
}

func TestBelowAnUnsampledParentNothingIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ctx, parent := remote(t.Context(), false)
		asked := &asked{}
		err := f.stack(attempts(2), breaker.New("db", breaker.ConsecutiveFailures(2))).Do(ctx, func(ctx context.Context) error {
			inside := trace.SpanContextFromContext(ctx)
			if inside.TraceID() != parent.TraceID() || inside.IsSampled() || inside.SpanID() == parent.SpanID() {
				t.Errorf("inside is %+v, want a new unsampled span of the trace", inside)
			}
			return asked
		})
		if err == nil {
			t.Fatal("no error")
		}
		if n := len(f.spans.Started()); n != 0 {
			t.Errorf("%d spans began, want none", n)
		}
		if asked.n != 0 {
			t.Errorf("the text of the error was asked for %d times, with nobody to read it", asked.n)
		}
		f.metricsSay(t, "stoic.attempt.duration", 2)
		f.metricsSay(t, "stoic.call.duration", 1)
	})
}

// asked counts how often its text is made.
type asked struct{ n int }

func (a *asked) Error() string { a.n++; return "asked" }

func (f *fixture) metricsSay(t *testing.T, name string, want uint64) {
	t.Helper()
	var got uint64
	for _, p := range durationPoints(f.metrics()[name]) {
		got += p.Count
	}
	if got != want {
		t.Errorf("%s has %d values, want %d", name, got, want)
	}
}

// A provider that samples nothing records nothing, and the number of attempts is known
// all the same.
func TestWithASamplerThatIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := tracetest.NewSpanRecorder()
		off := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()), sdktrace.WithSpanProcessor(recorder))
		f := newFixture(t, otelhooks.WithTracerProvider(off))
		if err := f.stack(attempts(3)).Do(t.Context(), takes(errBusy, errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		if n := len(recorder.Started()); n != 0 {
			t.Errorf("%d spans began, want none", n)
		}
		f.metricsSay(t, "stoic.attempt.duration", 3)
		wantSent(t, f, 3)
	})
}

// With spans off, what is inside has the caller's span as its parent, and it is not ours
// to end.
func TestWithoutSpansTheCallersSpanStaysCurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithTracerProvider(nooptrace.NewTracerProvider()))
		user := f.tracer.Tracer("user")
		ctx, handle := user.Start(t.Context(), "GET /pay")
		err := f.stack(attempts(3), breaker.New("db", breaker.ConsecutiveFailures(3))).Do(ctx, func(ctx context.Context) error {
			_, s := user.Start(ctx, "POST")
			defer s.End()
			return errBusy
		})
		if err == nil {
			t.Fatal("no error")
		}
		handle.End()
		f.wantTree(t, `
			GET /pay 0s..2s unset
			  POST 0s..0s unset
			  POST 1s..1s unset
			  POST 2s..2s unset`)
		wantSent(t, f, 3)
	})
}

// A layer that replaces the context takes the attempts out of the call, and breaks nothing.
func TestAContextThatIsReplaced(t *testing.T) {
	replace := stoic.PolicyFunc("replace", func(_ context.Context, next stoic.Next) error {
		return next.Do(context.Background())
	})
	t.Run("around the retry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			p := f.stack(replace, attempts(2), breaker.New("db", breaker.ConsecutiveFailures(1)))
			_ = p.Do(t.Context(), takes(errBusy))
			f.wantTree(t, `
				payments 0s..1.1s error "payments: retry stopped after 1 attempt: payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s); last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1
				attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"
				  ! stoic.breaker.state_change 100ms stoic.breaker.previous_state="closed" stoic.breaker.state="open" stoic.policy.name="db"
				attempt payments #2 1.1s..1.1s error "payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s)" error.type="circuit_open" stoic.rejection.reason="circuit_open"`)
		})
	})
	t.Run("inside the retry", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			p := f.stack(attempts(2), replace, breaker.New("db", breaker.ConsecutiveFailures(1)))
			_ = p.Do(t.Context(), takes(errBusy))
			f.wantTree(t, `
				payments 0s..1.1s error "payments: retry stopped after 1 attempt: payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s); last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.1s error "payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s)" error.type="circuit_open" stoic.attempt.retryable=false stoic.retry.delay=1.0`)
		})
	})
}
