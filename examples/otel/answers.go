package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// answers is a metric exporter that answers five questions for each phase, and prints
// them at the end. It gets what was recorded since the last export, as a query gets it
// from rate() or increase().
type answers struct {
	w       io.Writer
	script  []phase
	columns []column
}

// column is what the metrics say about one phase.
type column struct {
	calls         uint64
	sent          uint64 // those of them that no policy refused
	attempts      int64
	retried       uint64 // calls with more than one attempt
	saved         uint64 // those of them that did not fail
	took, backoff float64
	breaker       string
	budget        float64
}

// Temporality asks for differences.
func (a *answers) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DeltaTemporalitySelector(k)
}

// Aggregation asks for nothing special.
func (a *answers) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export adds a column. It is not called concurrently.
func (a *answers) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	var c column
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			c.read(m)
		}
	}
	a.columns = append(a.columns, c)
	return nil
}

func (c *column) read(m metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Histogram[int64]: // stoic.call.attempts
		for _, p := range data.DataPoints {
			more := p.Count - p.BucketCounts[0] // the first bucket is up to 1 attempt
			c.calls += p.Count
			if !refused(p.Attributes) {
				c.sent += p.Count
			}
			c.attempts += p.Sum
			c.retried += more
			if !p.Attributes.HasValue("error.type") {
				c.saved += more
			}
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			switch m.Name {
			case "stoic.call.duration":
				c.took += p.Sum
			case "stoic.retry.delay":
				c.backoff += p.Sum
			}
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			if m.Name == "stoic.breaker.status" && p.Value == 1 {
				state, _ := p.Attributes.Value("stoic.breaker.state")
				c.breaker = state.AsString()
			}
		}
	case metricdata.Gauge[float64]: // stoic.budget.utilization
		for _, p := range data.DataPoints {
			c.budget = p.Value
		}
	}
}

// refused tells the calls that a policy refused before they were sent.
func refused(attributes attribute.Set) bool {
	failure, _ := attributes.Value("error.type")
	switch failure.AsString() {
	case "circuit_open", "half_open_limit", "rate_limited", "deadline_too_short":
		return true
	default:
		return false
	}
}

// ForceFlush does nothing: the table is printed at the end.
func (a *answers) ForceFlush(context.Context) error { return nil }

// Shutdown prints the table.
func (a *answers) Shutdown(context.Context) error {
	var b strings.Builder
	b.WriteString("\nFIVE QUESTIONS, answered by the metrics of each phase\n")
	a.row(&b, "", "", func(i int) string { return a.script[i].name })
	a.row(&b, "", "calls", func(i int) string { return strconv.FormatUint(a.columns[i].calls, 10) })
	a.row(&b, "Do retries pay?", "calls saved, of those retried", func(i int) string {
		if a.columns[i].retried == 0 {
			return "-"
		}
		return fmt.Sprintf("%d of %d", a.columns[i].saved, a.columns[i].retried)
	})
	a.row(&b, "How much load do they add?", "extra attempts per call sent", func(i int) string {
		sent := float64(a.columns[i].sent)
		return ratio("%.2f", max(0, float64(a.columns[i].attempts)-sent), sent)
	})
	a.row(&b, "How much time is backoff?", "% of the calls' time", func(i int) string {
		return ratio("%.0f %%", 100*a.columns[i].backoff, a.columns[i].took)
	})
	a.row(&b, "Which breaker is open?", "payments, in the end", func(i int) string { return a.columns[i].breaker })
	a.row(&b, "Is the budget spent?", "% used, in the end", func(i int) string {
		return fmt.Sprintf("%.0f %%", 100*a.columns[i].budget)
	})
	b.WriteString("A call counts in the phase in which it ended. The queries for these answers are in docs/telemetry.md.\n")
	_, err := io.WriteString(a.w, b.String())
	return err
}

func (a *answers) row(w io.Writer, question, unit string, cell func(i int) string) {
	fmt.Fprintf(w, "%-26s  %-29s", question, unit)
	for i := range min(len(a.columns), len(a.script)) {
		fmt.Fprintf(w, "  %13s", cell(i))
	}
	fmt.Fprintln(w)
}

// ratio is "-" where there is nothing to divide by.
func ratio(format string, a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf(format, a/b)
}
