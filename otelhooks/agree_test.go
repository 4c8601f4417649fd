package otelhooks_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic/otelhooks"
)

// told is what spans and metrics both say of the outcomes of one kind.
type told struct {
	n        uint64
	duration time.Duration
	attempts int64
}

// TestSpansAndMetricsAgree holds for every outcome: the error.type of a span is that of
// the metrics, and so are its duration and the number of attempts.
func TestSpansAndMetricsAgree(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := r.play(t, otelhooks.WithDetailedMetrics())
				f.agrees(t)
				for _, s := range f.spans.Ended() {
					values := attribute.NewSet(s.Attributes()...)
					failed := s.Status().Code.String() == "Error"
					if errorType, has := values.Value("error.type"); has != failed || has && errorType.AsString() == "" {
						t.Errorf("span %s is %v with the error.type %q", s.Name(), s.Status(), errorType.AsString())
					}
				}
			})
		})
	}
}

// agrees compares all spans with all metrics.
func (f *fixture) agrees(t *testing.T) {
	t.Helper()
	calls, tries := make(map[string]told), make(map[string]told)
	for _, s := range f.spans.Ended() {
		if s.InstrumentationScope().Name != otelhooks.ScopeName {
			continue
		}
		values := attribute.NewSet(s.Attributes()...)
		into := calls
		if values.HasValue("stoic.attempt.number") {
			into = tries
		}
		key := outcomeKey(values)
		sum := into[key]
		sum.n++
		sum.duration += s.EndTime().Sub(s.StartTime())
		if sent, ok := values.Value("stoic.call.attempts"); ok {
			sum.attempts += sent.AsInt64()
		}
		into[key] = sum
	}

	measuredCalls, measuredTries := make(map[string]told), make(map[string]told)
	metrics := f.metrics()
	for _, p := range durationPoints(metrics["stoic.call.duration"]) {
		measuredCalls[outcomeKey(p.Attributes)] = told{n: p.Count, duration: seconds(p.Sum)}
	}
	for _, p := range durationPoints(metrics["stoic.attempt.duration"]) {
		measuredTries[outcomeKey(p.Attributes)] = told{n: p.Count, duration: seconds(p.Sum)}
	}
	sent, _ := metrics["stoic.call.attempts"].Data.(metricdata.Histogram[int64])
	for _, p := range sent.DataPoints {
		key := outcomeKey(p.Attributes)
		m := measuredCalls[key]
		if m.n != p.Count {
			t.Errorf("%s: %d calls have a duration, %d have attempts", key, m.n, p.Count)
		}
		m.attempts = p.Sum
		measuredCalls[key] = m
	}
	if !maps.Equal(calls, measuredCalls) {
		t.Errorf("calls: the spans say\n%+v\nand the metrics\n%+v", calls, measuredCalls)
	}
	if !maps.Equal(tries, measuredTries) {
		t.Errorf("attempts: the spans say\n%+v\nand the metrics\n%+v", tries, measuredTries)
	}
}

// outcomeKey is what an outcome is counted by.
func outcomeKey(values attribute.Set) string {
	pipeline, _ := values.Value("stoic.pipeline.name")
	operation, _ := values.Value("stoic.operation.name")
	errorType, has := values.Value("error.type")
	return fmt.Sprintf("%s/%s error.type=%q %t", pipeline.AsString(), operation.AsString(), errorType.AsString(), has)
}

func durationPoints(m metricdata.Metrics) []metricdata.HistogramDataPoint[float64] {
	h, _ := m.Data.(metricdata.Histogram[float64])
	return h.DataPoints
}

// seconds is exact: sums of float64 are off by less than a nanosecond here.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }
