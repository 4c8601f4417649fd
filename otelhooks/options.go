package otelhooks

import (
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
)

// An Option changes what a [Hook] emits and where to. Of several that set the same, the
// last counts.
type Option func(*config)

type config struct {
	tracers     trace.TracerProvider
	meters      metric.MeterProvider
	attemptKind trace.SpanKind
	detailed    bool
	noMessages  bool
	errs        []error
}

func newConfig(opts []Option) config {
	c := config{attemptKind: trace.SpanKindInternal}
	for _, opt := range opts {
		if opt == nil {
			c.errs = append(c.errs, &stoic.InvalidError{Field: "Option", Value: "nil", Reason: "must not be nil"})
			continue
		}
		opt(&c)
	}
	if trace.ValidateSpanKind(c.attemptKind) != c.attemptKind {
		c.errs = append(c.errs, &stoic.InvalidError{
			Field: "WithAttemptSpanKind", Value: int(c.attemptKind), Reason: "must be a span kind of OpenTelemetry, such as trace.SpanKindClient",
		})
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	return c
}

func (c *config) err() error { return errors.Join(c.errs...) }

// WithTracerProvider sets where spans go [the global provider, as it is when New is
// called or set later]. A provider of go.opentelemetry.io/otel/trace/noop switches
// spans off: then they cost nothing, and what runs inside keeps the span of the caller as
// its parent. Nil is the global provider. Where no SDK is installed, that one makes spans
// that go nowhere: 8 allocations for a call of one attempt, with noop providers 2.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(c *config) { c.tracers = p }
}

// WithMeterProvider sets where metrics go [the global provider]. A provider of
// go.opentelemetry.io/otel/metric/noop switches them off. Nil is the global provider.
// Make one Hook for each provider: what two of them say of a breaker that they share
// adds up.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(c *config) { c.meters = p }
}

// WithAttemptSpanKind sets the kind of the attempts' spans [trace.SpanKindInternal].
// Choose trace.SpanKindClient where nothing inside the stack makes a client span of its
// own, so that service maps see the dependency.
func WithAttemptSpanKind(k trace.SpanKind) Option {
	return func(c *config) { c.attemptKind = k }
}

// WithDetailedMetrics adds the metrics that most dashboards can do without: breaker
// transitions, retry delays, rate limit waits and budget utilization.
func WithDetailedMetrics() Option {
	return func(c *config) { c.detailed = true }
}

// WithoutErrorMessages keeps the texts of errors and panics out of span statuses. With
// them, URLs lose user, query and fragment, but other secrets may remain. No attribute
// and no metric ever holds a text.
func WithoutErrorMessages() Option {
	return func(c *config) { c.noMessages = true }
}
