package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// printer is a span exporter that shows each trace, when its root ended, as a tree. A
// program would have another one, and a batch processor before it.
type printer struct {
	w     io.Writer
	spans []sdktrace.ReadOnlySpan // that ended, of a trace that did not
}

// ExportSpans is not called concurrently.
func (p *printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		p.spans = append(p.spans, s)
		if !s.Parent().IsValid() {
			p.print(s, 0)
			p.spans = nil
		}
	}
	return nil
}

// Shutdown does nothing: everything is written.
func (p *printer) Shutdown(context.Context) error { return nil }

// print writes a span and what is below it, in the order in which the spans ended.
func (p *printer) print(s sdktrace.ReadOnlySpan, depth int) {
	cells := []string{fmt.Sprintf("%-18s  %-8s", strings.Repeat("  ", depth)+s.Name(), s.SpanKind())}
	for _, key := range []attribute.Key{
		"stoic.call.attempts", "stoic.attempt.number", "stoic.retry.delay", "http.response.status_code", "http.request.resend_count", "error.type",
	} {
		if v, ok := value(s, key); ok {
			cells = append(cells, fmt.Sprintf("%s=%s", key, v.String()))
		}
	}
	fmt.Fprintln(p.w, strings.Join(cells, "  "))
	for _, child := range p.spans {
		if child.Parent().SpanID() == s.SpanContext().SpanID() {
			p.print(child, depth+1)
		}
	}
}

func value(s sdktrace.ReadOnlySpan, key attribute.Key) (attribute.Value, bool) {
	for _, kv := range s.Attributes() {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}
