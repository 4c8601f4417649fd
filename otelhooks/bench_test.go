package otelhooks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// observers are the ways to listen, from nobody to all that there is.
func observers(tb testing.TB) []observer {
	tb.Helper()
	provider := func(sampler sdktrace.Sampler) otelhooks.Option {
		return otelhooks.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(discard{})))
	}
	meters, _ := newReader()
	hook := func(opts ...otelhooks.Option) hooks.Hook {
		h, err := otelhooks.New(opts...)
		if err != nil {
			tb.Fatal(err)
		}
		return h
	}
	noSpans := otelhooks.WithTracerProvider(nooptrace.NewTracerProvider())
	metrics := otelhooks.WithMeterProvider(meters)
	return []observer{
		{"nil", nil},
		{"Nop", hooks.Nop{}},
		{"noop", hook(noSpans, otelhooks.WithMeterProvider(noopmetric.NewMeterProvider()))},
		{"global", hook()}, // without an SDK: no test of this process sets one
		{"metrics", hook(noSpans, metrics)},
		{"metrics detailed", hook(noSpans, metrics, otelhooks.WithDetailedMetrics())},
		{"unsampled", hook(provider(sdktrace.NeverSample()), metrics)},
		{"sampled", hook(provider(sdktrace.AlwaysSample()), metrics)},
	}
}

type observer struct {
	name string
	hook hooks.Hook
}

// discard is a processor that drops what it is given, so that only the hook and the SDK
// are measured.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// observed is a call of so many attempts through a stack that o listens to.
func observed(tb testing.TB, o observer, attempts int) func() {
	tb.Helper()
	noWait := retry.WithBackoff(retry.BackoffFunc(func(int, time.Duration, func() float64) time.Duration { return 0 }))
	p := stoic.MustNew("payments", stoic.Observe(o.hook), retry.New(retry.MaxAttempts(attempts), noWait))
	ctx := context.Background()
	n := 0
	fn := func(context.Context) error {
		if n++; n%attempts != 0 {
			return errTyped
		}
		return nil
	}
	return func() {
		if err := p.Do(ctx, fn); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkHook(b *testing.B) {
	for _, attempts := range []int{1, 3} {
		for _, o := range observers(b) {
			b.Run(fmt.Sprintf("attempts=%d/%s", attempts, o.name), func(b *testing.B) {
				call := observed(b, o, attempts)
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
	}
}

func BenchmarkHookParallel(b *testing.B) {
	for _, o := range observers(b) {
		b.Run(o.name, func(b *testing.B) {
			p := stoic.MustNew("payments", stoic.Observe(o.hook), retry.New())
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_ = p.Do(context.Background(), func(context.Context) error { return nil })
				}
			})
		})
	}
}

// What a call costs that names its operation, and one of an operation that is one of too many.
func BenchmarkHookOperations(b *testing.B) {
	for _, o := range observers(b) {
		if o.name != "metrics" {
			continue
		}
		p := stoic.MustNew("payments", stoic.Observe(o.hook), retry.New())
		for i := range 1000 {
			_ = p.Do(stoic.WithOperation(context.Background(), fmt.Sprint("operation-", i)), func(context.Context) error { return nil })
		}
		for _, name := range []string{"operation-0", "operation-1000000"} {
			b.Run(name, func(b *testing.B) {
				ctx := stoic.WithOperation(context.Background(), name)
				b.ReportAllocs()
				for b.Loop() {
					_ = p.Do(ctx, func(context.Context) error { return nil })
				}
			})
		}
	}
}
