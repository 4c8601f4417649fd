package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traced are the spans of one trace in the order in which they ended, the root last.
type traced []sdktrace.ReadOnlySpan

func (t traced) root() sdktrace.ReadOnlySpan { return t[len(t)-1] }

// picker is a span exporter that collects the spans of each trace, and passes the first
// trace of each kind on as soon as it is complete.
type picker struct {
	to     sdktrace.SpanExporter
	open   map[trace.TraceID]traced
	passed map[string]bool // by kind
}

func newPicker(to sdktrace.SpanExporter) *picker {
	return &picker{to, make(map[trace.TraceID]traced), make(map[string]bool)}
}

// ExportSpans is not called concurrently.
func (p *picker) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		id := s.SpanContext().TraceID()
		p.open[id] = append(p.open[id], s)
		if s.Parent().IsValid() {
			continue
		}
		t := p.open[id]
		delete(p.open, id)
		if kind := t.kind(); !p.passed[kind] {
			p.passed[kind] = true
			if err := p.to.ExportSpans(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// Shutdown leaves traces out that are not complete.
func (p *picker) Shutdown(ctx context.Context) error { return p.to.Shutdown(ctx) }

// kind says what happened to a call, from the attributes and events of its spans.
func (t traced) kind() string {
	switch state := t.lastState(); state {
	case "open":
		return "the call that opened the breaker"
	case "closed":
		return "the call that closed the breaker again"
	}
	root := t.root()
	failed, stopped := get(root, "error.type").AsString(), get(root, "stoic.retry.stop_reason").AsString()
	attempts := get(root, "stoic.call.attempts").AsInt64()
	switch {
	case stopped == "max_attempts":
		return "a call whose attempts ran out"
	case stopped == "budget_exhausted":
		return "a call whose retry the budget refused"
	case stopped == "rejected" && attempts > 0:
		return "a call whose retry the breaker rejected"
	case get(root, "stoic.call.canceled").AsBool():
		return "a call that was canceled"
	case failed == "" && attempts == 1:
		return "a call that succeeded at once"
	case failed == "":
		return "a call that a retry saved"
	case failed == "circuit_open" && attempts == 0:
		return "a call that the breaker rejected"
	case failed == "half_open_limit" && attempts == 0:
		return "a call that the breaker rejected during its probe"
	default:
		return "a call that failed otherwise"
	}
}

// lastState is the state into which the call brought a breaker, or "".
func (t traced) lastState() (state string) {
	for _, s := range t {
		for _, e := range s.Events() {
			for _, kv := range e.Attributes {
				if kv.Key == "stoic.breaker.state" {
					state = kv.Value.AsString()
				}
			}
		}
	}
	return state
}

// get returns the value of an attribute, the zero value if there is none.
func get(s sdktrace.ReadOnlySpan, key attribute.Key) attribute.Value {
	for _, kv := range s.Attributes() {
		if kv.Key == key {
			return kv.Value
		}
	}
	return attribute.Value{}
}
