package deadline_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func TestC14_WhoseDeadlineItWas(t *testing.T) {
	stack := func() *stoic.Pipeline {
		return stoic.MustNew("payments", attempts(3), deadline.New(time.Second))
	}
	t.Run("a: the caller has none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			op := count(wait)
			err := stack().Do(t.Context(), op.run)
			op.want(t, 3, 3300*time.Millisecond)
			wantIs(t, err, deadline.ErrExceeded, context.DeadlineExceeded)
		})
	})
	t.Run("b: the caller's comes first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			op := count(wait)
			err := stack().Do(ctx, op.run)
			op.want(t, 2, 1500*time.Millisecond)
			if got := op.entered[1]; got != 1100*time.Millisecond {
				t.Errorf("second attempt at %v, want 1.1s", got)
			}
			wantIs(t, err, context.DeadlineExceeded)
			wantNot(t, err, deadline.ErrExceeded)
		})
	})
	t.Run("c: the caller cancels", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*time.Millisecond, cancel)
			op := count(wait)
			err := stack().Do(ctx, op.run)
			op.want(t, 1, 500*time.Millisecond)
			wantIs(t, err, context.Canceled)
			wantNot(t, err, deadline.ErrExceeded, context.DeadlineExceeded)
		})
	})
}

func TestC16_AnAttemptGetsTheSmallerLimit(t *testing.T) {
	tests := []struct {
		name             string
		caller, attempts time.Duration
		want             []time.Duration
	}{
		{"own, own, what is left", 2500 * time.Millisecond, time.Second, []time.Duration{time.Second, time.Second, 500 * time.Millisecond}},
		{"never longer than the caller's", time.Second, 10 * time.Second, []time.Duration{time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				p := stoic.MustNew("payments", retry.New(retry.MaxAttempts(5), retry.Constant(0)), deadline.New(tt.attempts))
				var left []time.Duration
				op := count(func(ctx context.Context) error {
					at, ok := ctx.Deadline()
					if !ok {
						t.Error("no deadline")
					}
					left = append(left, time.Until(at))
					return wait(ctx)
				})
				_ = p.Do(ctx, op.run)
				op.want(t, len(tt.want), tt.caller)
				for i, want := range tt.want {
					if i < len(left) && left[i] != want {
						t.Errorf("attempt %d had %v, want %v", i+1, left[i], want)
					}
				}
			})
		})
	}
}

func TestC17_ZeroAndNegativeAreInvalid(t *testing.T) {
	tests := []struct {
		name   string
		layers []stoic.Policy
		layer  int
		value  time.Duration
	}{
		{"zero", []stoic.Policy{deadline.New(0)}, 1, 0},
		{"negative", []stoic.Policy{deadline.New(-time.Second)}, 1, -time.Second},
		{"overall limit of zero", []stoic.Policy{deadline.New(0), attempts(3), deadline.New(time.Second)}, 1, 0},
		{"each attempt zero", []stoic.Policy{deadline.New(time.Second), attempts(3), deadline.New(0)}, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := stoic.New("payments", tt.layers...)
			wantIs(t, err, stoic.ErrInvalid)
			if p != nil {
				t.Error("got a pipeline as well")
			}
			invalid, ok := errors.AsType[*stoic.InvalidError](err)
			if !ok {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			if invalid.Policy != "deadline" || invalid.Field != "New" || invalid.Value != tt.value || invalid.Layer != tt.layer {
				t.Errorf("got %s %s(%v) of layer %d", invalid.Policy, invalid.Field, invalid.Value, invalid.Layer)
			}
		})
	}
	t.Run("zero value", func(t *testing.T) {
		_, err := stoic.New("payments", &deadline.Deadline{})
		wantIs(t, err, stoic.ErrInvalid)
		if !strings.Contains(err.Error(), "deadline.New") {
			t.Errorf("%q does not say how to make one", err)
		}
	})
}

func TestC18_LateResultLeaksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("payments", deadline.New(10*time.Millisecond))
		before := bubbleGoroutines()
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				var fail error
				if i%2 == 1 {
					fail = errDown
				}
				var response int // written late, read right after the return
				got, err := stoic.Get(t.Context(), p, func(context.Context) (int, error) {
					time.Sleep(50 * time.Millisecond)
					response = i + 1
					return i + 1, fail
				})
				if response != i+1 {
					t.Errorf("returned before the operation had ended")
				}
				switch {
				case fail == nil && (got != i+1 || err != nil):
					t.Errorf("a result in hand: got %d, %v", got, err)
				case fail != nil && (got != 0 || !errors.Is(err, deadline.ErrExceeded)):
					t.Errorf("timed out: got %d, %v; want the zero value, ErrExceeded", got, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		wantGoroutines(t, before)
	})
}

func TestC19_TimedOutAttemptsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("payments", attempts(3), deadline.New(10*time.Millisecond))
		var inside, most atomic.Int32
		op := count(func(context.Context) error {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			time.Sleep(100 * time.Millisecond)
			return errDown
		})
		err := p.Do(t.Context(), op.run)
		op.want(t, 3, 600*time.Millisecond) // three attempts and 100ms + 200ms between them
		wantIs(t, err, deadline.ErrExceeded, errDown)
		if got := most.Load(); got != 1 {
			t.Errorf("%d attempts at once, want 1", got)
		}
	})
}

func TestC47_DeadlineInsideOrOutside(t *testing.T) {
	second := deadline.New(time.Second)
	half := deadline.New(500 * time.Millisecond)
	limiter := func() stoic.Policy { // empty
		l := ratelimit.New(1, 1, ratelimit.Wait(time.Minute))
		_ = stoic.MustNew("drain", l).Do(context.Background(), func(context.Context) error { return nil })
		return l
	}
	tests := []struct {
		name   string
		layers func() []stoic.Policy
		fn     stoic.Func
		n      int
		took   time.Duration
		is     error
	}{
		{"retry, deadline", func() []stoic.Policy { return []stoic.Policy{attempts(3), second} }, wait, 3, 3300 * time.Millisecond, deadline.ErrExceeded},
		{"deadline, retry", func() []stoic.Policy { return []stoic.Policy{second, attempts(3)} }, wait, 1, time.Second, deadline.ErrExceeded},
		{"deadline, limiter", func() []stoic.Policy { return []stoic.Policy{half, limiter()} }, wait, 0, 0, ratelimit.ErrLimited},
		{"limiter, deadline", func() []stoic.Policy { return []stoic.Policy{limiter(), half} }, wait, 1, 1500 * time.Millisecond, deadline.ErrExceeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stoic.MustNew("payments", tt.layers()...)
				op := count(tt.fn)
				err := p.Do(t.Context(), op.run)
				op.want(t, tt.n, tt.took)
				wantIs(t, err, tt.is, context.DeadlineExceeded)
			})
		})
	}
	t.Run("limiter, deadline: entered with all of its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := stoic.MustNew("payments", limiter(), half)
			op := count(func(ctx context.Context) error {
				at, _ := ctx.Deadline()
				if left := time.Until(at); left != 500*time.Millisecond {
					t.Errorf("%v left, want 500ms", left)
				}
				return nil
			})
			if err := p.Do(t.Context(), op.run); err != nil {
				t.Error(err)
			}
			op.want(t, 1, time.Second)
		})
	})
}
