package otelhooks_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// The instruments, written out a second time. Units, descriptions and bounds are part of
// what dashboards depend on.
var metricTable = []struct{ name, unit, description string }{
	{"stoic.call.duration", "s", "Duration of a call, with all its attempts and the waits between them."},
	{"stoic.call.attempts", "{attempt}", "Attempts that a call sent; 0 if it was rejected before the first."},
	{"stoic.attempt.duration", "s", "Duration of one attempt of a retry, without the waits around it."},
	{"stoic.policy.rejections", "{rejection}", "Calls and retries that a policy refused to send."},
	{"stoic.breaker.status", "1", "1 for the state that a breaker is in, 0 for the others."},
	{"stoic.breaker.transitions", "{transition}", "Changes of a breaker to a state."},
	{"stoic.retry.delay", "s", "Waits that retries announced before another attempt."},
	{"stoic.rate_limit.wait.duration", "s", "Time that calls waited for a rate limit; those that passed at once are not in it."},
	{"stoic.budget.utilization", "1", "Share of the retries allowed in the budget's window that is spent."},
}

var detailedMetrics = []string{
	"stoic.breaker.transitions", "stoic.retry.delay", "stoic.rate_limit.wait.duration", "stoic.budget.utilization",
}

var (
	secondsBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	attemptBounds = []float64{1, 2, 3, 4, 5, 10}
)

// wantMetric compares all of it: name, unit, description, temporality, bounds, points.
func wantMetric(t *testing.T, f *fixture, name string, data metricdata.Aggregation) {
	t.Helper()
	want := metricdata.Metrics{Name: name, Data: data}
	for _, m := range metricTable {
		if m.name == name {
			want.Description, want.Unit = m.description, m.unit
		}
	}
	got, ok := f.metrics()[name]
	if !ok {
		t.Errorf("%s does not exist", name)
		return
	}
	if !metricdatatest.AssertEqual(t, want, got, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars()) {
		t.Errorf("%s:\n got %+v\nwant %+v", name, got.Data, data)
	}
}

// wantNames compares the names of the instruments that have data.
func wantNames(t *testing.T, f *fixture, want ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(f.metrics()))
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("the metrics are\n     %q\nwant %q", got, want)
	}
}

func histogramOf[N int64 | float64](points ...metricdata.HistogramDataPoint[N]) metricdata.Histogram[N] {
	return metricdata.Histogram[N]{Temporality: metricdata.CumulativeTemporality, DataPoints: points}
}

// durations is the point of a histogram that was given each of these.
func durations(values []time.Duration, attrs ...attribute.KeyValue) metricdata.HistogramDataPoint[float64] {
	seconds := make([]float64, len(values))
	for i, v := range values {
		seconds[i] = v.Seconds()
	}
	return histogramPoint(secondsBounds, seconds, attrs)
}

// attemptCounts is the same for numbers of attempts.
func attemptCounts(values []int64, attrs ...attribute.KeyValue) metricdata.HistogramDataPoint[int64] {
	return histogramPoint(attemptBounds, values, attrs)
}

func histogramPoint[N int64 | float64](bounds []float64, values []N, attrs []attribute.KeyValue) metricdata.HistogramDataPoint[N] {
	p := metricdata.HistogramDataPoint[N]{
		Attributes:   attribute.NewSet(attrs...),
		Count:        uint64(len(values)),
		Bounds:       bounds,
		BucketCounts: make([]uint64, len(bounds)+1),
		Min:          metricdata.NewExtrema(slices.Min(values)),
		Max:          metricdata.NewExtrema(slices.Max(values)),
	}
	for _, v := range values {
		i := 0
		for i < len(bounds) && float64(v) > bounds[i] {
			i++
		}
		p.BucketCounts[i]++
		p.Sum += v
	}
	return p
}

func counterOf(points ...metricdata.DataPoint[int64]) metricdata.Sum[int64] {
	return metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points}
}

func upDownOf(points ...metricdata.DataPoint[int64]) metricdata.Sum[int64] {
	return metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: points}
}

func pointAt[N int64 | float64](value N, attrs ...attribute.KeyValue) metricdata.DataPoint[N] {
	return metricdata.DataPoint[N]{Attributes: attribute.NewSet(attrs...), Value: value}
}

// labels makes attributes of pairs of a key and a text.
func labels(pairs ...string) []attribute.KeyValue {
	var all []attribute.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, attribute.String(pairs[i], pairs[i+1]))
	}
	return all
}

// callOf are the attributes of what a call through a pipeline records.
func callOf(pipeline, operation string, pairs ...string) []attribute.KeyValue {
	return append(labels("stoic.pipeline.name", pipeline, "stoic.operation.name", operation), labels(pairs...)...)
}

// labelSets are the attribute sets of all points of a metric.
func labelSets(t *testing.T, m metricdata.Metrics) []attribute.Set {
	t.Helper()
	switch data := m.Data.(type) {
	case nil:
		return nil
	case metricdata.Histogram[float64]:
		return setsOf(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
	case metricdata.Histogram[int64]:
		return setsOf(data.DataPoints, func(p metricdata.HistogramDataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Sum[int64]:
		return setsOf(data.DataPoints, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
	case metricdata.Gauge[float64]:
		return setsOf(data.DataPoints, func(p metricdata.DataPoint[float64]) attribute.Set { return p.Attributes })
	default:
		t.Fatalf("%s is a %T", m.Name, data)
		return nil
	}
}

func setsOf[P any](points []P, set func(P) attribute.Set) []attribute.Set {
	all := make([]attribute.Set, len(points))
	for i, p := range points {
		all[i] = set(p)
	}
	return all
}

// recorded is how many values a histogram was given.
func recorded(t *testing.T, m metricdata.Metrics) (n uint64) {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			n += p.Count
		}
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			n += p.Count
		}
	default:
		t.Errorf("%s is a %T, want a histogram", m.Name, data)
	}
	return n
}

// states is what stoic.breaker.status says of the breakers of one name.
type states struct{ closed, halfOpen, open int64 }

// status returns what the metric says of a name; ok is false unless it has exactly the
// three series, and as attributes nothing but name and state.
func (f *fixture) status(name string) (s states, ok bool) {
	f.t.Helper()
	data, _ := f.metrics()["stoic.breaker.status"].Data.(metricdata.Sum[int64])
	seen := 0
	for _, p := range data.DataPoints {
		if v, _ := p.Attributes.Value("stoic.policy.name"); v.AsString() != name {
			continue
		}
		if p.Attributes.Len() != 2 {
			f.t.Errorf("a series has the attributes %v", p.Attributes.Encoded(attribute.DefaultEncoder()))
		}
		seen++
		switch v, _ := p.Attributes.Value("stoic.breaker.state"); v.AsString() {
		case "closed":
			s.closed = p.Value
		case "half_open":
			s.halfOpen = p.Value
		case "open":
			s.open = p.Value
		default:
			f.t.Errorf("%s is in the state %q", name, v.AsString())
		}
	}
	return s, seen == 3
}

func (f *fixture) wantStatus(name string, want states) {
	f.t.Helper()
	if got, ok := f.status(name); !ok || got != want {
		f.t.Errorf("status of %s: got %+v (all three series: %v), want %+v", name, got, ok, want)
	}
}

// An operation of known length.
func lasting(d time.Duration, err error) stoic.Func {
	return func(context.Context) error {
		time.Sleep(d)
		return err
	}
}

// script runs one Func after another, and the last one for ever.
func inTurn(fns ...stoic.Func) stoic.Func {
	n := 0
	return func(ctx context.Context) error {
		fn := fns[min(n, len(fns)-1)]
		n++
		return fn(ctx)
	}
}

// resend is a retry of three attempts that waits a second between them.
func thrice(opts ...retry.Option) *retry.Retry {
	return retry.New(append([]retry.Option{retry.MaxAttempts(3), retry.Constant(time.Second)}, opts...)...)
}

var (
	errTyped = &typedError{"down"}
	errPlain = errors.New("busy")
)

// typedError says what it is.
type typedError struct{ name string }

func (e *typedError) Error() string     { return "the text of " + e.name }
func (e *typedError) ErrorType() string { return e.name }

// newReader is a provider whose metrics can be read.
func newReader() (*sdkmetric.MeterProvider, *sdkmetric.ManualReader) {
	reader := sdkmetric.NewManualReader()
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), reader
}

// instrumentNames are the names of those that have data.
func instrumentNames(t *testing.T, reader *sdkmetric.ManualReader) []string {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			names = append(names, m.Name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}
