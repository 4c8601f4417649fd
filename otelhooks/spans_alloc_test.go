//go:build !race

package otelhooks_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
)

// Below an unsampled parent a call costs what its two spans cost anybody, and the two
// contexts of the hook: nothing is computed for an attribute.
func TestAllocsOfAnUnsampledCall(t *testing.T) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	tracer := provider.Tracer("by hand")
	names := []trace.SpanStartOption{ // for the sampler
		trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(attribute.String("stoic.pipeline.name", "payments"), attribute.String("stoic.operation.name", "payments")),
	}
	ctx := t.Context()
	byHand := testing.AllocsPerRun(100, func() {
		ctx, call := tracer.Start(ctx, "call", names...)
		_, attempt := tracer.Start(ctx, "attempt", names...)
		attempt.End()
		call.End()
	})

	for name, fn := range map[string]stoic.Func{
		"success": func(context.Context) error { return nil },
		"failure": func(context.Context) error { return errBusy },
	} {
		f := newFixture(t, otelhooks.WithTracerProvider(provider))
		p := f.stack(attempts(1))
		got := testing.AllocsPerRun(100, func() { _ = p.Do(ctx, fn) })

		without := stoic.MustNew("payments", stoic.Observe(hooks.Nop{}), attempts(1))
		base := testing.AllocsPerRun(100, func() { _ = without.Do(ctx, fn) })
		if want := base + byHand + 2; got != want {
			t.Errorf("%s: %v allocations, want %v: %v without the hook, %v of the spans and 2", name, got, want, base, byHand)
		}
	}
}
