//go:build !race

package budget_test

import (
	"context"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

func TestAllocations(t *testing.T) {
	b := budget.New(budget.Ratio(1), budget.MinPerSecond(1000))
	ctx := context.Background()
	around := func(l stoic.Policy) func() {
		p := stack(l, 3)
		return func() { _ = p.Do(ctx, succeed) }
	}
	tests := []struct {
		name string
		f    func()
		want float64
	}{
		{"success", around(b), 0},
		{"success through a view", around(b.WithdrawOnly()), 0},
		{"grant and refund", func() {
			ticket, _ := b.Reserve()
			b.Refund(ticket)
		}, 0},
		{"view", func() { _ = b.WithdrawOnly() }, 0},
		{"refusal", func() { _, _ = empty().Reserve() }, testing.AllocsPerRun(100, func() { empty() }) + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(1000, tt.f); got != tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}
