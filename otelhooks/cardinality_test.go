package otelhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

const many = 10_000

// metricKeys are the attributes that only names in the program and closed lists go into.
var metricKeys = map[string]bool{
	"stoic.pipeline.name": true, "stoic.operation.name": true, "stoic.policy.name": true, "stoic.policy.type": true,
	"stoic.breaker.state": true, "stoic.rejection.reason": true, "stoic.rate_limit.result": true, "error.type": true,
}

// values returns all values of one attribute on all metrics, and checks that no other
// attribute than those that are documented is there.
func (f *fixture) values(key attribute.Key) map[string]bool {
	f.t.Helper()
	found := make(map[string]bool)
	for name, m := range f.metrics() {
		for _, set := range labelSets(f.t, m) {
			for _, kv := range set.ToSlice() {
				if !metricKeys[string(kv.Key)] {
					f.t.Errorf("%s has the attribute %s", name, kv.Key)
				}
				if kv.Key == key {
					found[kv.Value.AsString()] = true
				}
			}
		}
	}
	return found
}

// distinct makes an error with a text, a URL and a type like no other.
func distinct(i int) error {
	text := fmt.Sprintf("secret-%d at https://user:s3cr3t@host/path-%d?token=hunter2", i, i)
	switch i % 6 {
	case 0:
		return errors.New(text)
	case 1:
		return &url.Error{Op: "Get", URL: "https://host/path-" + text, Err: errors.New(text)}
	case 2:
		return fmt.Errorf("%s: %w", text, context.DeadlineExceeded)
	case 3:
		return &typedError{text} // its ErrorType is the text
	case 4:
		return &typedError{fmt.Sprintf("/path-%d", i)}
	default:
		return &stoic.Rejection{Policy: "own", Reason: text, Err: errPlain, Type: text}
	}
}

func TestC57_MetricAttributesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		limiter := stoic.PolicyFunc("own", func(ctx context.Context, next stoic.Next) error {
			err := next.Do(ctx)
			if r, ok := errors.AsType[*stoic.Rejection](err); ok {
				next.Emit(ctx, hooks.Event{Kind: hooks.Reject, Policy: "own", Err: r, Reason: r.Type})
			}
			return err
		})
		p := stoic.MustNew("payments", stoic.Observe(f), retry.New(retry.MaxAttempts(2), retry.Constant(1)),
			breaker.New("db", breaker.ConsecutiveFailures(many*2)), limiter)
		for i := range many {
			if err := p.Do(t.Context(), func(context.Context) error { return distinct(i) }); err == nil {
				t.Fatal("want an error")
			}
		}
		for name, m := range f.metrics() {
			all := labelSets(t, m)
			if len(all) >= 20 {
				t.Errorf("%s has %d attribute sets, want fewer than 20", name, len(all))
			}
			for _, set := range all {
				for _, text := range []string{"secret", "path", "hunter2", "host", "s3cr3t"} {
					if s := set.Encoded(attribute.DefaultEncoder()); strings.Contains(s, text) {
						t.Errorf("%s has the attributes %s", name, s)
					}
				}
			}
		}
		if got := recorded(t, f.metrics()["stoic.call.duration"]); got != many {
			t.Errorf("%d calls, want %d", got, many)
		}
		if got := f.values("error.type"); !got["_OTHER"] {
			t.Errorf("the values of error.type are %v, want _OTHER among them", got)
		}
	})
}

// Names that look like names are bounded too: 33 values with _OTHER, of which stoic's own
// have their places whatever came before.
func TestCardinalityOfErrorTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.stack(retry.New(retry.MaxAttempts(2), retry.Constant(1)), breaker.New("db"))
		quiet := f.stack()
		for i := range many {
			_ = quiet.Do(t.Context(), lasting(0, &typedError{fmt.Sprintf("tenant.%d.error", i)}))
		}
		got := f.values("error.type")
		if len(got) > 33 || !got["_OTHER"] || !got["tenant.0.error"] {
			t.Errorf("%d values of error.type, want at most 33 and the first ones: %v", len(got), got)
		}
		tenants := 0
		for value := range got {
			if strings.HasPrefix(value, "tenant.") {
				tenants++
			}
		}
		if tenants != 32-10 {
			t.Errorf("%d values that are not stoic's own, want 22: ten places are kept", tenants)
		}
		// One hook bounds all its pipelines.
		_ = p.Do(t.Context(), lasting(0, &typedError{"one.more"}))
		// stoic's own come late and are there all the same.
		_ = p.Do(t.Context(), lasting(0, context.DeadlineExceeded))
		func() {
			defer func() { _ = recover() }()
			_ = p.Do(t.Context(), func(context.Context) error { panic("boom") })
		}()
		got = f.values("error.type")
		if len(got) > 33 || got["one.more"] || !got["deadline_exceeded"] || !got["panic"] {
			t.Errorf("%d values of error.type, want at most 33, panic and deadline_exceeded among them: %v", len(got), got)
		}
		if n := recorded(t, f.metrics()["stoic.call.duration"]); n != many+3 {
			t.Errorf("%d calls, want %d", n, many+3)
		}
	})
}

// What an error says of itself is a name or it is _OTHER.
func TestErrorTypesThatAreNoNames(t *testing.T) {
	tests := []struct{ said, want string }{
		{"rate_limited_by_them", "rate_limited_by_them"},
		{"aws.ThrottlingException", "aws.ThrottlingException"},
		{"*net.OpError", "*net.OpError"},
		{"*cache.Entry[github.com/x/y.Key,int]", "*cache.Entry[github.com/x/y.Key,int]"},
		{"503", "503"},
		{"https://host/path?token=hunter2", "_OTHER"},
		{"https://host", "_OTHER"},
		{"/v1/users/7", "_OTHER"},
		{"connection refused", "_OTHER"},
		{"user=7", "_OTHER"},
		{"tab\there", "_OTHER"},
		{"naïve", "_OTHER"},
		{"\xff", "_OTHER"},
		{strings.Repeat("x", 128), strings.Repeat("x", 128)},
		{strings.Repeat("x", 129), "_OTHER"},
		{"", "*otelhooks_test.typedError"}, // says nothing
	}
	for _, tt := range tests {
		t.Run(tt.said, func(t *testing.T) {
			f := newFixture(t)
			_ = f.stack().Do(t.Context(), func(context.Context) error { return &typedError{tt.said} })
			if got := f.values("error.type"); len(got) != 1 || !got[tt.want] {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}

// Ids in place of names of operations make no series without end, and no call is lost.
func TestCardinalityOfOperations(t *testing.T) {
	f := newFixture(t)
	p := f.stack(retry.New())
	for i := range many {
		_ = p.Do(stoic.WithOperation(t.Context(), fmt.Sprintf("order-%d", i)), func(context.Context) error { return nil })
	}
	for _, name := range []string{"stoic.call.duration", "stoic.call.attempts", "stoic.attempt.duration"} {
		m := f.metrics()[name]
		if n := recorded(t, m); n != many {
			t.Errorf("%s has %d values, want %d", name, n, many)
		}
		// 1000, of which the pipeline's own is not used yet, and those that are too many.
		if n := len(labelSets(t, m)); n != 1000 {
			t.Errorf("%s has %d series, want 1000", name, n)
		}
	}
	names := f.values("stoic.operation.name")
	if !names["order-0"] || !names["_OTHER"] || names["order-9999"] {
		t.Errorf("%d names; the first: %v, _OTHER: %v, the last: %v", len(names), names["order-0"], names["_OTHER"], names["order-9999"])
	}
	// The pipeline itself, and one that is made now, are told apart from the rest.
	_ = p.Do(t.Context(), func(context.Context) error { return nil })
	_ = stoic.MustNew("late", stoic.Observe(f)).Do(t.Context(), func(context.Context) error { return nil })
	if got := f.values("stoic.operation.name"); !got["payments"] {
		t.Error("a call without an operation is counted with the rest")
	}
	if got := f.values("stoic.pipeline.name"); len(got) != 2 || !got["late"] {
		t.Errorf("the pipelines are %v, want payments and late", got)
	}
}

// Spans keep to the same names: a name that is too much for metrics is none for spans.
func TestCardinalityOfSpanNames(t *testing.T) {
	f := newFixture(t)
	p := f.stack(retry.New())
	for i := range 2000 {
		_ = p.Do(stoic.WithOperation(t.Context(), fmt.Sprintf("order-%d", i)), func(context.Context) error { return nil })
	}
	names := make(map[string]bool)
	for _, s := range f.spans.Ended() {
		names[s.Name()] = true
	}
	if len(names) > 2*1001 || !names["_OTHER"] || !names["attempt _OTHER"] {
		t.Errorf("%d names of spans", len(names))
	}
}

// Pipelines without end, such as one for each request, are bounded as well.
func TestCardinalityOfPipelines(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	f := newFixture(t, otelhooks.WithMeterProvider(sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(0)))) // not the SDK's bound
	f.reader = reader
	for i := range 2100 {
		p := stoic.MustNew(fmt.Sprintf("tenant-%d", i), stoic.Observe(f))
		_ = p.Do(t.Context(), func(context.Context) error { return nil })
	}
	m := f.metrics()["stoic.call.duration"]
	if n := recorded(t, m); n != 2100 {
		t.Errorf("%d calls, want 2100", n)
	}
	if n := len(labelSets(t, m)); n != 2001 {
		t.Errorf("%d series, want 2001", n)
	}
}

// A reason for a rejection is one of the names that error.type knows, or _OTHER.
func TestCardinalityOfRejectionReasons(t *testing.T) {
	f := newFixture(t)
	i := 0
	own := stoic.PolicyFunc("own", func(ctx context.Context, next stoic.Next) error {
		i++
		next.Emit(ctx, hooks.Event{Kind: hooks.Reject, Policy: "own", Name: "theirs", Reason: fmt.Sprintf("reason-%d", i)})
		return &stoic.Rejection{Policy: "own", Reason: "no", Err: errPlain, Type: fmt.Sprintf("reason-%d", i)}
	})
	p := f.stack(own)
	for range many {
		_ = p.Do(t.Context(), func(context.Context) error { return nil })
	}
	if got := f.values("stoic.rejection.reason"); len(got) > 33 || !got["_OTHER"] || !got["reason-1"] {
		t.Errorf("%d reasons: %v", len(got), got)
	}
	var total int64
	for _, p := range f.metrics()["stoic.policy.rejections"].Data.(metricdata.Sum[int64]).DataPoints {
		total += p.Value
	}
	if total != many {
		t.Errorf("%d rejections, want %d", total, many)
	}
}
