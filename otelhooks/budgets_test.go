package otelhooks_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.opentelemetry.io/otel/attribute"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
)

// ofBudget are the attributes of a budget that has no name.
func ofBudget(pipeline string) []attribute.KeyValue {
	return labels("stoic.pipeline.name", pipeline, "stoic.policy.name", "budget")
}

func gaugeOf(points ...metricdata.DataPoint[float64]) metricdata.Gauge[float64] {
	return metricdata.Gauge[float64]{DataPoints: points}
}

// eight is a budget of eight retries in 10 s, whatever the requests.
func eight() *budget.Budget { return budget.New(budget.Ratio(0), budget.MinPerSecond(0.8)) }

// The share that is spent is read when metrics are collected: it falls without a call.
func TestBudgetUtilization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		p := stoic.MustNew("payments", stoic.Observe(f), eight(), thrice())
		want := func(share float64) {
			t.Helper()
			wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(share, ofBudget("payments")...)))
		}
		want(0) // before the first call
		_ = p.Do(t.Context(), lasting(0, nil))
		want(0)
		_ = p.Do(t.Context(), inTurn(lasting(0, errPlain), lasting(0, nil)))
		want(0.125)
		_ = p.Do(t.Context(), lasting(0, errPlain)) // two retries
		want(0.375)
		for range 3 {
			_ = p.Do(t.Context(), lasting(0, errPlain)) // two, two, and one more
		}
		want(1)
		time.Sleep(10 * sec)
		want(0)
	})
}

// A retry that waits counts, and one that was never sent does not.
func TestBudgetUtilizationDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		p := stoic.MustNew("payments", stoic.Observe(f), eight(), thrice())
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = p.Do(ctx, lasting(0, errPlain)) }()
		synctest.Wait()
		wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.125, ofBudget("payments")...)))
		cancel()
		synctest.Wait()
		wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.0, ofBudget("payments")...)))
	})
}

// A budget that pipelines share, the view of it too, is the same share in each.
func TestBudgetUtilizationOfASharedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		shared := eight()
		reads := stoic.MustNew("reads", stoic.Observe(f), shared, thrice())
		stoic.MustNew("writes", stoic.Observe(f), shared, thrice())
		stoic.MustNew("client", stoic.Observe(f), shared.WithdrawOnly(), thrice())
		stoic.MustNew("other", stoic.Observe(f), eight(), thrice())
		_ = reads.Do(t.Context(), inTurn(lasting(0, errPlain), lasting(0, nil)))
		wantMetric(t, f, "stoic.budget.utilization", gaugeOf(
			pointAt(0.125, ofBudget("reads")...), pointAt(0.125, ofBudget("writes")...),
			pointAt(0.125, ofBudget("client")...), pointAt(0.0, ofBudget("other")...)))
	})
}

// Of several at one place the fullest counts, wherever it is in the order.
func TestBudgetUtilizationOfTheFullest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		for _, spent := range []int{1, 3, 2} {
			b := eight()
			stoic.MustNew("payments", stoic.Observe(f), b, thrice())
			for range spent {
				if _, err := b.Reserve(); err != nil {
					t.Fatal(err)
				}
			}
		}
		wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.375, ofBudget("payments")...)))
	})
}

// ownBudget is a budget of another package.
type ownBudget struct {
	stoic.Budget
	name string
	ask  func() float64
}

func (b *ownBudget) Describe() stoic.Description {
	return stoic.Description{Kind: stoic.KindBudget, Name: b.name}
}

func (b *ownBudget) Utilization() float64 { return b.ask() }

// It is asked with no lock held: what it does may make another pipeline.
func TestBudgetUtilizationOfAForeignBudget(t *testing.T) {
	f := newFixture(t, otelhooks.WithDetailedMetrics())
	made := false
	stoic.MustNew("payments", stoic.Observe(f), &ownBudget{budget.New(), "theirs", func() float64 {
		if !made {
			made = true
			stoic.MustNew("another", stoic.Observe(f), budget.New(), thrice())
		}
		return 0.75
	}}, thrice())
	theirs := pointAt(0.75, labels("stoic.pipeline.name", "payments", "stoic.policy.name", "theirs")...)
	wantMetric(t, f, "stoic.budget.utilization", gaugeOf(theirs))
	wantMetric(t, f, "stoic.budget.utilization", gaugeOf(theirs, pointAt(0.0, ofBudget("another")...)))
}

// muteBudget cannot say how much of it is spent.
type muteBudget struct{}

func (muteBudget) Describe() stoic.Description { return stoic.Description{Kind: stoic.KindBudget} }

func (muteBudget) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

func TestBudgetUtilizationOfOneThatCannotSay(t *testing.T) {
	f := newFixture(t, otelhooks.WithDetailedMetrics())
	p := stoic.MustNew("payments", stoic.Observe(f), muteBudget{})
	_ = p.Do(t.Context(), lasting(0, nil))
	wantNames(t, f, "stoic.call.duration", "stoic.call.attempts")
}

// A budget that nobody wants to see is not asked.
func TestBudgetUtilizationIsNotAskedFor(t *testing.T) {
	tests := map[string][]otelhooks.Option{
		"not in detail": nil,
		"metrics off":   {otelhooks.WithDetailedMetrics(), otelhooks.WithMeterProvider(noopmetric.NewMeterProvider())},
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, opts...)
			asked := 0
			p := stoic.MustNew("payments", stoic.Observe(f), &ownBudget{budget.New(), "", func() float64 { asked++; return 1 }}, thrice())
			_ = p.Do(t.Context(), lasting(0, nil))
			if _, ok := f.metrics()["stoic.budget.utilization"]; ok || asked > 0 {
				t.Errorf("there is a gauge: %v; the budget was asked %d times", ok, asked)
			}
		})
	}
}

// A pipeline that nothing was collected for has no share yet, and Attach makes it.
func TestBudgetUtilizationIsThatOfAttach(t *testing.T) {
	f := newFixture(t, otelhooks.WithDetailedMetrics())
	f.Attach("late", []hooks.LayerInfo{{Kind: stoic.KindBudget, Policy: budget.New()}})
	wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.0, ofBudget("late")...)))
}

// A budget whose use nobody sees is not kept: a program may make stacks as it goes.
func TestBudgetIsKeptOnlyWhereItsUseIsSeen(t *testing.T) {
	tests := map[string]struct {
		opts []otelhooks.Option
		kept bool
	}{
		"default":   {nil, false},
		"in detail": {[]otelhooks.Option{otelhooks.WithDetailedMetrics()}, true},
		"metrics off": {[]otelhooks.Option{
			otelhooks.WithDetailedMetrics(), otelhooks.WithMeterProvider(noopmetric.NewMeterProvider()),
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.opts...)
			b := budget.New()
			made := weak.Make(b)
			stoic.MustNew("payments", stoic.Observe(f), b, thrice())
			runtime.KeepAlive(b)
			runtime.GC()
			if kept := made.Value() != nil; kept != tt.kept {
				t.Errorf("kept: %v, want %v", kept, tt.kept)
			}
			runtime.KeepAlive(f)
		})
	}
}

// A stack that is made again and again with the same budget is one place.
func TestBudgetUtilizationIsAskedOnceForEachPlace(t *testing.T) {
	f := newFixture(t, otelhooks.WithDetailedMetrics())
	asked := 0
	shared := &ownBudget{budget.New(), "", func() float64 { asked++; return 0.5 }}
	for range 3 {
		stoic.MustNew("reads", stoic.Observe(f), shared, thrice())
	}
	stoic.MustNew("writes", stoic.Observe(f), shared, thrice())
	wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.5, ofBudget("reads")...), pointAt(0.5, ofBudget("writes")...)))
	if asked != 2 {
		t.Errorf("the budget was asked %d times, want once for each pipeline", asked)
	}
}

// valueBudget is a layer that cannot be compared.
type valueBudget struct {
	muteBudget
	spent []float64
}

func (b valueBudget) Utilization() float64 { return b.spent[0] }

func TestBudgetUtilizationOfOneThatCannotBeCompared(t *testing.T) {
	f := newFixture(t, otelhooks.WithDetailedMetrics())
	for _, spent := range []float64{0.25, 0.75, 0.5} {
		stoic.MustNew("payments", stoic.Observe(f), valueBudget{spent: []float64{spent}})
	}
	wantMetric(t, f, "stoic.budget.utilization", gaugeOf(pointAt(0.75, ofBudget("payments")...)))
}
