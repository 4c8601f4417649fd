package otelhooks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

func TestHookKeepsTheContract(t *testing.T) {
	hookstest.TestHook(t, func() hooks.Hook { return newFixture(t, otelhooks.WithDetailedMetrics()) })
	t.Run("joined", func(t *testing.T) {
		hookstest.TestHook(t, func() hooks.Hook { return hooks.Join(newFixture(t), newFixture(t)) })
	})
}

func stateChange() hooks.Event {
	return hooks.Event{
		Kind: hooks.StateChange, Pipeline: "payments", Operation: "payments", Policy: stoic.KindBreaker, Name: "db",
		From: hooks.StateClosed, To: hooks.StateOpen,
	}
}

func TestOperationNamesTheSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.stack(attempts(2))
		if err := p.Do(stoic.WithOperation(t.Context(), "charge"), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		if err := p.Do(stoic.WithOperation(t.Context(), "refund"), takes(nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			charge 0s..1.2s unset stoic.call.attempts=2
			  attempt charge #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt charge #2 1.1s..1.2s unset stoic.retry.delay=1.0
			refund 1.2s..1.3s unset stoic.call.attempts=1
			  attempt refund #1 1.2s..1.3s unset`)
		for _, s := range f.spans.Ended() {
			if got := texts(s.Attributes()[:1]); got != `stoic.pipeline.name="payments"` {
				t.Errorf("span %s has %s first", s.Name(), got)
			}
		}
		f.agrees(t)
	})
}

// A layer may name the operation too, for what is inside it.
func TestOperationThatALayerNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		name := stoic.PolicyFunc("name", func(ctx context.Context, next stoic.Next) error {
			return next.Do(stoic.WithOperation(ctx, "charge"))
		})
		if err := f.stack(name, attempts(2)).Do(t.Context(), takes(nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..100ms unset stoic.call.attempts=1
			  attempt charge #1 0s..100ms unset`)
	})
}

// A hook may call the policies that report to it: nothing of ours is locked meanwhile.
func TestAHookThatCallsTheStackAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		b := breaker.New("db", breaker.ConsecutiveFailures(2))
		var p *stoic.Pipeline
		var states []breaker.State
		again := 0
		beside := hooks.OnEvent(func(ctx context.Context, e hooks.Event) {
			switch e.Kind { //nolint:exhaustive // only these
			case hooks.Retry:
				if again++; again == 1 {
					_ = p.Do(stoic.WithOperation(ctx, "again"), takes(nil))
				}
			case hooks.StateChange:
				states = append(states, b.State())
				f.metrics() // an exporter may collect at any moment
			}
		})
		p = stoic.MustNew("payments", stoic.Observe(hooks.Join(beside, f)), attempts(3), b)
		if err := p.Do(t.Context(), takes(errBusy, errBusy, errBusy)); err == nil {
			t.Fatal("no error")
		}
		if len(states) != 1 || states[0] != breaker.Open {
			t.Errorf("the hook saw the states %v, want open", states)
		}
		f.agrees(t)
		if got := len(f.spans.Ended()); got != 6 {
			t.Errorf("%d spans, want a call of 3 attempts and one of 1:\n%s", got, f.tree())
		}
	})
}

func TestAttemptSpanKind(t *testing.T) {
	for _, kind := range []trace.SpanKind{trace.SpanKindInternal, trace.SpanKindClient, trace.SpanKindProducer} {
		t.Run(kind.String(), func(t *testing.T) {
			f := newFixture(t, otelhooks.WithAttemptSpanKind(kind))
			p := f.stack(retry.New(retry.MaxAttempts(12), retry.Constant(0)))
			_ = p.Do(t.Context(), func(context.Context) error { return errBusy })
			for i, s := range f.spans.Started() {
				want := kind
				if i == 0 {
					want = trace.SpanKindInternal // the call stays what it is
				}
				if got := s.SpanKind(); got != want {
					t.Errorf("span %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

// A failed attempt's span ends when the attempt did, however long the judging took.
func TestASlowPredicateDoesNotLengthenTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		slow := retry.If(func(error) bool { time.Sleep(3 * time.Second); return false })
		_ = f.stack(attempts(2, slow)).Do(t.Context(), takes(errBusy))
		f.wantTree(t, `
			payments 0s..3.1s error "503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="not_retryable"
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=false`)
		f.agrees(t)
	})
}
