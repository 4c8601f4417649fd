//go:build !race

package deadline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

func TestAllocations(t *testing.T) {
	one := []stoic.Policy{deadline.New(time.Hour)}
	nested := []stoic.Policy{deadline.New(2 * time.Hour), deadline.New(time.Hour)}
	looks := func(ctx context.Context) error {
		_, _ = ctx.Deadline()
		_ = ctx.Value(key{})
		return ctx.Err()
	}
	tests := []struct {
		name   string
		layers []stoic.Policy
		fn     stoic.Func
		want   float64
	}{
		{"one", one, func(context.Context) error { return nil }, 1},
		{"one, looked at", one, looks, 1},
		{"nested", nested, func(context.Context) error { return nil }, 2},
		{"nested, looked at", nested, looks, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := stoic.MustNew("payments", tt.layers...)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if got := testing.AllocsPerRun(1000, func() { _ = p.Do(ctx, tt.fn) }); got != tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}
