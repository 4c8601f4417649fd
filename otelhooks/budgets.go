package otelhooks

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/stoic-go/stoic/hooks"
)

// budgets are those whose use is read when metrics are collected.
type budgets struct {
	mu   sync.Mutex
	list []observedBudget // only ever longer, so that a copy of the slice can be read without the lock
}

type observedBudget struct {
	budget  interface{ Utilization() float64 }
	options []metric.ObserveOption
	at      place
}

// attach notes a budget that can say how much of it is spent.
func (b *budgets) attach(pipeline string, l hooks.LayerInfo) {
	budget, ok := l.Policy.(interface{ Utilization() float64 })
	if !ok {
		return
	}
	at := place{pipeline, l.Name}
	set := attribute.NewSet(keyPipeline.String(pipeline), keyPolicy.String(policyName(l.Kind, l.Name)))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, observedBudget{budget, []metric.ObserveOption{metric.WithAttributeSet(set)}, at})
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
