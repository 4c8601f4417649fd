package otelhooks

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// instruments are the metrics. Those that are off are no-ops.
type instruments struct {
	callDuration      metric.Float64Histogram
	callAttempts      metric.Int64Histogram
	attemptDuration   metric.Float64Histogram
	rejections        metric.Int64Counter
	breakerStatus     metric.Int64ObservableUpDownCounter
	transitions       metric.Int64Counter
	retryDelay        metric.Float64Histogram
	limitWait         metric.Float64Histogram
	budgetUtilization metric.Float64ObservableGauge
}

// seconds are the buckets of the semantic conventions for durations of calls.
func seconds() metric.HistogramOption {
	return metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
}

// newInstruments makes all it can; what fails is a no-op, and in the error.
func newInstruments(meter metric.Meter, detailed bool) (instruments, error) {
	m := maker{meter: meter}
	i := instruments{
		callDuration: m.histogram("stoic.call.duration", "Duration of a call, with all its attempts and the waits between them.",
			metric.WithUnit("s"), seconds()),
		callAttempts: m.counts("stoic.call.attempts", "Attempts that a call sent; 0 if it was rejected before the first.",
			metric.WithUnit("{attempt}"), metric.WithExplicitBucketBoundaries(1, 2, 3, 4, 5, 10)),
		attemptDuration: m.histogram("stoic.attempt.duration", "Duration of one attempt of a retry, without the waits around it.",
			metric.WithUnit("s"), seconds()),
		rejections: m.counter("stoic.policy.rejections", "Calls and retries that a policy refused to send.",
			metric.WithUnit("{rejection}")),
		breakerStatus: m.upDown("stoic.breaker.status", "1 for the state that a breaker is in, 0 for the others.",
			metric.WithUnit("1")),
	}
	if !detailed {
		m.meter = noop.Meter{}
	}
	i.transitions = m.counter("stoic.breaker.transitions", "Changes of a breaker to a state.",
		metric.WithUnit("{transition}"))
	i.retryDelay = m.histogram("stoic.retry.delay", "Waits that retries announced before another attempt.",
		metric.WithUnit("s"), seconds())
	i.limitWait = m.histogram("stoic.rate_limit.wait.duration", "Time that calls waited for a rate limit; those that passed at once are not in it.",
		metric.WithUnit("s"), seconds())
	i.budgetUtilization = m.gauge("stoic.budget.utilization", "Share of the retries allowed in the budget's window that is spent.",
		metric.WithUnit("1"))
	return i, errors.Join(m.errs...)
}

// register makes the meter ask for what is read when it collects: the states of breakers
// and the use of budgets.
func (h *Hook) register(meter metric.Meter) error {
	var status, utilization error
	if _, off := h.breakerStatus.(noop.Int64ObservableUpDownCounter); !off {
		_, status = meter.RegisterCallback(h.observeBreakers, h.breakerStatus)
	}
	if _, off := h.budgetUtilization.(noop.Float64ObservableGauge); !off {
		_, utilization = meter.RegisterCallback(h.observeBudgets, h.budgetUtilization)
	}
	return errors.Join(status, utilization)
}

// maker makes instruments and collects what goes wrong. OpenTelemetry may return nil with
// an error, so a no-op takes the place then.
type maker struct {
	meter metric.Meter
	errs  []error
}

func (m *maker) histogram(name, description string, opts ...metric.HistogramOption) metric.Float64Histogram {
	options := []metric.Float64HistogramOption{metric.WithDescription(description)}
	for _, o := range opts {
		options = append(options, o)
	}
	i, err := m.meter.Float64Histogram(name, options...)
	if m.failed(err) {
		return noop.Float64Histogram{}
	}
	return i
}

func (m *maker) counts(name, description string, opts ...metric.HistogramOption) metric.Int64Histogram {
	options := []metric.Int64HistogramOption{metric.WithDescription(description)}
	for _, o := range opts {
		options = append(options, o)
	}
	i, err := m.meter.Int64Histogram(name, options...)
	if m.failed(err) {
		return noop.Int64Histogram{}
	}
	return i
}

func (m *maker) counter(name, description string, unit metric.InstrumentOption) metric.Int64Counter {
	i, err := m.meter.Int64Counter(name, metric.WithDescription(description), unit)
	if m.failed(err) {
		return noop.Int64Counter{}
	}
	return i
}

func (m *maker) upDown(name, description string, unit metric.InstrumentOption) metric.Int64ObservableUpDownCounter {
	i, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithDescription(description), unit)
	if m.failed(err) {
		return noop.Int64ObservableUpDownCounter{}
	}
	return i
}

func (m *maker) gauge(name, description string, unit metric.InstrumentOption) metric.Float64ObservableGauge {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithDescription(description), unit)
	if m.failed(err) {
		return noop.Float64ObservableGauge{}
	}
	return i
}

func (m *maker) failed(err error) bool {
	if err != nil {
		m.errs = append(m.errs, err)
	}
	return err != nil
}
