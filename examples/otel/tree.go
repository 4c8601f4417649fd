package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// tree is a span exporter that prints each trace as one. It is given whole traces.
type tree struct{ w io.Writer }

// ExportSpans prints one trace.
func (t tree) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	var b strings.Builder
	trace := traced(spans)
	fmt.Fprintf(&b, "\n%s\n", trace.kind())
	trace.print(&b, trace.root(), 1)
	_, err := io.WriteString(t.w, b.String())
	return err
}

// Shutdown does nothing: everything is written.
func (t tree) Shutdown(context.Context) error { return nil }

// print writes a span, its events, and the spans below it, the earliest first.
func (t traced) print(w io.Writer, s sdktrace.ReadOnlySpan, depth int) {
	begin := t.root().StartTime()
	name := strings.Repeat("  ", depth) + s.Name()
	status := ""
	if s.Status().Code == codes.Error {
		status = "Error"
	}
	fmt.Fprintf(w, "%-20s %6s %6s  %-5s  %s\n", name, ms(s.StartTime().Sub(begin)), ms(s.EndTime().Sub(s.StartTime())), status, attributes(s.Attributes()))
	for _, e := range s.Events() {
		fmt.Fprintf(w, "%-20s %6s %6s  event  %s: %s\n", "", ms(e.Time.Sub(begin)), "", strings.TrimPrefix(e.Name, "stoic."), attributes(e.Attributes))
	}
	var below []sdktrace.ReadOnlySpan
	for _, child := range t {
		if child.Parent().SpanID() == s.SpanContext().SpanID() {
			below = append(below, child)
		}
	}
	slices.SortStableFunc(below, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	for _, child := range below {
		t.print(w, child, depth+1)
	}
}

// attributes are those that differ from span to span.
func attributes(attrs []attribute.KeyValue) string {
	var texts []string
	for _, kv := range attrs {
		switch kv.Key {
		case "stoic.pipeline.name", "stoic.operation.name", "stoic.policy.name":
		case "stoic.retry.delay":
			texts = append(texts, fmt.Sprintf("retry.delay=%.3fs", kv.Value.AsFloat64()))
		default:
			texts = append(texts, strings.TrimPrefix(string(kv.Key), "stoic.")+"="+kv.Value.String())
		}
	}
	return strings.Join(texts, " ")
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
