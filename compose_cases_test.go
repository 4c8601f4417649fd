package stoic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

// composeR is the retry R(n) of the cases.
func composeR(n int) *retry.Retry {
	return retry.New(retry.MaxAttempts(n), retry.NoJitter(100*time.Millisecond, 10*time.Second))
}

// composeEntries notes when an operation is entered.
type composeEntries struct {
	start time.Time
	at    []time.Duration
}

func (e *composeEntries) fn(f stoic.Func) stoic.Func {
	e.start = time.Now()
	return func(ctx context.Context) error {
		e.at = append(e.at, time.Since(e.start))
		return f(ctx)
	}
}

// want checks when the operation was entered and that now is the time of the return.
func (e *composeEntries) want(t *testing.T, returned time.Duration, entries ...time.Duration) {
	t.Helper()
	if got := time.Since(e.start); got != returned {
		t.Errorf("returned after %v, want %v", got, returned)
	}
	if !slices.Equal(e.at, entries) {
		t.Errorf("entered at %v, want %v", e.at, entries)
	}
}

func composeFail(context.Context) error { return errCompose }

func TestC44_OpenBreakerIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("p", composeR(5),
			breaker.New("b", breaker.ConsecutiveFailures(3), breaker.OpenFor(time.Minute), breaker.Probes(1)))
		var e composeEntries
		fn := e.fn(composeFail)

		// The fourth attempt finds the breaker open, and there is no fifth.
		err := p.Do(t.Context(), fn)
		e.want(t, 700*time.Millisecond, 0, 100*time.Millisecond, 300*time.Millisecond)
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, errCompose) || !errors.Is(err, gobreaker.ErrOpenState) {
			t.Errorf("first call: got %v, want it to match ErrOpen, gobreaker's and E", err)
		}

		err = p.Do(t.Context(), fn)
		e.want(t, 700*time.Millisecond, 0, 100*time.Millisecond, 300*time.Millisecond)
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, errCompose) {
			t.Errorf("second call: got %v, want it to match ErrOpen and gobreaker's, and not E", err)
		}

		time.Sleep(time.Minute + 1 - 400*time.Millisecond) // since it opened at 300 ms
		probing, end := make(chan struct{}), make(chan struct{})
		go func() {
			_ = p.Do(t.Context(), func(context.Context) error {
				close(probing)
				<-end
				return nil
			})
		}()
		<-probing
		err = p.Do(t.Context(), fn)
		e.want(t, time.Minute+300*time.Millisecond+1, 0, 100*time.Millisecond, 300*time.Millisecond)
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, gobreaker.ErrTooManyRequests) {
			t.Errorf("third call, half-open: got %v, want it to match ErrOpen and gobreaker's", err)
		}
		close(end)
		synctest.Wait()
		if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("after the probe: got %v, want nil", err)
		}
	})
}

func TestC45_BreakerInsideOrOutsideTheRetry(t *testing.T) {
	// Four failures on every logical call, then a success.
	recovering := func() stoic.Func {
		return func(ctx context.Context) error {
			if stoic.Attempt(ctx) <= 4 {
				return errCompose
			}
			return nil
		}
	}
	failing := func() stoic.Func { return composeFail }
	tests := []struct {
		name   string
		inside bool
		fn     func() stoic.Func
		runs   []int // after each call
		errs   []error
		state  []breaker.State
	}{
		{
			name: "inside, (a) fails always", inside: true, fn: failing,
			runs:  []int{3, 3},
			errs:  []error{breaker.ErrOpen, breaker.ErrOpen},
			state: []breaker.State{breaker.Open, breaker.Open},
		},
		{
			name: "inside, (b) fails four times", inside: true, fn: recovering,
			runs:  []int{3, 3},
			errs:  []error{breaker.ErrOpen, breaker.ErrOpen},
			state: []breaker.State{breaker.Open, breaker.Open},
		},
		{
			name: "outside, (a) fails always", fn: failing,
			runs:  []int{5, 10, 15, 15},
			errs:  []error{errCompose, errCompose, errCompose, breaker.ErrOpen},
			state: []breaker.State{breaker.Closed, breaker.Closed, breaker.Open, breaker.Open},
		},
		{
			name: "outside, (b) fails four times", fn: recovering,
			runs:  []int{5, 10, 15, 20},
			errs:  []error{nil, nil, nil, nil},
			state: []breaker.State{breaker.Closed, breaker.Closed, breaker.Closed, breaker.Closed},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New("b", breaker.ConsecutiveFailures(3), breaker.OpenFor(time.Hour))
				layers := []stoic.Policy{b, composeR(5)}
				if tt.inside {
					slices.Reverse(layers)
				}
				p := stoic.MustNew("p", layers...)
				var e composeEntries
				fn := e.fn(tt.fn())
				for i := range tt.runs {
					if err := p.Do(t.Context(), fn); !errors.Is(err, tt.errs[i]) {
						t.Errorf("call %d: got %v, want %v", i+1, err, tt.errs[i])
					}
					if got := len(e.at); got != tt.runs[i] {
						t.Errorf("call %d: %d runs so far, want %d", i+1, got, tt.runs[i])
					}
					if got := b.State(); got != tt.state[i] {
						t.Errorf("call %d: %v, want %v", i+1, got, tt.state[i])
					}
				}
			})
		})
	}
}

// A retry that an open breaker refuses was not sent, so its ticket goes back: the
// one retry of the budget is there for the next call.
func TestComposeRejectedRetryCostsTheBudgetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.1))
		p := stoic.MustNew("p", b, composeR(3), breaker.New("b", breaker.ConsecutiveFailures(1)))
		if err := p.Do(t.Context(), composeFail); !errors.Is(err, breaker.ErrOpen) {
			t.Errorf("got %v, want ErrOpen", err)
		}
		if _, err := b.Reserve(); err != nil {
			t.Errorf("reserve: got %v, want nil", err)
		}
		if _, err := b.Reserve(); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("reserve again: got %v, want ErrExhausted", err)
		}
	})
}
