package otelhooks_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// Without a provider it is the global one, also when that is set later. The global one can
// be set once in a process, so this runs in one of its own.
func TestGlobalMeterProvider(t *testing.T) {
	const child = "STOIC_TEST_GLOBAL_METER_PROVIDER"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGlobalMeterProvider$", "-test.count=1")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	before, err := otelhooks.New(otelhooks.WithDetailedMetrics())
	if err != nil {
		t.Fatal(err)
	}
	p := stoic.MustNew("before", stoic.Observe(before), breaker.New("db", breaker.ConsecutiveFailures(1)), budget.New(), retry.New(retry.MaxAttempts(1)))
	provider, reader := newReader()
	otel.SetMeterProvider(provider)
	after, err := otelhooks.New(otelhooks.WithMeterProvider(nil), otelhooks.WithTracerProvider(nil))
	if err != nil {
		t.Fatal(err)
	}
	q := stoic.MustNew("after", stoic.Observe(after))
	for _, p := range []*stoic.Pipeline{p, q} {
		if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	f := &fixture{t: t, reader: reader}
	f.wantStatus("db", isClosed) // also of what was attached before
	_ = p.Do(t.Context(), func(context.Context) error { return errPlain })
	f.wantStatus("db", isOpen)
	want := []string{
		"stoic.attempt.duration", "stoic.breaker.status", "stoic.breaker.transitions", "stoic.budget.utilization",
		"stoic.call.attempts", "stoic.call.duration",
	}
	if got := instrumentNames(t, reader); !slices.Equal(got, want) {
		t.Errorf("the metrics are %q, want %q", got, want)
	}
	if got := f.values("stoic.pipeline.name"); len(got) != 2 {
		t.Errorf("the pipelines are %v, want one of each hook", got)
	}
}

// Switched off, nothing is recorded and nothing fails; what runs inside keeps the
// caller's span.
func TestNoopProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics(),
			otelhooks.WithMeterProvider(noopmetric.NewMeterProvider()), otelhooks.WithTracerProvider(nooptrace.NewTracerProvider()))
		everything(t, f)
		if got := f.metrics(); len(got) > 0 {
			t.Errorf("%d metrics, want none", len(got))
		}
		if got := len(f.spans.Started()); got > 0 {
			t.Errorf("%d spans, want none", got)
		}
		ctx, span := f.tracer.Tracer("test").Start(t.Context(), "caller")
		defer span.End()
		err := f.stack(retry.New()).Do(ctx, func(ctx context.Context) error {
			if got := trace.SpanFromContext(ctx); got != span {
				t.Errorf("inside is the span %v, want the caller's", got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Only one of the two may be off.
func TestMetricsWithoutSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with, without := newFixture(t, otelhooks.WithDetailedMetrics()),
			newFixture(t, otelhooks.WithDetailedMetrics(), otelhooks.WithTracerProvider(nooptrace.NewTracerProvider()))
		everything(t, with)
		everything(t, without)
		for name, m := range with.metrics() {
			wantMetric(t, without, name, m.Data)
		}
		if got := len(without.spans.Started()); got > 0 {
			t.Errorf("%d spans, want none", got)
		}
	})
}

func TestSpansWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		with, without := newFixture(t), newFixture(t, otelhooks.WithMeterProvider(noopmetric.NewMeterProvider()))
		everything(t, with)
		everything(t, without)
		if got, want := len(without.spans.Ended()), len(with.spans.Ended()); got != want {
			t.Errorf("%d spans, want %d", got, want)
		}
	})
}

// refusing is a provider whose meter fails to make some instruments, or to register.
type refusing struct {
	metric.MeterProvider
	failing map[string]error
}

func (p refusing) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return refusingMeter{p.MeterProvider.Meter(name, opts...), p.failing}
}

type refusingMeter struct {
	metric.Meter
	failing map[string]error
}

func (m refusingMeter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if err := m.failing[name]; err != nil {
		return nil, err
	}
	return m.Meter.Float64Histogram(name, opts...)
}

func (m refusingMeter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	if err := m.failing[name]; err != nil {
		return nil, err
	}
	return m.Meter.Int64Histogram(name, opts...)
}

func (m refusingMeter) Int64Counter(name string, opts ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if err := m.failing[name]; err != nil {
		return nil, err
	}
	return m.Meter.Int64Counter(name, opts...)
}

func (m refusingMeter) Int64ObservableUpDownCounter(name string, opts ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	if err := m.failing[name]; err != nil {
		return nil, err
	}
	return m.Meter.Int64ObservableUpDownCounter(name, opts...)
}

func (m refusingMeter) Float64ObservableGauge(name string, opts ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	if err := m.failing[name]; err != nil {
		return nil, err
	}
	return m.Meter.Float64ObservableGauge(name, opts...)
}

func (m refusingMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	for _, instrument := range of {
		name := "callback of breakers"
		if _, ok := instrument.(metric.Float64Observable); ok {
			name = "callback of budgets"
		}
		if err := m.failing[name]; err != nil {
			return nil, err
		}
	}
	return m.Meter.RegisterCallback(f, of...)
}

// A meter that refuses instruments costs those instruments, and the error tells all of
// them: the hook works.
func TestMeterThatFails(t *testing.T) {
	var all []string
	tests := map[string][]string{
		"none":                 nil,
		"callback of breakers": {"callback of breakers"},
		"callback of budgets":  {"callback of budgets"},
		"both callbacks":       {"callback of breakers", "callback of budgets"},
	}
	for _, m := range metricTable {
		tests[m.name] = []string{m.name}
		all = append(all, m.name)
	}
	tests["all"] = all
	for name, failing := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				provider, reader := newReader()
				m := refusing{provider, make(map[string]error)}
				for _, name := range failing {
					m.failing[name] = errors.New(name)
				}
				f := newFixture(t)
				h, err := otelhooks.New(otelhooks.WithMeterProvider(m), otelhooks.WithDetailedMetrics(),
					otelhooks.WithTracerProvider(f.tracer))
				if h == nil {
					t.Fatalf("no hook, and the error %v", err)
				}
				if (err != nil) != (len(failing) > 0) {
					t.Errorf("got the error %v", err)
				}
				for name, reason := range m.failing {
					if !errors.Is(err, reason) {
						t.Errorf("the error %v does not tell of %s", err, name)
					}
				}
				f.Hook = h
				everything(t, f)
				want := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
					return m.failing[name] != nil ||
						name == "stoic.breaker.status" && m.failing["callback of breakers"] != nil ||
						name == "stoic.budget.utilization" && m.failing["callback of budgets"] != nil
				})
				slices.Sort(want)
				if got := instrumentNames(t, reader); !slices.Equal(got, want) {
					t.Errorf("the metrics are %q, want %q", got, want)
				}
				if len(f.spans.Ended()) == 0 {
					t.Error("no spans")
				}
			})
		})
	}
}

// An instrument that is off cannot fail.
func TestMeterThatFailsWhatIsOff(t *testing.T) {
	provider, _ := newReader()
	m := refusing{provider, make(map[string]error)}
	for _, name := range detailedMetrics {
		m.failing[name] = errPlain
	}
	if _, err := otelhooks.New(otelhooks.WithMeterProvider(m)); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestInvalidOptionsMakeNoHook(t *testing.T) {
	tests := map[string][]otelhooks.Option{
		"nil option":   {nil},
		"unknown kind": {otelhooks.WithAttemptSpanKind(99)},
		"zero kind":    {otelhooks.WithAttemptSpanKind(trace.SpanKindUnspecified)},
		"two of them":  {nil, otelhooks.WithDetailedMetrics(), otelhooks.WithAttemptSpanKind(-1)},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			provider, reader := newReader()
			h, err := otelhooks.New(append(opts, otelhooks.WithMeterProvider(provider))...)
			if h != nil || !errors.Is(err, stoic.ErrInvalid) {
				t.Errorf("got %v and %v, want no hook and ErrInvalid", h, err)
			}
			if got := instrumentNames(t, reader); len(got) > 0 {
				t.Errorf("it made %q", got)
			}
		})
	}
}

// Users change buckets by a view, as everywhere in OpenTelemetry.
func TestMetricsThroughAView(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Name: "stoic.call.duration"},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{1}}},
	)))
	f := newFixture(t, otelhooks.WithMeterProvider(provider))
	f.reader = reader
	_ = f.stack().Do(t.Context(), func(context.Context) error { return nil })
	got := f.metrics()["stoic.call.duration"].Data.(metricdata.Histogram[float64]).DataPoints[0].Bounds
	if !slices.Equal(got, []float64{1}) {
		t.Errorf("the bounds are %v, want those of the view", got)
	}
}

// Eight goroutines of 1000 calls each: the counts are exact.
func TestMetricsOfManyCallsAtOnce(t *testing.T) {
	const workers, each = 8, 1000
	f := newFixture(t, otelhooks.WithDetailedMetrics(), otelhooks.WithTracerProvider(nooptrace.NewTracerProvider()))
	p := f.stack(retry.New(retry.MaxAttempts(3), retry.Constant(1)), breaker.New("db", breaker.ConsecutiveFailures(workers*each)))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			ctx := stoic.WithOperation(t.Context(), []string{"read", "write"}[w%2])
			for i := range each {
				fails := i % 4 // 0: succeeds at once … 3: fails for good
				_ = p.Do(ctx, func(context.Context) error {
					if fails--; fails >= 0 {
						return errTyped
					}
					return nil
				})
				if i%250 == 0 {
					f.metrics()
				}
			}
		})
	}
	wg.Wait()
	const quarter = workers * each / 2 / 4 // of each operation
	wantCounts(t, f, "stoic.call.duration", map[string]uint64{
		"read": 3 * quarter, "read down": quarter, "write": 3 * quarter, "write down": quarter,
	})
	wantCounts(t, f, "stoic.attempt.duration", map[string]uint64{
		"read": 3 * quarter, "read down": 6 * quarter, "write": 3 * quarter, "write down": 6 * quarter,
	})
	attempts := f.metrics()["stoic.call.attempts"].Data.(metricdata.Histogram[int64])
	var sum int64
	for _, p := range attempts.DataPoints {
		sum += p.Sum
	}
	if want := int64(2 * quarter * (1 + 2 + 3 + 3)); sum != want {
		t.Errorf("%d attempts, want %d", sum, want)
	}
	if got, want := recorded(t, f.metrics()["stoic.retry.delay"]), uint64(2*quarter*(1+2+2)); got != want {
		t.Errorf("%d waits, want %d", got, want)
	}
}

// wantCounts compares how many values each operation and error.type has.
func wantCounts(t *testing.T, f *fixture, name string, want map[string]uint64) {
	t.Helper()
	data := f.metrics()[name].Data.(metricdata.Histogram[float64])
	if len(data.DataPoints) != len(want) {
		t.Errorf("%s has %d series, want %d", name, len(data.DataPoints), len(want))
	}
	for _, p := range data.DataPoints {
		operation, _ := p.Attributes.Value(attribute.Key("stoic.operation.name"))
		key := operation.AsString()
		if failed, ok := p.Attributes.Value("error.type"); ok {
			key += " " + failed.AsString()
		}
		if p.Count != want[key] {
			t.Errorf("%s of %q: %d, want %d", name, key, p.Count, want[key])
		}
	}
}
