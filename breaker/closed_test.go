package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

func block(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestC20_CancelledCallerIsNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(5, time.Minute, 1)...)
		r.feed(4, fail)
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			err := r.do(ctx, func(ctx context.Context) error {
				cancel()
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want canceled", err)
			}
		}
		r.wantState(breaker.Closed)
		r.wantCounts(0, 4, 4)
		r.feed(1, fail)
		r.wantState(breaker.Open)
		r.wantOps(105)
	})
}

// The error value proves nothing: an errgroup returns the cause, not ctx.Err().
func TestC20_CancelledCallerIsNeutralWhateverTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Minute, 1)...)
		ctx, cancel := context.WithCancel(t.Context())
		err := r.do(ctx, func(context.Context) error {
			cancel()
			return errDown
		})
		if !errors.Is(err, errDown) {
			t.Fatalf("got %v, want the error of the operation", err)
		}
		r.wantState(breaker.Closed)
		r.wantCounts(0, 0, 0)
	})
}

func TestCancelledCallerWithAResultIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(2, time.Minute, 1)...)
		r.feed(1, fail)
		ctx, cancel := context.WithCancel(t.Context())
		err := r.do(ctx, func(context.Context) error {
			cancel()
			return nil
		})
		if err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		r.wantCounts(1, 1, 0)
	})
}

func TestC21_TimeoutOfTheDependencyCounts(t *testing.T) {
	newBreaker := func() *breaker.Breaker { return breaker.New("db", inARow(3, time.Minute, 1)...) }
	tests := map[string]struct {
		layers func(*breaker.Breaker) []stoic.Policy
		op     stoic.Func
		target error
		took   time.Duration // by each call
	}{
		"a: deadline inside": {
			layers: func(b *breaker.Breaker) []stoic.Policy {
				return []stoic.Policy{b, deadline.New(100 * time.Millisecond)}
			},
			op: block, target: deadline.ErrExceeded, took: 100 * time.Millisecond,
		},
		"b: deadline outside": {
			layers: func(b *breaker.Breaker) []stoic.Policy {
				return []stoic.Policy{deadline.New(100 * time.Millisecond), b}
			},
			op: block, target: context.DeadlineExceeded, took: 100 * time.Millisecond,
		},
		"c: a cancel of its own": {
			layers: func(b *breaker.Breaker) []stoic.Policy { return []stoic.Policy{b} },
			op:     func(context.Context) error { return context.Canceled }, target: context.Canceled,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker()
				r := &rig{t: t, b: b, p: stoic.MustNew("pay", tt.layers(b)...), rec: &hookstest.Recorder{}}
				start := time.Now()
				for range 3 {
					r.wantState(breaker.Closed)
					if err := r.do(context.Background(), tt.op); !errors.Is(err, tt.target) {
						t.Fatalf("got %v, want %v", err, tt.target)
					}
				}
				if got := time.Since(start); got != 3*tt.took {
					t.Fatalf("took %v, want %v", got, 3*tt.took)
				}
				r.wantRejected()
				r.wantOps(3)
			})
		})
	}
}

// The deadline of the caller itself counts too; only a cancel does not.
func TestC21_DeadlineOfTheCallerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Minute, 1)...)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.do(ctx, block); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		r.wantState(breaker.Open)
	})
}

func TestC28_RateRuleNeedsVolume(t *testing.T) {
	tests := map[string]struct {
		calls func(*rig)
		want  breaker.State
	}{
		"a: 1 of 1 fails":   {func(r *rig) { r.feed(1, fail) }, breaker.Closed},
		"b: 9 of 9 fail":    {func(r *rig) { r.feed(9, fail) }, breaker.Closed},
		"c: the tenth":      {func(r *rig) { r.feed(10, fail) }, breaker.Open},
		"c: 5 of 10":        {func(r *rig) { r.feed(5, succeed); r.feed(5, fail) }, breaker.Open},
		"4 of 10 are fewer": {func(r *rig) { r.feed(6, succeed); r.feed(4, fail) }, breaker.Closed},
		"d: 14 of 10000": {func(r *rig) {
			for range 14 {
				r.feed(713, succeed)
				r.feed(1, fail)
			}
			r.feed(4, succeed)
		}, breaker.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, breaker.FailureRate(0.5, 10, 10*time.Second))
				tt.calls(r)
				r.wantState(tt.want)
			})
		})
	}
}

func TestC28_RateWithoutCallsIsZero(t *testing.T) {
	if got := breaker.New("db").Counts().FailureRate(); got != 0 {
		t.Errorf("e: no calls: got %v, want 0", got)
	}
	if got := (&breaker.Breaker{}).Counts().FailureRate(); got != 0 {
		t.Errorf("zero value: got %v, want 0", got)
	}
	if got := (breaker.Counts{Successes: 3, Failures: 1}).FailureRate(); got != 0.25 {
		t.Errorf("1 of 4: got %v, want 0.25", got)
	}
}

// Neutral calls are no calls: they count neither for the ratio nor for the minimum.
func TestC28_NeutralCallsAreNoVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, breaker.FailureRate(0.5, 10, 10*time.Second), breaker.Judge(notFoundIsNeutral))
		notFound := func(context.Context) error { return errNotFound }
		r.feed(100, notFound)
		r.feed(9, fail)
		r.wantState(breaker.Closed)
		r.feed(100, notFound)
		r.wantCounts(0, 9, 9)
		r.feed(1, fail)
		r.wantState(breaker.Open)
	})
}

func TestC39_RefusedRetryCountsOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(2, time.Minute, 1)...)
		r.p = stoic.MustNew("pay", stoic.Observe(r.rec),
			budget.New(budget.Ratio(0), budget.MinPerSecond(0)), retry.New(retry.MaxAttempts(3)), r.b)
		err := r.do(t.Context(), fail)
		if !errors.Is(err, errDown) || !errors.Is(err, budget.ErrExhausted) {
			t.Fatalf("got %v", err)
		}
		r.wantOps(1)
		r.wantState(breaker.Closed)
		r.wantCounts(0, 1, 1)
		if got := r.rec.Events(hooks.Reject); len(got) != 1 || got[0].Policy != stoic.KindBudget {
			t.Errorf("got %v, want one rejection, by the budget", got)
		}
	})
}
