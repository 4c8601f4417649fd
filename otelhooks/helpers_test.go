package otelhooks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

var errBoom = errors.New("boom")

// fixture is a hook whose spans and metrics a test can read.
type fixture struct {
	*otelhooks.Hook

	t      *testing.T
	began  time.Time
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meter  *sdkmetric.MeterProvider
}

// newFixture makes one with the providers first, so that opts can replace them. At the
// end of the test every span that began must have ended.
func newFixture(t *testing.T, opts ...otelhooks.Option) *fixture {
	t.Helper()
	f := &fixture{t: t, began: time.Now(), spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	f.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(f.spans))
	f.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(f.reader))
	providers := []otelhooks.Option{otelhooks.WithTracerProvider(f.tracer), otelhooks.WithMeterProvider(f.meter)}
	h, err := otelhooks.New(append(providers, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	f.Hook = h
	t.Cleanup(func() {
		if started, ended := len(f.spans.Started()), len(f.spans.Ended()); started != ended {
			t.Errorf("%d spans began, %d ended", started, ended)
		}
	})
	return f
}

// stack is a pipeline "payments" of layers that f observes.
func (f *fixture) stack(layers ...stoic.Policy) *stoic.Pipeline {
	f.t.Helper()
	p, err := stoic.New("payments", append([]stoic.Policy{stoic.Observe(f)}, layers...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// metrics collects what was recorded, by the name of the instrument.
func (f *fixture) metrics() map[string]metricdata.Metrics {
	f.t.Helper()
	var rm metricdata.ResourceMetrics
	if err := f.reader.Collect(context.Background(), &rm); err != nil {
		f.t.Fatal(err)
	}
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// attempts is a retry of n attempts with a second between them.
func attempts(n int, opts ...retry.Option) *retry.Retry {
	return retry.New(append([]retry.Option{retry.MaxAttempts(n), retry.Constant(time.Second)}, opts...)...)
}

// takes is an operation that takes 100 ms and heeds no context. Attempt n ends with the
// n-th of errs, or the last.
func takes(errs ...error) stoic.Func {
	return func(ctx context.Context) error {
		time.Sleep(100 * time.Millisecond)
		return errs[min(stoic.Attempt(ctx), len(errs))-1]
	}
}

// waits is an operation that ends with its context, or after d with err.
func waits(d time.Duration, err error) stoic.Func {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end is how a call ended for its caller.
type end struct {
	err      error
	panicked any
	exited   bool
}

// run calls f on a goroutine of its own, because it may panic or exit.
func run(f func() error) (e end) {
	done := make(chan struct{})
	e.exited = true
	go func() {
		defer close(done)
		defer func() {
			if e.panicked = recover(); e.panicked != nil {
				e.exited = false
			}
		}()
		e.err = f()
		e.exited = false
	}()
	<-done
	return e
}
