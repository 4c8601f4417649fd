package retry_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// surfaces are the ways to run an operation under a retry of this package.
func surfaces() map[string]func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
	return map[string]func(t *testing.T, fn stoic.Func, opts ...retry.Option) error{
		"Do": func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
			t.Helper()
			return plain(t, retry.New(opts...)).Do(t.Context(), fn)
		},
		"Wrap": func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
			t.Helper()
			return plain(t, retry.New(opts...)).Wrap(fn)(t.Context())
		},
		"Get": func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
			t.Helper()
			value, err := stoic.Get(t.Context(), plain(t, retry.New(opts...)), func(ctx context.Context) (int, error) {
				return 7, fn(ctx)
			})
			if err != nil && value != 0 {
				t.Errorf("got value %d with an error", value)
			}
			return err
		},
		"retry.Do": func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
			t.Helper()
			return retry.Do(t.Context(), fn, opts...)
		},
		"nested pipeline": func(t *testing.T, fn stoic.Func, opts ...retry.Option) error {
			t.Helper()
			return plain(t, plain(t, retry.New(opts...))).Do(t.Context(), fn)
		},
	}
}

func TestC04_MaxAttemptsCountsTheFirstCall(t *testing.T) {
	for name, run := range surfaces() {
		t.Run(name, func(t *testing.T) {
			op := newOp(errBoom, errBoom, errBoom, errBoom, nil)
			identical(t, run(t, op.run, retry.MaxAttempts(4), retry.Constant(0)), errBoom)
			equal(t, "calls", op.calls(), 4)

			op = newOp(errBoom, nil)
			identical(t, run(t, op.run, retry.MaxAttempts(1), retry.Constant(0)), errBoom)
			equal(t, "calls", op.calls(), 1)
		})
	}
}

func TestC04_UnwantedResultsAreFailures(t *testing.T) {
	p := plain(t, retry.New(retry.MaxAttempts(4), retry.Constant(0)))
	calls := 0
	status, err := stoic.Get(t.Context(), p, func(context.Context) (int, error) {
		if calls++; calls == 5 {
			return 200, nil
		}
		return 503, nil
	}, stoic.FailIf(func(status int) error {
		if status == 503 {
			return errBoom
		}
		return nil
	}))
	identical(t, err, nil)
	equal(t, "status", status, 503)
	equal(t, "calls", calls, 4)
}

func TestC04_OneAttemptHasNoRetryEvent(t *testing.T) {
	p, rec := stack(t, retry.New(retry.MaxAttempts(1)))
	identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
	equal(t, "retry events", len(rec.Events(hooks.Retry)), 0)
}

func TestC52_RetryEventMeansAnotherAttemptFollows(t *testing.T) {
	type key struct{}
	tests := []struct {
		name   string
		script []error
		opts   []retry.Option
		cancel time.Duration
		want   int
	}{
		{"R(3) always fails", []error{errBoom}, nil, 0, 2},
		{"unlimited fails twice", []error{errBoom, errBoom, nil}, []retry.Option{retry.Unlimited()}, 0, 2},
		{"permanent on attempt 1", []error{retry.Permanent(errBoom)}, nil, 0, 0},
		{"cancel during the wait", []error{errBoom}, []retry.Option{retry.Constant(time.Hour)}, time.Millisecond, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "request 7"))
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				op := newOp(tt.script...)
				var events []hooks.Event
				var at []time.Duration
				h := hooks.OnEvent(func(ctx context.Context, e hooks.Event) {
					if e.Kind != hooks.Retry {
						return
					}
					equal(t, "value in the context", ctx.Value(key{}), "request 7")
					events, at = append(events, e), append(at, time.Since(op.start))
				})
				p := plain(t, stoic.Observe(h), retry.New(tt.opts...))
				_ = p.Do(ctx, op.run)
				equal(t, "retry events", len(events), tt.want)
				for i, e := range events {
					equal(t, "attempt", e.Attempt, i+1)
					identical(t, e.Err, errBoom)
					equal(t, "event at", at[i], op.times[i]) // before the sleep
					if i+1 < op.calls() {
						equal(t, "delay", e.Delay, op.gaps()[i])
					}
				}
				if tt.cancel == 0 {
					equal(t, "attempts that follow", op.calls()-1, tt.want)
				}
			})
		})
	}
}

func TestC52_EventCarriesTheVeryDelayThatIsSlept(t *testing.T) {
	var s sleeper
	p, rec := stack(t, retry.New(retry.MaxAttempts(20), retry.Sleep(s.sleep)))
	op := newOp(errBoom, retry.After(time.Minute, errBoom), errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	var announced []time.Duration
	for _, e := range rec.Events(hooks.Retry) {
		announced = append(announced, e.Delay)
	}
	if len(announced) != 19 || !slices.Equal(announced, s.slept) {
		t.Errorf("announced %v\nslept     %v", announced, s.slept)
	}
}

func TestC73_ConcurrentCallsShareNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, retry.New(retry.NoJitter(100*time.Millisecond, 10*time.Second)))
		ops := make([]*op, 100)
		var wg sync.WaitGroup
		for i := range ops {
			ops[i] = newOp(errBoom)
			wg.Go(func() { identical(t, p.Do(t.Context(), ops[i].run), errBoom) })
		}
		wg.Wait()
		time.Sleep(time.Hour)
		ops = append(ops, newOp(errBoom))
		identical(t, p.Do(t.Context(), ops[100].run), errBoom)
		want := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}
		for i, op := range ops {
			equal(t, "calls", op.calls(), 3)
			if got := op.gaps(); !slices.Equal(got, want) {
				t.Errorf("call %d: gaps %v, want %v", i, got, want)
			}
		}
	})
}

func TestC73_ConcurrentCallsWithJitter(t *testing.T) {
	for name, option := range map[string]retry.Option{
		"full":         retry.FullJitter(time.Microsecond, time.Millisecond),
		"equal":        retry.EqualJitter(time.Microsecond, time.Millisecond),
		"decorrelated": retry.DecorrelatedJitter(time.Microsecond, time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			p := plain(t, retry.New(option))
			ops := make([]*op, 100)
			var wg sync.WaitGroup
			for i := range ops {
				ops[i] = newOp(errBoom)
				wg.Go(func() { identical(t, p.Do(t.Context(), ops[i].run), errBoom) })
			}
			wg.Wait()
			for _, op := range ops {
				equal(t, "calls", op.calls(), 3)
			}
		})
	}
}

func TestC73_TwoPoliciesDoNotDrawTheSameJitter(t *testing.T) {
	var first, second sleeper
	for _, s := range []*sleeper{&first, &second} {
		p := plain(t, retry.New(retry.MaxAttempts(21), retry.Sleep(s.sleep)))
		identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
		equal(t, "sleeps", len(s.slept), 20)
	}
	if slices.Equal(first.slept, second.slept) {
		t.Errorf("both drew %v", first.slept)
	}
}

func TestC76_MaxAttemptsBelow1IsInvalid(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt} {
		op := newOp(nil)
		_, err := stoic.New("pay", retry.New(retry.MaxAttempts(n)))
		matches(t, err, stoic.ErrInvalid)
		matches(t, retry.Do(t.Context(), op.run, retry.MaxAttempts(n)), stoic.ErrInvalid)
		equal(t, "calls", op.calls(), 0)
	}
}

func TestC76_HugeMaxAttemptsEndsOnCancel(t *testing.T) {
	for name, option := range map[string]retry.Option{
		"MaxInt":     retry.MaxAttempts(math.MaxInt),
		"MaxInt - 1": retry.MaxAttempts(math.MaxInt - 1),
		"MaxInt32":   retry.MaxAttempts(math.MaxInt32),
		"Unlimited":  retry.Unlimited(),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			p := plain(t, retry.New(option, retry.Constant(0)))
			err := p.Do(ctx, func(context.Context) error {
				if calls++; calls == 1000 {
					cancel()
				}
				return errBoom
			})
			matches(t, err, context.Canceled, errBoom)
			equal(t, "calls", calls, 1000)
			if stopped, ok := errors.AsType[*retry.StoppedError](err); !ok || stopped.Attempts != 1000 {
				t.Errorf("got %#v, want a StoppedError after 1000 attempts", err)
			}
		})
	}
}
