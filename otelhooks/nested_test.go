package otelhooks_test

import (
	"context"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// wantSent compares the attempts of all calls together.
func wantSent(t *testing.T, f *fixture, want int64) {
	t.Helper()
	h, _ := f.metrics()["stoic.call.attempts"].Data.(metricdata.Histogram[int64])
	var got int64
	for _, p := range h.DataPoints {
		got += p.Sum
	}
	if got != want {
		t.Errorf("stoic.call.attempts sums to %d, want %d", got, want)
	}
}

func at(ctx context.Context, n int) error {
	if stoic.Attempt(ctx) < n {
		return errBusy
	}
	return nil
}

// Of attempts within attempts only the innermost are sent.
func TestNestedRetries(t *testing.T) {
	t.Run("the inner one leaves resends to the outer one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			p := f.stack(attempts(2), attempts(2))
			sent := 0
			err := p.Do(t.Context(), func(ctx context.Context) error { sent++; return at(ctx, 9) })
			if err == nil || sent != 3 {
				t.Fatalf("%d attempts, %v", sent, err)
			}
			f.wantTree(t, `
				payments 0s..2s error "503 Service Unavailable" error.type="503" stoic.call.attempts=3 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..1s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    attempt payments #2 1s..1s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
				  attempt payments #2 2s..2s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
				    attempt payments #2 2s..2s error "503 Service Unavailable" error.type="503"`)
			f.agrees(t)
		})
	})
	t.Run("allowed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			p := f.stack(attempts(2), attempts(2, retry.AllowNested()))
			sent := 0
			err := p.Do(t.Context(), func(context.Context) error {
				if sent++; sent < 4 {
					return errBusy
				}
				return nil
			})
			if err != nil || sent != 4 {
				t.Fatalf("%d attempts, %v", sent, err)
			}
			f.wantTree(t, `
				payments 0s..3s unset stoic.call.attempts=4
				  attempt payments #1 0s..1s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    attempt payments #2 1s..1s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
				  attempt payments #2 2s..3s unset stoic.retry.delay=1.0
				    attempt payments #2 2s..2s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    attempt payments #3 3s..3s unset stoic.retry.delay=1.0`)
			f.agrees(t)
		})
	})
}

// A stack that is called inside the Func of another has calls of its own, and its
// attempts are not those of the other.
func TestStackInsideTheFuncOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		inner := stoic.MustNew("db", stoic.Observe(f), attempts(3))
		err := f.stack(attempts(2)).Do(t.Context(), func(ctx context.Context) error {
			return inner.Do(stoic.WithOperation(ctx, "query"), takes(errBusy, nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=1
			  attempt payments #1 0s..1.2s unset
			    query 0s..1.2s unset stoic.call.attempts=2
			      attempt query #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			      attempt query #2 1.1s..1.2s unset stoic.retry.delay=1.0`)
		f.agrees(t)
	})
}

// Two hooks in one stack know nothing of each other: each has the operations inside its
// own layer. Their providers differ here, and the span around is that of the other hook.
func TestTwoHooksInOneStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := newFixture(t), newFixture(t)
		p := outer.stack(attempts(2), stoic.Observe(inner), attempts(2))
		if err := p.Do(t.Context(), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		outer.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=2
			  attempt payments #1 0s..1.2s unset
			attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`)
		inner.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=2
			attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`)
		outer.agrees(t)
		inner.agrees(t)
	})
}

// Two hooks on one provider: the spans of the second are inside those of the first.
func TestTwoHooksOfOneProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		second, err := otelhooks.New(otelhooks.WithTracerProvider(f.tracer), otelhooks.WithMeterProvider(f.meter))
		if err != nil {
			t.Fatal(err)
		}
		p := f.stack(stoic.Observe(second), attempts(2))
		if err := p.Do(t.Context(), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=2
			  payments 0s..1.2s unset stoic.call.attempts=2
			    attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			      attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			    attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0
			      attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`)
	})
}

// A pipeline inside another is flattened, so that one hook may be in two layers. It is
// told of everything once.
func TestOneHookInTwoLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		inner := stoic.MustNew("db", stoic.Observe(f), attempts(2))
		if err := f.stack(inner).Do(t.Context(), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		spans := f.spans.Ended()
		if len(spans) != 3 {
			t.Fatalf("%d spans, want a call and two attempts", len(spans))
		}
		set := attribute.NewSet(spans[2].Attributes()...)
		if n, ok := set.Value("stoic.call.attempts"); !ok || n.AsInt64() != 2 {
			t.Errorf("the call has %d attempts, want 2", n.AsInt64())
		}
		f.agrees(t)
	})
}
