package otelhooks

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/stoic-go/stoic/hooks"
)

// budgets are those whose use is read when metrics are collected.
type budgets struct {
	mu   sync.Mutex
	list []observedBudget // only ever longer, so that a copy of the slice can be read without the lock
	seen map[budgetAt]struct{}
}

// budgetAt is a budget at a place, where several stacks may have put it.
type budgetAt struct {
	place
	policy any
}

type observedBudget struct {
	budget  interface{ Utilization() float64 }
	options []metric.ObserveOption
	at      place
}

// attachBudget notes a budget that can say how much of it is spent, if that is asked for.
func (h *Hook) attachBudget(pipeline string, l hooks.LayerInfo) {
	if _, off := h.budgetUtilization.(noop.Float64ObservableGauge); off {
		return
	}
	budget, ok := l.Policy.(interface{ Utilization() float64 })
	if !ok {
		return
	}
	at := place{pipeline, l.Name}
	set := attribute.NewSet(keyPipeline.String(pipeline), keyPolicy.String(policyName(l.Kind, l.Name)))
	h.budgets.attach(observedBudget{budget, []metric.ObserveOption{metric.WithAttributeSet(set)}, at})
}

// attach notes a budget, once for each place.
func (b *budgets) attach(observed observedBudget) {
	comparable := reflect.ValueOf(observed.budget).Comparable()
	b.mu.Lock()
	defer b.mu.Unlock()
	if comparable {
		key := budgetAt{observed.at, observed.budget}
		if _, ok := b.seen[key]; ok {
			return
		}
		if b.seen == nil {
			b.seen = make(map[budgetAt]struct{})
		}
		b.seen[key] = struct{}{}
	}
	b.list = append(b.list, observed)
}

// observeBudgets is called by the meter when it collects. Of several budgets at one place
// the fullest counts: it is the one that refuses.
func (h *Hook) observeBudgets(_ context.Context, to metric.Observer) error {
	h.budgets.mu.Lock()
	list := slices.Clip(h.budgets.list)
	h.budgets.mu.Unlock()
	fullest := make(map[place]float64, len(list))
	for _, b := range list {
		fullest[b.at] = max(fullest[b.at], b.budget.Utilization())
	}
	for _, b := range list {
		to.ObserveFloat64(h.budgetUtilization, fullest[b.at], b.options...)
	}
	return nil
}
