package otelhooks_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// Durations are multiples of 1/8 s, whose sums a float64 holds exactly.
func TestMetricsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), thrice())
		ctx := t.Context()

		// Fail, fail, succeed: one call without an error, of three attempts.
		if err := p.Do(ctx, inTurn(lasting(125*ms, errTyped), lasting(250*ms, errPlain), lasting(500*ms, nil))); err != nil {
			t.Error(err)
		}
		if err := p.Do(ctx, lasting(125*ms, nil)); err != nil {
			t.Error(err)
		}
		// Another operation, exhausted: the error.type is that of the last attempt.
		refund := stoic.WithOperation(ctx, "refund")
		if err := p.Do(refund, inTurn(lasting(125*ms, errPlain), lasting(0, errPlain), lasting(7*sec, errTyped))); err == nil {
			t.Error("want an error")
		}

		ok := callOf("payments", "payments")
		failed := callOf("payments", "refund", "error.type", "down")
		wantMetric(t, f, "stoic.call.duration", histogramOf(
			durations([]time.Duration{2875 * ms, 125 * ms}, ok...),
			durations([]time.Duration{9125 * ms}, failed...)))
		wantMetric(t, f, "stoic.call.attempts", histogramOf(
			attemptCounts([]int64{3, 1}, ok...),
			attemptCounts([]int64{3}, failed...)))
		attempt := func(operation string, pairs ...string) []attribute.KeyValue {
			return callOf("payments", operation, append(pairs, "stoic.policy.name", "retry")...)
		}
		wantMetric(t, f, "stoic.attempt.duration", histogramOf(
			durations([]time.Duration{500 * ms, 125 * ms}, attempt("payments")...),
			durations([]time.Duration{125 * ms}, attempt("payments", "error.type", "down")...),
			durations([]time.Duration{250 * ms}, attempt("payments", "error.type", "*errors.errorString")...),
			durations([]time.Duration{125 * ms, 0}, attempt("refund", "error.type", "*errors.errorString")...),
			durations([]time.Duration{7 * sec}, attempt("refund", "error.type", "down")...)))
		wantNames(t, f, "stoic.call.duration", "stoic.call.attempts", "stoic.attempt.duration")
	})
}

// A stack without a retry sends one attempt, and has no attempt of its own.
func TestMetricsWithoutARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), deadline.New(sec))
		_ = p.Do(t.Context(), lasting(250*ms, nil))
		_ = p.Do(t.Context(), lasting(1500*ms, errPlain))
		ok, late := callOf("payments", "payments"), callOf("payments", "payments", "error.type", "deadline_exceeded")
		wantMetric(t, f, "stoic.call.duration", histogramOf(
			durations([]time.Duration{250 * ms}, ok...), durations([]time.Duration{1500 * ms}, late...)))
		wantMetric(t, f, "stoic.call.attempts", histogramOf(
			attemptCounts([]int64{1}, ok...), attemptCounts([]int64{1}, late...)))
		wantNames(t, f, "stoic.call.duration", "stoic.call.attempts")
	})
}

// A call that its caller canceled is counted, as no error.
func TestMetricsOfACanceledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), thrice())
		ctx, cancel := context.WithCancel(t.Context())
		err := p.Do(ctx, func(ctx context.Context) error {
			time.Sleep(250 * ms)
			cancel()
			return ctx.Err()
		})
		if err == nil {
			t.Error("want an error")
		}
		ok := callOf("payments", "payments")
		wantMetric(t, f, "stoic.call.duration", histogramOf(durations([]time.Duration{250 * ms}, ok...)))
		wantMetric(t, f, "stoic.call.attempts", histogramOf(attemptCounts([]int64{1}, ok...)))
		wantMetric(t, f, "stoic.attempt.duration", histogramOf(
			durations([]time.Duration{250 * ms}, append(ok, labels("stoic.policy.name", "retry")...)...)))
	})
}

// A caller that is done before it begins has a call of no attempts.
func TestMetricsOfACallThatNeverBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		circuit := breaker.New("db")
		p := stoic.MustNew("payments", stoic.Observe(f), thrice(), circuit)
		circuit.ForceOpen()
		if err := p.Do(t.Context(), lasting(0, nil)); err == nil {
			t.Error("want a rejection")
		}
		rejected := callOf("payments", "payments", "error.type", "circuit_open")
		wantMetric(t, f, "stoic.call.attempts", histogramOf(attemptCounts([]int64{0}, rejected...)))
		wantMetric(t, f, "stoic.policy.rejections", counterOf(pointAt[int64](1, labels(
			"stoic.pipeline.name", "payments", "stoic.policy.name", "db", "stoic.policy.type", "breaker",
			"stoic.rejection.reason", "circuit_open")...)))
		// It is no wait, and no attempt that took time.
		if _, ok := f.metrics()["stoic.rate_limit.wait.duration"]; ok {
			t.Error("the breaker's rejection is a wait for a limiter")
		}
	})
}

// What each policy refuses is counted under its name, its type and its reason.
func TestMetricsOfRejections(t *testing.T) {
	tests := []struct {
		reason, policy, kind string
		layers               func() []stoic.Policy
		calls                func(ctx context.Context, p *stoic.Pipeline)
	}{
		{
			"circuit_open", "db", "breaker",
			func() []stoic.Policy { return []stoic.Policy{breaker.New("db", breaker.ConsecutiveFailures(1))} },
			func(ctx context.Context, p *stoic.Pipeline) {
				for range 3 { // fails, refused, refused
					_ = p.Do(ctx, lasting(0, errPlain))
				}
			},
		},
		{
			"half_open_limit", "db", "breaker",
			func() []stoic.Policy {
				return []stoic.Policy{breaker.New("db", breaker.ConsecutiveFailures(1), breaker.OpenFor(sec))}
			},
			func(ctx context.Context, p *stoic.Pipeline) {
				_ = p.Do(ctx, lasting(0, errPlain))
				time.Sleep(sec + 1)
				_ = p.Do(ctx, func(ctx context.Context) error { // the probe
					for range 2 {
						_ = p.Do(ctx, lasting(0, nil))
					}
					return nil
				})
			},
		},
		{
			"budget_exhausted", "budget", "budget",
			func() []stoic.Policy {
				return []stoic.Policy{budget.New(budget.Ratio(0), budget.MinPerSecond(0)), thrice()}
			},
			func(ctx context.Context, p *stoic.Pipeline) {
				for range 2 {
					_ = p.Do(ctx, lasting(0, errPlain))
				}
			},
		},
		{
			"rate_limited", "rate_limit", "rate_limit",
			func() []stoic.Policy { return []stoic.Policy{ratelimit.New(1, 1)} },
			func(ctx context.Context, p *stoic.Pipeline) {
				for range 3 {
					_ = p.Do(ctx, lasting(0, nil))
				}
			},
		},
		{
			"deadline_too_short", "rate_limit", "rate_limit",
			func() []stoic.Policy {
				return []stoic.Policy{deadline.New(500 * ms), ratelimit.New(1, 1, ratelimit.Wait(time.Minute))}
			},
			func(ctx context.Context, p *stoic.Pipeline) {
				for range 3 {
					_ = p.Do(ctx, lasting(0, nil))
				}
			},
		},
		{
			"canceled", "rate_limit", "rate_limit",
			func() []stoic.Policy { return []stoic.Policy{ratelimit.New(1, 1, ratelimit.Wait(time.Minute))} },
			func(ctx context.Context, p *stoic.Pipeline) {
				_ = p.Do(ctx, lasting(0, nil))
				for range 2 {
					ctx, cancel := context.WithCancel(ctx)
					time.AfterFunc(250*ms, cancel)
					_ = p.Do(ctx, lasting(0, nil))
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				tt.calls(t.Context(), stoic.MustNew("payments", append([]stoic.Policy{stoic.Observe(f)}, tt.layers()...)...))
				wantMetric(t, f, "stoic.policy.rejections", counterOf(pointAt[int64](2, labels(
					"stoic.pipeline.name", "payments", "stoic.policy.name", tt.policy, "stoic.policy.type", tt.kind,
					"stoic.rejection.reason", tt.reason)...)))
			})
		})
	}
}

// All metrics but the default ones need the option.
func TestMetricsInDetailAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		everything(t, f)
		for _, name := range detailedMetrics {
			if m, ok := f.metrics()[name]; ok {
				t.Errorf("%s exists: %+v", name, m)
			}
		}
		wantNames(t, f, "stoic.call.duration", "stoic.call.attempts", "stoic.attempt.duration",
			"stoic.policy.rejections", "stoic.breaker.status")
	})
}

func TestMetricsInDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		everything(t, f)
		var all []string
		for _, m := range metricTable {
			all = append(all, m.name)
		}
		wantNames(t, f, all...)
		// Whoever uses the same run to compare names needs all of it.
		got := slices.Sorted(maps.Keys(f.values("stoic.rate_limit.result")))
		wantStrings(t, got, "acquired", "canceled", "rejected")
		got = slices.Sorted(maps.Keys(f.values("stoic.policy.type")))
		wantStrings(t, got, "breaker", "budget", "rate_limit")
	})
}

// The delay is the one that the retry announces: the time of a wait that was cut short
// is in the duration of its call.
func TestMetricsOfRetryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		p := stoic.MustNew("payments", stoic.Observe(f), retry.New(retry.MaxAttempts(3), retry.NoJitter(250*ms, 10*sec)))
		if err := p.Do(t.Context(), inTurn(lasting(0, errPlain), lasting(0, errPlain), lasting(0, nil))); err != nil {
			t.Error(err)
		}
		_ = p.Do(t.Context(), lasting(0, errPlain))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(125*ms, cancel)
		_ = p.Do(ctx, lasting(0, errPlain)) // canceled in the first wait
		wantMetric(t, f, "stoic.retry.delay", histogramOf(durations(
			[]time.Duration{250 * ms, 500 * ms, 250 * ms, 500 * ms, 250 * ms},
			labels("stoic.pipeline.name", "payments", "stoic.policy.name", "retry")...)))
	})
}

// Every call that did not pass at once is in one of three results.
func TestMetricsOfRateLimitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		p := stoic.MustNew("payments", stoic.Observe(f), ratelimit.New(1, 1, ratelimit.Wait(sec)))
		do := func(ctx context.Context) { _ = p.Do(ctx, lasting(0, nil)) }
		ctx := t.Context()
		do(ctx) // takes the only token, without a wait
		do(ctx) // waits 1s
		time.Sleep(250 * ms)
		do(ctx) // waits 750ms
		canceled, cancel := context.WithCancel(ctx)
		time.AfterFunc(125*ms, cancel)
		do(canceled)
		expired, stop := context.WithTimeout(ctx, 250*ms)
		defer stop()
		do(silent{expired}) // expires in the wait, since nothing tells the limiter before
		do(expired)         // done before it begins: it comes to no policy
		short, stop := context.WithTimeout(ctx, 250*ms)
		defer stop()
		do(short) // refused at once: the token would come too late
		go do(ctx)
		synctest.Wait()
		do(ctx) // refused at once: the next token is taken
		time.Sleep(10 * sec)
		synctest.Wait()

		result := func(name string) []attribute.KeyValue {
			return labels("stoic.pipeline.name", "payments", "stoic.policy.name", "rate_limit", "stoic.rate_limit.result", name)
		}
		wantMetric(t, f, "stoic.rate_limit.wait.duration", histogramOf(
			durations([]time.Duration{sec, 750 * ms, 625 * ms}, result("acquired")...),
			durations([]time.Duration{125 * ms, 250 * ms}, result("canceled")...),
			durations([]time.Duration{0, 0}, result("rejected")...)))
	})
}

// silent is a context that does not tell when it ends.
type silent struct{ context.Context }

func (silent) Deadline() (time.Time, bool) { return time.Time{}, false }

// An exemplar of an attempt's duration leads to the span of that attempt.
func TestMetricsHaveExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), thrice())
		_ = p.Do(t.Context(), inTurn(lasting(125*ms, errPlain), lasting(500*ms, errPlain), lasting(3*sec, nil)))

		inSpan := make(map[string]float64) // the value of the exemplar in each span
		exemplars := func(name string) (n int) {
			for _, p := range f.metrics()[name].Data.(metricdata.Histogram[float64]).DataPoints {
				for _, e := range p.Exemplars {
					inSpan[string(e.SpanID)] = e.Value
					n++
				}
			}
			return n
		}
		if got := exemplars("stoic.attempt.duration"); got != 3 {
			t.Errorf("%d exemplars of attempts, want 3", got)
		}
		if got := exemplars("stoic.call.duration"); got != 1 {
			t.Errorf("%d exemplars of calls, want 1", got)
		}
		for _, s := range f.spans.Ended() {
			id := s.SpanContext().SpanID()
			if got, want := inSpan[string(id[:])], s.EndTime().Sub(s.StartTime()).Seconds(); got != want {
				t.Errorf("the exemplar of %s has the value %v, its span took %v", s.Name(), got, want)
			}
		}
	})
}

// The scope is the package and the version, with the schema that names come from.
func TestMetricsScope(t *testing.T) {
	f := newFixture(t)
	_ = stoic.MustNew("payments", stoic.Observe(f)).Do(t.Context(), lasting(0, nil))
	var rm metricdata.ResourceMetrics
	if err := f.reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	if len(rm.ScopeMetrics) != 1 {
		t.Fatalf("%d scopes, want 1", len(rm.ScopeMetrics))
	}
	got := rm.ScopeMetrics[0].Scope
	if got.Name != "github.com/stoic-go/stoic/otelhooks" || got.Version != otelhooks.Version || got.SchemaURL != semconv.SchemaURL {
		t.Errorf("the scope is %+v", got)
	}
}

// One hook in two layers records each call once: the outer layer's.
func TestMetricsOfOneHookInTwoLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), thrice(), stoic.Observe(f))
		_ = p.Do(t.Context(), inTurn(lasting(125*ms, errPlain), lasting(125*ms, nil)))
		wantMetric(t, f, "stoic.call.duration", histogramOf(
			durations([]time.Duration{1250 * ms}, callOf("payments", "payments")...)))
	})
}
