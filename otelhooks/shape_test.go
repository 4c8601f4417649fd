package otelhooks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// span is all that is said about one, without the help of [fixture.tree].
type span struct {
	name       string
	kind       trace.SpanKind
	begin, end time.Duration
	status     sdktrace.Status
	attributes attribute.Set
}

func TestShapeOfACallWithThreeAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		if err := f.stack(attempts(3)).Do(t.Context(), takes(errBoom, errBusy, nil)); err != nil {
			t.Fatal(err)
		}

		names := []attribute.KeyValue{
			attribute.String("stoic.pipeline.name", "payments"), attribute.String("stoic.operation.name", "payments"),
		}
		attempt := func(number int, more ...attribute.KeyValue) attribute.Set {
			all := append([]attribute.KeyValue{}, names...)
			all = append(all, attribute.String("stoic.policy.name", "retry"), attribute.Int("stoic.attempt.number", number))
			return attribute.NewSet(append(all, more...)...)
		}
		ms := time.Millisecond
		want := []span{ // in the order in which they end
			{
				"attempt payments", trace.SpanKindInternal, 0, 100 * ms,
				sdktrace.Status{Code: codes.Error, Description: "boom"},
				attempt(1, attribute.String("error.type", "*errors.errorString"), attribute.Bool("stoic.attempt.retryable", true)),
			},
			{
				"attempt payments", trace.SpanKindInternal, 1100 * ms, 1200 * ms,
				sdktrace.Status{Code: codes.Error, Description: "503 Service Unavailable"},
				attempt(2, attribute.String("error.type", "503"), attribute.Bool("stoic.attempt.retryable", true),
					attribute.Float64("stoic.retry.delay", 1)),
			},
			{
				"attempt payments", trace.SpanKindInternal, 2200 * ms, 2300 * ms,
				sdktrace.Status{},
				attempt(3, attribute.Float64("stoic.retry.delay", 1)),
			},
			{
				"payments", trace.SpanKindInternal, 0, 2300 * ms,
				sdktrace.Status{},
				attribute.NewSet(append(names, attribute.Int("stoic.call.attempts", 3))...),
			},
		}

		ended := f.spans.Ended()
		if len(ended) != len(want) {
			t.Fatalf("%d spans, want %d", len(ended), len(want))
		}
		call := ended[3].SpanContext()
		for i, s := range ended {
			got := span{
				s.Name(), s.SpanKind(), s.StartTime().Sub(f.began), s.EndTime().Sub(f.began),
				s.Status(), attribute.NewSet(s.Attributes()...),
			}
			if got != want[i] {
				t.Errorf("span %d\n got %+v\nwant %+v", i, got, want[i])
			}
			parent := call
			if i == 3 {
				parent = trace.SpanContext{}
			}
			if !s.Parent().Equal(parent) {
				t.Errorf("span %d has the parent %+v, want %+v", i, s.Parent(), parent)
			}
			if s.SpanContext().TraceID() != call.TraceID() {
				t.Errorf("span %d is in another trace", i)
			}
			if len(s.Links()) != 0 || len(s.Events()) != 0 {
				t.Errorf("span %d has the links %v and the events %v", i, s.Links(), s.Events())
			}
			scope := s.InstrumentationScope()
			if scope.Name != "github.com/stoic-go/stoic/otelhooks" || scope.Version != otelhooks.Version || scope.SchemaURL != semconv.SchemaURL {
				t.Errorf("span %d is of %+v", i, scope)
			}
		}
	})
}

func TestWhatTheFuncDoesIsBelowItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		user := f.tracer.Tracer("user")
		ctx, handle := user.Start(t.Context(), "GET /pay")
		err := f.stack(attempts(3)).Do(ctx, func(ctx context.Context) error {
			_, s := user.Start(ctx, "POST")
			defer s.End()
			trace.SpanFromContext(ctx).SetAttributes(attribute.Int("charged", 7))
			return takes(errBusy, nil)(ctx)
		})
		handle.End()
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			GET /pay 0s..1.2s unset
			  payments 0s..1.2s unset stoic.call.attempts=2
			    attempt payments #1 0s..100ms error "503 Service Unavailable" charged=7 error.type="503" stoic.attempt.retryable=true
			      POST 0s..100ms unset
			    attempt payments #2 1.1s..1.2s unset charged=7 stoic.retry.delay=1.0
			      POST 1.1s..1.2s unset`)
	})
}

func TestWithoutARetryWhatTheFuncDoesIsBelowTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		err := f.stack().Do(t.Context(), func(ctx context.Context) error {
			_, s := f.tracer.Tracer("user").Start(ctx, "POST")
			defer s.End()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..0s unset stoic.call.attempts=1
			  POST 0s..0s unset`)
	})
}

// What the sampler of the program may decide by is there at the start.
func TestAttributesThatASamplerSees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler(func(p sdktrace.SamplingParameters) {
			seen = append(seen, p.Name+" "+p.Kind.String()+" "+texts(p.Attributes))
		})))
		f := newFixture(t, otelhooks.WithTracerProvider(tracer), otelhooks.WithAttemptSpanKind(trace.SpanKindClient))
		ctx := stoic.WithOperation(t.Context(), "charge")
		if err := f.stack(retry.New(retry.MaxAttempts(12), retry.Constant(0))).Do(ctx, takes(errBusy)); err == nil {
			t.Fatal("no error")
		}
		if len(seen) != 13 {
			t.Fatalf("%d spans, want 13", len(seen))
		}
		for i, want := range map[int]string{
			0:  `charge internal stoic.operation.name="charge" stoic.pipeline.name="payments"`,
			1:  `attempt charge client stoic.attempt.number=1 stoic.operation.name="charge" stoic.pipeline.name="payments" stoic.policy.name="retry"`,
			10: `attempt charge client stoic.attempt.number=10 stoic.operation.name="charge" stoic.pipeline.name="payments" stoic.policy.name="retry"`,
			11: `attempt charge client stoic.attempt.number=11 stoic.operation.name="charge" stoic.pipeline.name="payments" stoic.policy.name="retry"`,
			12: `attempt charge client stoic.attempt.number=12 stoic.operation.name="charge" stoic.pipeline.name="payments" stoic.policy.name="retry"`,
		} {
			if seen[i] != want {
				t.Errorf("span %d\n got %s\nwant %s", i, seen[i], want)
			}
		}
	})
}

// sampler samples everything that it is shown.
type sampler func(sdktrace.SamplingParameters)

func (s sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s(p)
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (s sampler) Description() string { return "shows" }

// C53 is about a client span of the user, which takes the number from here.
func TestC53_TheFuncKnowsWhichResendItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		request := func(ctx context.Context) error {
			_, s := f.tracer.Tracer("http").Start(ctx, "POST", trace.WithSpanKind(trace.SpanKindClient))
			defer s.End()
			if n := stoic.Attempt(ctx); n > 1 {
				s.SetAttributes(semconv.HTTPRequestResendCount(n - 1))
			}
			return takes(errBusy, errBusy, nil)(ctx)
		}
		if err := f.stack(attempts(3)).Do(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		err := f.stack(attempts(3)).Do(t.Context(), func(ctx context.Context) error {
			_, s := f.tracer.Tracer("http").Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindClient))
			defer s.End()
			if n := stoic.Attempt(ctx); n > 1 {
				s.SetAttributes(semconv.HTTPRequestResendCount(n - 1))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..2.3s unset stoic.call.attempts=3
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			    POST 0s..100ms unset
			  attempt payments #2 1.1s..1.2s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
			    POST 1.1s..1.2s unset http.request.resend_count=1
			  attempt payments #3 2.2s..2.3s unset stoic.retry.delay=1.0
			    POST 2.2s..2.3s unset http.request.resend_count=2
			payments 2.3s..2.3s unset stoic.call.attempts=1
			  attempt payments #1 2.3s..2.3s unset
			    GET 2.3s..2.3s unset`)
	})
}

func TestC54_ARecoveredCallIsNotAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.stack(attempts(3))
		for _, fn := range []stoic.Func{takes(errBoom, nil), takes(errBoom), takes(nil)} {
			_ = p.Do(t.Context(), fn)
		}
		f.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=2
			  attempt payments #1 0s..100ms error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true
			  attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0
			payments 1.2s..3.5s error "boom" error.type="*errors.errorString" stoic.call.attempts=3 stoic.retry.stop_reason="max_attempts"
			  attempt payments #1 1.2s..1.3s error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true
			  attempt payments #2 2.3s..2.4s error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true stoic.retry.delay=1.0
			  attempt payments #3 3.4s..3.5s error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true stoic.retry.delay=1.0
			payments 3.5s..3.6s unset stoic.call.attempts=1
			  attempt payments #1 3.5s..3.6s unset`)
	})
}

// The exporter gets the span of a failed attempt when it was judged, not at the end of the
// call: a program that dies in a long wait has told what it waited for.
func TestSpanOfAFailedAttemptIsExportedBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = f.stack(attempts(2)).Do(t.Context(), takes(errBusy, nil))
		}()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if ended := f.spans.Ended(); len(ended) != 1 || ended[0].EndTime().Sub(f.began) != 100*time.Millisecond {
			t.Errorf("%d spans have ended in the wait, want the attempt's", len(ended))
		}
		<-done
	})
}
