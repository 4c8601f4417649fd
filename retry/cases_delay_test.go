package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

func TestC01_FirstRetryWaitsExactlyTheBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, retry.New(retry.MaxAttempts(6), retry.NoJitter(100*time.Millisecond, 10*time.Second)))
		op := newOp(errBoom)
		err := p.Do(t.Context(), op.run)
		identical(t, err, errBoom)
		equal(t, "calls", op.calls(), 6)
		equal(t, "returned after", time.Since(op.start), 3100*time.Millisecond)
		want := []time.Duration{100e6, 200e6, 400e6, 800e6, 1600e6}
		if got := op.gaps(); !slices.Equal(got, want) {
			t.Errorf("gaps: got %v, want %v", got, want)
		}
	})
}

func TestC02_MaxBelowBaseIsInvalid(t *testing.T) {
	options := map[string]func(base, max time.Duration) retry.Option{
		"NoJitter":           retry.NoJitter,
		"FullJitter":         retry.FullJitter,
		"EqualJitter":        retry.EqualJitter,
		"DecorrelatedJitter": retry.DecorrelatedJitter,
	}
	for name, option := range options {
		t.Run(name, func(t *testing.T) {
			_, err := stoic.New("pay", retry.New(retry.MaxAttempts(4), option(time.Second, 200*time.Millisecond)))
			matches(t, err, stoic.ErrInvalid)
			want := "pay: layer 1 (retry): " + name + "(1s, 200ms): base must not be negative, nor above max"
			equal(t, "error", fmt.Sprint(err), want)
		})
	}
}

func TestC02_EveryDrawIsBelowMax(t *testing.T) {
	const draws, retries = 10_000, 40
	options := map[string]func(base, max time.Duration) retry.Option{
		"FullJitter":         retry.FullJitter,
		"EqualJitter":        retry.EqualJitter,
		"DecorrelatedJitter": retry.DecorrelatedJitter,
	}
	for name, option := range options {
		t.Run(name, func(t *testing.T) {
			var (
				k     int
				first [retries]time.Duration
				vary  [retries]bool
				bad   int
			)
			sleep := func(_ context.Context, d time.Duration) error {
				if d < 0 || d > time.Second {
					bad++
				}
				if first[k] == 0 {
					first[k] = d
				}
				vary[k] = vary[k] || d != first[k]
				k++
				return nil
			}
			p := plain(t, retry.New(retry.MaxAttempts(retries+1), retry.Sleep(sleep), retry.If(accept),
				option(100*time.Millisecond, time.Second)))
			fail := func(context.Context) error { return errBoom }
			for range draws {
				k = 0
				identical(t, p.Do(t.Context(), fail), errBoom)
				equal(t, "sleeps", k, retries)
			}
			equal(t, "draws outside of [0, 1s]", bad, 0)
			for i, v := range vary {
				if !v {
					t.Errorf("retry %d: all %d draws are %v", i+1, draws, first[i])
				}
			}
		})
	}
}

func TestC03_NoWaitAfterTheLastAttempt(t *testing.T) {
	tests := []struct {
		name    string
		script  []error
		budget  int
		want    time.Duration
		calls   int
		retries int
	}{
		{"a: always fails", []error{errBoom}, 10, 2 * time.Hour, 3, 2},
		{"b: attempt 2 is permanent", []error{errBoom, retry.Permanent(errLast)}, 10, time.Hour, 2, 1},
		{"c: the budget refuses after attempt 2", []error{errBoom}, 1, time.Hour, 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, rec := stack(t, newBudget(tt.budget), retry.New(retry.MaxAttempts(3), retry.Constant(time.Hour)))
				op := newOp(tt.script...)
				if err := p.Do(t.Context(), op.run); err == nil {
					t.Error("got no error")
				}
				equal(t, "returned after", time.Since(op.start), tt.want)
				equal(t, "calls", op.calls(), tt.calls)
				equal(t, "retry events", len(rec.Events(hooks.Retry)), tt.retries)
			})
		})
	}
}

// codeError is an error with a concrete type to find.
type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprintf("code %d", e.code) }

// hintError asks for a wait by itself.
type hintError struct {
	after time.Duration
	known bool
}

func (e *hintError) Error() string                     { return "slow down" }
func (e *hintError) RetryAfter() (time.Duration, bool) { return e.after, e.known }

func TestC06_HintKeepsItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, retry.New(retry.MaxAttempts(3), retry.NoJitter(time.Millisecond, time.Millisecond)))
		cause := &codeError{429}
		hinted := retry.After(2*time.Second, cause)
		op := newOp(hinted)
		err := p.Do(t.Context(), op.run)
		identical(t, err, hinted)
		matches(t, err, cause)
		if got, ok := errors.AsType[*codeError](err); !ok || got != cause {
			t.Errorf("errors.As: got %v, want %v", got, cause)
		}
		equal(t, "text", err.Error(), "code 429")
		want := []time.Duration{2 * time.Second, 2 * time.Second}
		if got := op.gaps(); !slices.Equal(got, want) {
			t.Errorf("gaps: got %v, want %v", got, want)
		}
	})
}

func TestC09_HugeHintsWaitTheCap(t *testing.T) {
	// What 9223372036 s and more become, saturated, and what a method may return.
	for _, d := range []time.Duration{9223372036 * time.Second, math.MaxInt64, math.MaxInt64 - 1, 30*time.Second + 1} {
		for name, err := range map[string]error{
			"After":      retry.After(d, errBoom),
			"RetryAfter": &hintError{d, true},
			"wrapped":    fmt.Errorf("call: %w", &hintError{d, true}),
		} {
			t.Run(fmt.Sprintf("%s/%d", name, d), func(t *testing.T) {
				equal(t, "wait", waitFor(t, err), 30*time.Second)
			})
		}
	}
}

func TestC09_NegativeHintsAreZero(t *testing.T) {
	// A hint that overflowed is negative: 9223372037 s, unsaturated.
	seconds := int64(9223372037)
	for _, d := range []time.Duration{-1, math.MinInt64, time.Duration(seconds) * time.Second} {
		for _, failure := range []error{retry.After(d, errBoom), &hintError{d, true}} {
			equal(t, "wait", waitFor(t, failure), 0)
			p, rec := stack(t, retry.New(retry.MaxAttempts(2)))
			identical(t, p.Do(t.Context(), newOp(failure).run), failure)
			equal(t, "delay of the event", rec.Events(hooks.Retry)[0].Delay, 0)
		}
	}
}

// waitFor is the time between attempt 1, which fails with err, and attempt 2, with
// the default cap and a backoff of 7 ms.
func waitFor(t *testing.T, err error, opts ...retry.Option) time.Duration {
	t.Helper()
	var wait time.Duration
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, retry.New(append([]retry.Option{retry.MaxAttempts(2), retry.Constant(7 * time.Millisecond)}, opts...)...))
		op := newOp(err, nil)
		if err := p.Do(t.Context(), op.run); err != nil {
			t.Error(err)
		}
		wait = op.times[1]
	})
	return wait
}

func TestHintReplacesTheDelay(t *testing.T) {
	tests := []struct {
		name string
		err  error
		opts []retry.Option
		want time.Duration
	}{
		{"no hint", errBoom, nil, 7 * time.Millisecond},
		{"not known", &hintError{time.Second, false}, nil, 7 * time.Millisecond},
		{"longer than the backoff", retry.After(time.Second, errBoom), nil, time.Second},
		{"shorter than the backoff", retry.After(1, errBoom), nil, 1},
		{"zero", retry.After(0, errBoom), nil, 0},
		{"at the cap", retry.After(30*time.Second, errBoom), nil, 30 * time.Second},
		{"above the backoff's max", retry.After(29*time.Second, errBoom), nil, 29 * time.Second},
		{"above a cap of 1s", retry.After(time.Minute, errBoom), []retry.Option{retry.MaxRetryAfter(time.Second)}, time.Second},
		{"outermost first", retry.After(1, retry.After(2, errBoom)), nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			equal(t, "wait", waitFor(t, tt.err, tt.opts...), tt.want)
		})
	}
}

func TestC59_HintAboveTheCapWaitsTheCap(t *testing.T) {
	cap10 := retry.MaxRetryAfter(10 * time.Second)
	equal(t, "wait", waitFor(t, retry.After(time.Hour, errBoom), cap10), 10*time.Second)
	equal(t, "wait", waitFor(t, &hintError{time.Hour, true}, cap10), 10*time.Second)
}

func TestC59_HintAboveTheDeadlineReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		p := plain(t, retry.New(retry.MaxAttempts(2), retry.MaxRetryAfter(10*time.Second)))
		op := newOp(retry.After(time.Hour, errBoom))
		err := p.Do(ctx, op.run)
		matches(t, err, errBoom, context.DeadlineExceeded)
		equal(t, "returned after", time.Since(op.start), 0)
		equal(t, "calls", op.calls(), 1)
	})
}

func TestC77_EmptyJitterRange(t *testing.T) {
	options := map[string]func(base, max time.Duration) retry.Option{
		"NoJitter":           retry.NoJitter,
		"FullJitter":         retry.FullJitter,
		"EqualJitter":        retry.EqualJitter,
		"DecorrelatedJitter": retry.DecorrelatedJitter,
		"Constant":           func(base, _ time.Duration) retry.Option { return retry.Constant(base) },
	}
	// The least part of the delay that a jitter leaves; there is no percentage.
	ranges := []struct{ base, max, low, high time.Duration }{
		{0, 0, 0, 0},
		{0, time.Second, 0, 0},
		{1, 1, 0, 1},
		{5, 5, 0, 5},
		{math.MaxInt64, math.MaxInt64, 0, math.MaxInt64},
	}
	for name, option := range options {
		for _, r := range ranges {
			t.Run(fmt.Sprintf("%s(%d, %d)", name, r.base, r.max), func(t *testing.T) {
				for _, random := range []float64{0, 0.5, math.Nextafter(1, 0)} {
					var s sleeper
					p := plain(t, retry.New(retry.MaxAttempts(6), retry.Sleep(s.sleep), option(r.base, r.max),
						retry.Rand(func() float64 { return random })))
					identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
					for _, d := range s.slept {
						if d < r.low || d > r.high || (name == "NoJitter" || name == "Constant") && d != r.base {
							t.Errorf("slept %v, want from %v to %v, without jitter %v", d, r.low, r.high, r.base)
						}
					}
				}
			})
		}
	}
}

// withoutHint could carry a hint and has none.
type withoutHint struct{ error }

func (e withoutHint) Unwrap() error                     { return e.error }
func (e withoutHint) RetryAfter() (time.Duration, bool) { return 0, false }

// An error that could ask for a wait and does not hides none below it, or beside it.
func TestHintBelowAnErrorWithoutOne(t *testing.T) {
	for name, err := range map[string]error{
		"below":  withoutHint{retry.After(2*time.Second, errBoom)},
		"beside": errors.Join(withoutHint{errBoom}, retry.After(2*time.Second, errBoom)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_ = plain(t, retry.New(retry.MaxAttempts(2), retry.Constant(0))).Do(t.Context(), newOp(err).run)
				equal(t, "waited", time.Since(start), 2*time.Second)
			})
		})
	}
}
