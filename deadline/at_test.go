package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// When two layers end is computed from one another; it must not matter what deadline the
// caller has, or whether its time has a monotonic reading.
func TestNestedDeadlinesUnderAnyCaller(t *testing.T) {
	tests := []struct {
		name     string
		deadline func() (time.Time, bool)
		took     time.Duration
		own      bool // one of the layers' time ran out, not the caller's
	}{
		{"none", func() (time.Time, bool) { return time.Time{}, false }, time.Second, true},
		{"far beyond what a Duration holds", func() (time.Time, bool) { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), true }, time.Second, true},
		{"later, without a monotonic reading", func() (time.Time, bool) { return time.Now().Add(time.Hour).Round(0), true }, time.Second, true},
		{"between the two", func() (time.Time, bool) { return time.Now().Add(1500 * time.Millisecond), true }, time.Second, true},
		{"earlier", func() (time.Time, bool) { return time.Now().Add(time.Second / 2), true }, time.Second / 2, false},
		{"earlier, without a monotonic reading", func() (time.Time, bool) { return time.Now().Add(time.Second / 2).Round(0), true }, time.Second / 2, false},
	}
	for _, tt := range tests {
		for name, limits := range map[string][]time.Duration{
			"inner shorter": {2 * time.Second, time.Second},
			"outer shorter": {time.Second, 2 * time.Second},
			"three":         {3 * time.Second, time.Second, 2 * time.Second},
		} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := t.Context(), context.CancelFunc(func() {})
					if at, ok := tt.deadline(); ok {
						ctx, cancel = context.WithDeadline(ctx, at)
					}
					defer cancel()
					var layers []stoic.Policy
					for _, limit := range limits {
						layers = append(layers, deadline.New(limit))
					}
					start := time.Now()
					err := stoic.MustNew("p", layers...).Do(ctx, wait)
					if took := time.Since(start); took != tt.took {
						t.Errorf("took %s, want %s", took, tt.took)
					}
					if got := errors.Is(err, deadline.ErrExceeded); got != tt.own || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want ErrExceeded: %t", err, tt.own)
					}
				})
			})
		}
	}
}
