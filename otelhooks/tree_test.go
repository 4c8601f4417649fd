package otelhooks_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic/otelhooks"
)

// tree writes all spans, each below its parent and in the order in which they began:
//
//	payments 0s..1.2s unset stoic.call.attempts=2
//	  attempt payments #1 0s..100ms error "boom" error.type="*errors.errorString" …
//
// A line has all that a span has, but what is the same on each of its kind. That is
// checked: see [fixture.attributes].
func (f *fixture) tree() string {
	f.t.Helper()
	ended := make(map[trace.SpanID]sdktrace.ReadOnlySpan)
	for _, s := range f.spans.Ended() {
		ended[s.SpanContext().SpanID()] = s
	}
	var b strings.Builder
	var write func(indent string, parent trace.SpanID)
	write = func(indent string, parent trace.SpanID) {
		for _, began := range f.spans.Started() {
			s, ok := ended[began.SpanContext().SpanID()]
			if !ok {
				f.t.Errorf("span %s has not ended", began.Name())
				continue
			}
			_, known := ended[s.Parent().SpanID()]
			if s.Parent().SpanID() == parent || !known && !parent.IsValid() {
				b.WriteString(indent + f.line(s) + "\n")
				for _, e := range s.Events() {
					fmt.Fprintf(&b, "%s  ! %s %s %s\n", indent, e.Name, e.Time.Sub(f.began), texts(e.Attributes))
				}
				write(indent+"  ", s.SpanContext().SpanID())
			}
		}
	}
	write("", trace.SpanID{})
	return b.String()
}

func (f *fixture) line(s sdktrace.ReadOnlySpan) string {
	f.t.Helper()
	words := []string{s.Name()}
	attrs := s.Attributes()
	if s.InstrumentationScope().Name == otelhooks.ScopeName {
		var number string
		if number, attrs = f.attributes(s); number != "" {
			words = append(words, "#"+number)
		}
	}
	words = append(words, fmt.Sprintf("%s..%s", s.StartTime().Sub(f.began), s.EndTime().Sub(f.began)))
	words = append(words, strings.ToLower(s.Status().Code.String()))
	if s.Status().Description != "" {
		words = append(words, fmt.Sprintf("%q", s.Status().Description))
	}
	if len(attrs) > 0 {
		words = append(words, texts(attrs))
	}
	return strings.Join(words, " ")
}

// attributes checks what is the same on each span of the hook, and returns the rest: the
// number of an attempt, and the attributes that tell how it went.
func (f *fixture) attributes(s sdktrace.ReadOnlySpan) (number string, rest []attribute.KeyValue) {
	f.t.Helper()
	base := make(map[attribute.Key]attribute.Value)
	for _, a := range s.Attributes() {
		switch a.Key {
		case "stoic.pipeline.name", "stoic.operation.name", "stoic.policy.name", "stoic.attempt.number":
			base[a.Key] = a.Value
		default:
			rest = append(rest, a)
		}
	}
	operation := base["stoic.operation.name"].AsString()
	want := map[attribute.Key]attribute.Value{
		"stoic.pipeline.name":  base["stoic.pipeline.name"], // is there
		"stoic.operation.name": attribute.StringValue(operation),
	}
	name := operation
	if n, attempt := base["stoic.attempt.number"]; attempt {
		number = strconv.FormatInt(n.AsInt64(), 10)
		name = "attempt " + operation
		want["stoic.attempt.number"] = attribute.Int64Value(n.AsInt64())
		want["stoic.policy.name"] = attribute.StringValue("retry")
	}
	if !maps.Equal(base, want) || base["stoic.pipeline.name"].AsString() == "" || operation == "" {
		f.t.Errorf("span %s has the attributes %v", s.Name(), s.Attributes())
	}
	if s.Name() != name {
		f.t.Errorf("span %s, want %s", s.Name(), name)
	}
	if s.SpanKind() != trace.SpanKindInternal {
		f.t.Errorf("span %s is %v", s.Name(), s.SpanKind())
	}
	if s.Status().Code == codes.Ok {
		f.t.Errorf("span %s says Ok", s.Name())
	}
	if len(s.Links()) != 0 || s.DroppedAttributes() != 0 || s.DroppedEvents() != 0 {
		f.t.Errorf("span %s has links, or lost something", s.Name())
	}
	scope := s.InstrumentationScope()
	if scope.Version != otelhooks.Version || scope.SchemaURL != semconv.SchemaURL || scope.Attributes.Len() != 0 {
		f.t.Errorf("span %s is of %+v", s.Name(), scope)
	}
	return number, rest
}

// texts writes attributes sorted by key, so that the type of a value can be seen: 1 is an
// integer, 1.0 is not, "1" is a string.
func texts(attrs []attribute.KeyValue) string {
	var all []string
	for _, a := range attrs {
		v := fmt.Sprint(a.Value.AsInterface())
		switch a.Value.Type() { //nolint:exhaustive // the others are clear
		case attribute.STRING:
			v = fmt.Sprintf("%q", a.Value.AsString())
		case attribute.FLOAT64:
			if !strings.ContainsAny(v, ".e") {
				v += ".0"
			}
		}
		all = append(all, fmt.Sprintf("%s=%s", a.Key, v))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// wantTree compares the spans with want, of which the common indentation does not count.
func (f *fixture) wantTree(t *testing.T, want string) {
	t.Helper()
	if got, want := f.tree(), unindent(want); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func unindent(s string) string {
	lines := strings.Split(strings.Trim(s, "\n\t"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimLeft(l, "\t")
	}
	return strings.Join(lines, "\n") + "\n"
}
