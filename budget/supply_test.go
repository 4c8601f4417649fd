package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

func TestC31_NothingIsSavedUpAndNothingIsOwed(t *testing.T) {
	t.Run("a: a million requests are forgotten with their window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(1), budget.Window(10*time.Second))
			p := stack(b, 2)
			request(t, p, 1_000_000)
			wantBalance(t, b, 100_010)

			time.Sleep(10 * time.Second)
			op := &operation{err: errDown}
			for range 11 { // 11 requests add 1.1 to the 10 of the minimum
				_ = p.Do(t.Context(), op.run)
			}
			wantEntered(t, op, 11+10+1)

			time.Sleep(10 * time.Second)
			if got := len(take(t, b, 100)); got != 10 {
				t.Errorf("%d retries, want exactly min · window = 10", got)
			}
		})
	})
	t.Run("b: the tenth request makes one retry possible, none before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0))
			p := stack(b, 2)
			for range 1000 { // refusals leave no debt
				if got := len(take(t, b, 1)); got != 0 {
					t.Fatal("a retry without a request")
				}
			}
			op := &operation{err: errDown}
			for i := range 9 {
				if err := p.Do(t.Context(), op.run); !errors.Is(err, budget.ErrExhausted) {
					t.Fatalf("request %d: %v, want ErrExhausted", i+1, err)
				}
			}
			wantEntered(t, op, 9)
			if err := p.Do(t.Context(), op.run); !same(err, errDown) {
				t.Errorf("request 10: %v, want its own error after a retry", err)
			}
			wantEntered(t, op, 11)
			wantBalance(t, b, 0)
		})
	})
	t.Run("b: 100 requests at 0.29 allow 29", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.29), budget.MinPerSecond(0))
			request(t, stack(b, 2), 100)
			if got := len(take(t, b, 100)); got != 29 {
				t.Errorf("%d retries, want 29", got)
			}
		})
	})
}

// A ratio of hundredths is exact for each of them, which it is not in float64.
func TestEveryHundredthIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for percent := range 101 {
			b := budget.New(budget.Ratio(float64(percent)/100), budget.MinPerSecond(0))
			request(t, stack(b, 2), 100)
			if got := balance(t, b); got != percent {
				t.Errorf("100 requests at %d %%: %d retries", percent, got)
			}
		}
	})
}

// drained is a budget with as many retries taken as it had, at the ratio r.
func drained(t *testing.T, r float64) (*budget.Budget, *stoic.Pipeline) {
	t.Helper()
	b := budget.New(budget.Ratio(r), budget.MinPerSecond(0))
	p := stack(b, 3)
	request(t, p, 1000)
	if got, want := len(take(t, b, 10_000)), int(1000*r); got != want {
		t.Fatalf("drained %d, want %d", got, want)
	}
	wantBalance(t, b, 0)
	return b, p
}

func TestC33_RetriesComeBackAndUnusedOnesAreReturned(t *testing.T) {
	t.Run("a: first-try successes fill it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := drained(t, 0.1)
			request(t, p, 1000)
			wantBalance(t, b, 100)
			op := &operation{err: errDown}
			if err := p.Do(t.Context(), op.run); !same(err, errDown) {
				t.Error(err)
			}
			wantEntered(t, op, 3)
		})
	})
	t.Run("a: so does time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := drained(t, 0.1)
			time.Sleep(10 * time.Second)
			wantBalance(t, b, 0) // an empty window
			request(t, p, 20)
			wantBalance(t, b, 2)
		})
	})
	t.Run("b: a retry with a final answer costs one, no more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, p := drained(t, 1)
			var entered int
			for range 100 {
				_ = p.Do(t.Context(), func(ctx context.Context) error {
					entered++
					if stoic.Attempt(ctx) == 1 {
						return errDown
					}
					return retry.Permanent(errors.New("404"))
				})
			}
			if entered != 200 {
				t.Errorf("entered %d times, want 200", entered)
			}
			wantBalance(t, b, 0) // each call brought one and took one
			request(t, p, 30)
			wantBalance(t, b, 30)
		})
	})
	t.Run("c: a retry cancelled in its wait costs nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0))
			p := stoic.MustNew("payments", b, attempts(2, 5*time.Second))
			request(t, p, 99)
			ctx, cancel := context.WithCancel(t.Context())
			op := &operation{err: errDown}
			done := make(chan error)
			go func() { done <- p.Do(ctx, op.run) }() // the 100th request: 10 retries
			time.Sleep(2 * time.Second)               // in the next slot but one
			wantBalance(t, b, 9)                      // a retry that waits counts
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) || !errors.Is(err, errDown) {
				t.Errorf("%v, want Canceled and the failure", err)
			}
			wantBalance(t, b, 10)
			wantEntered(t, op, 1)
		})
	})
}

func TestC34_ColdStartAndLowTraffic(t *testing.T) {
	t.Run("a: the reserve is there at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0.3), budget.Window(10*time.Second))
			p := stack(b, 2)
			op := &operation{err: errDown}
			for i := range 4 {
				err := p.Do(t.Context(), op.run)
				if got, want := errors.Is(err, budget.ErrExhausted), i == 3; got != want {
					t.Errorf("call %d refused: %v, want %v", i+1, got, want)
				}
			}
			wantEntered(t, op, 4+3)
		})
	})
	t.Run("b: a call a minute is retried", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0.1), budget.Window(10*time.Second))
			p := stack(b, 2)
			var entered int
			for range 10 {
				err := p.Do(t.Context(), func(ctx context.Context) error {
					entered++
					if stoic.Attempt(ctx) == 1 {
						return errDown
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
			}
			if entered != 20 {
				t.Errorf("entered %d times, want 20", entered)
			}
		})
	})
	t.Run("c: without a reserve the first failure is final", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0))
			op := &operation{err: errDown}
			if err := stack(b, 2).Do(t.Context(), op.run); !errors.Is(err, budget.ErrExhausted) {
				t.Errorf("%v, want ErrExhausted", err)
			}
			wantEntered(t, op, 1)
		})
	})
}

func TestDefaultsAreTenPercentAndOneASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New()
		wantBalance(t, b, 10)
		request(t, stack(b, 2), 100)
		wantBalance(t, b, 20)
		time.Sleep(10*time.Second - 1)
		wantBalance(t, b, 20)
		time.Sleep(time.Nanosecond)
		wantBalance(t, b, 10)
	})
}

// A total outage, five attempts a call: the load is 1.1, not 5.
func TestOutageAddsTenPercent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stack(budget.New(budget.Ratio(0.1), budget.MinPerSecond(0)), 5)
		op := &operation{err: errDown}
		for range 1000 {
			if err := p.Do(t.Context(), op.run); !errors.Is(err, errDown) {
				t.Fatal(err)
			}
		}
		wantEntered(t, op, 1100)
	})
}
