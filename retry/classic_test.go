package retry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// The examples that any description of a retry starts with, to the number.

func TestClassicFullJitterTwoFailuresThenSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rec := stack(t, retry.New(retry.FullJitter(time.Second, 8*time.Second), retry.Rand(half)))
		op := newOp(errBoom, errBoom, nil)
		identical(t, p.Do(t.Context(), op.run), nil)
		equal(t, "calls", op.calls(), 3)
		if got, want := op.gaps(), []time.Duration{500e6, 1000e6}; !slices.Equal(got, want) {
			t.Errorf("gaps: got %v, want %v", got, want)
		}
		if got, want := kinds(rec.Events()), []hooks.EventKind{hooks.Retry, hooks.Retry}; !slices.Equal(got, want) {
			t.Errorf("events: got %v, want %v", got, want)
		}
	})
}

func TestClassicAlwaysFailingReturnsTheLastError(t *testing.T) {
	var s sleeper
	p := plain(t, retry.New(retry.MaxAttempts(4), retry.FullJitter(time.Second, 3*time.Second),
		retry.Rand(half), retry.Sleep(s.sleep)))
	op := newOp(errBoom, errBoom, errBoom, errLast)
	identical(t, p.Do(t.Context(), op.run), errLast)
	equal(t, "calls", op.calls(), 4)
	if want := []time.Duration{500e6, 1000e6, 1500e6}; !slices.Equal(s.slept, want) {
		t.Errorf("slept %v, want %v", s.slept, want)
	}
}

func TestClassicPermanentErrorRunsOnce(t *testing.T) {
	var s sleeper
	p := plain(t, retry.New(retry.Sleep(s.sleep), retry.If(accept)))
	permanent := retry.Permanent(errBoom)
	op := newOp(permanent)
	err := p.Do(t.Context(), op.run)
	identical(t, err, permanent)
	matches(t, err, errBoom)
	equal(t, "text", err.Error(), "boom")
	equal(t, "calls", op.calls(), 1)
	equal(t, "sleeps", len(s.slept), 0)
}

func TestClassicNoJitterSeries(t *testing.T) {
	var s sleeper
	p := plain(t, retry.New(retry.MaxAttempts(9), retry.NoJitter(100*time.Millisecond, 10*time.Second), retry.Sleep(s.sleep)))
	identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
	want := []time.Duration{100e6, 200e6, 400e6, 800e6, 1600e6, 3200e6, 6400e6, 10e9}
	if !slices.Equal(s.slept, want) {
		t.Errorf("slept %v, want %v", s.slept, want)
	}
}

func TestClassicDefaults(t *testing.T) {
	var s sleeper
	p := plain(t, retry.New(retry.Sleep(s.sleep), retry.Rand(half)))
	op := newOp(errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	equal(t, "calls", op.calls(), 3)
	if want := []time.Duration{50e6, 100e6}; !slices.Equal(s.slept, want) {
		t.Errorf("slept %v, want %v", s.slept, want)
	}

	s.slept = nil
	p = plain(t, retry.New(retry.MaxAttempts(10), retry.Sleep(s.sleep), retry.Rand(half)))
	identical(t, p.Do(t.Context(), op.run), errBoom)
	if got := s.slept[8]; got != 5*time.Second {
		t.Errorf("slept %v, want 5s: half of the max", got)
	}
}

func TestClassicFullOutage(t *testing.T) {
	tests := []struct {
		name   string
		budget stoic.Policy
		want   int // calls in 1000 logical ones
	}{
		{"load 5.0 without a budget", stoic.Observe(nil), 5000},
		{"load 1.1 with a budget", budget.New(budget.Ratio(0.1), budget.MinPerSecond(0)), 1100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := plain(t, tt.budget, retry.New(retry.MaxAttempts(5), retry.Constant(0)))
			op := newOp(errBoom)
			for range 1000 {
				matches(t, p.Do(t.Context(), op.run), errBoom)
			}
			equal(t, "calls", op.calls(), tt.want)
		})
	}
}

func TestClassicSameIdempotencyKeyOnEveryAttempt(t *testing.T) {
	p := plain(t, retry.New(retry.MaxAttempts(4), retry.Constant(0)))
	ctx := stoic.WithIdempotencyKey(t.Context(), "order-42")
	var keys []string
	var attempts []int
	identical(t, p.Do(ctx, func(ctx context.Context) error {
		keys = append(keys, stoic.IdempotencyKey(ctx))
		attempts = append(attempts, stoic.Attempt(ctx))
		return errBoom
	}), errBoom)
	if want := []string{"order-42", "order-42", "order-42", "order-42"}; !slices.Equal(keys, want) {
		t.Errorf("keys: got %q, want %q", keys, want)
	}
	if want := []int{1, 2, 3, 4}; !slices.Equal(attempts, want) {
		t.Errorf("attempts: got %v, want %v", attempts, want)
	}
}

func TestConstantWaitsTheSame(t *testing.T) {
	var s sleeper
	p := plain(t, retry.New(retry.MaxAttempts(4), retry.Constant(time.Minute), retry.Sleep(s.sleep)))
	identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
	if want := []time.Duration{time.Minute, time.Minute, time.Minute}; !slices.Equal(s.slept, want) {
		t.Errorf("slept %v, want %v", s.slept, want)
	}
}

// previous is what the backoff computed before, whatever a hint made of it.
func TestBackoffOfTheCallers(t *testing.T) {
	type call struct {
		n        int
		previous time.Duration
		rand     float64
	}
	var calls []call
	backoff := retry.BackoffFunc(func(n int, previous time.Duration, rand func() float64) time.Duration {
		calls = append(calls, call{n, previous, rand()})
		return []time.Duration{time.Second, -time.Second, time.Minute, time.Hour}[n]
	})
	var s sleeper
	p := plain(t, retry.New(retry.MaxAttempts(5), retry.WithBackoff(backoff), retry.Rand(half), retry.Sleep(s.sleep)))
	op := newOp(errBoom, errBoom, retry.After(time.Millisecond, errBoom), errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	want := []call{{0, 0, 0.5}, {1, time.Second, 0.5}, {2, 0, 0.5}, {3, time.Minute, 0.5}}
	if !slices.Equal(calls, want) {
		t.Errorf("Delay was called with %v, want %v", calls, want)
	}
	// A negative delay is 0, and that is no sleep.
	if want := []time.Duration{time.Second, time.Millisecond, time.Hour}; !slices.Equal(s.slept, want) {
		t.Errorf("slept %v, want %v", s.slept, want)
	}
}
