package budget_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

// together returns an operation that fails with err in all of n calls at once, when
// the last of them has been entered, and in later attempts at once.
func together(n int64, err error, entered *atomic.Int64) stoic.Func {
	all := make(chan struct{})
	return func(ctx context.Context) error {
		if entered.Add(1) == n {
			close(all)
		}
		<-all
		return err
	}
}

func TestC35_WaitingRetriesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0.2), budget.MinPerSecond(0))
		p := stoic.MustNew("payments", b, attempts(2, time.Second))
		start := time.Now()
		var entered, refused, failed atomic.Int64
		fn := together(1000, errDown, &entered)
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() {
				switch err := p.Do(t.Context(), fn); {
				case errors.Is(err, budget.ErrExhausted):
					refused.Add(1)
				case same(err, errDown):
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		if got := time.Since(start); got != 0 {
			t.Fatalf("it is %v, want 0", got)
		}
		if r, f := refused.Load(), failed.Load(); r != 800 || f != 0 {
			t.Errorf("at 0: %d refused and %d failed, want 800 and 0: the other 200 sleep", r, f)
		}
		if got := entered.Load(); got != 1000 {
			t.Errorf("at 0: entered %d times, want 1000", got)
		}
		calls.Wait()
		if got := time.Since(start); got != time.Second {
			t.Errorf("the last call returned at %v, want 1s", got)
		}
		if got := entered.Load() - 1000; got != 200 {
			t.Errorf("at 1s: entered %d times, want 200", got)
		}
		if r, f := refused.Load(), failed.Load(); r != 800 || f != 200 {
			t.Errorf("%d refused and %d failed, want 800 and 200", r, f)
		}
	})
}

func TestC38_ExactUnderConcurrency(t *testing.T) {
	for _, askers := range []int{12, 10_000} {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.5), budget.Window(10*time.Second))
		if got := grants(b, askers); got != 5 {
			t.Errorf("%d goroutines: %d grants, want exactly 5", askers, got)
		}
	}
	t.Run("deposits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0))
			p := stack(b, 2)
			var calls sync.WaitGroup
			for range 1000 {
				calls.Go(func() { _ = p.Do(t.Context(), succeed) })
			}
			calls.Wait()
			wantBalance(t, b, 100)
		})
	})
}

// grants is how many of n goroutines that ask at once get a retry.
func grants(b *budget.Budget, n int) int64 {
	var granted atomic.Int64
	var askers sync.WaitGroup
	begin := make(chan struct{})
	for range n {
		askers.Go(func() {
			<-begin
			if _, err := b.Reserve(); err == nil {
				granted.Add(1)
			}
		})
	}
	close(begin)
	askers.Wait()
	return granted.Load()
}

func TestRefundsAreExactUnderConcurrency(t *testing.T) {
	b := budget.New(budget.Ratio(0), budget.MinPerSecond(5.0/3600), budget.Window(time.Hour))
	var askers sync.WaitGroup
	var held, most atomic.Int64
	for range 16 {
		askers.Go(func() {
			for range 500 {
				ticket, err := b.Reserve()
				if err != nil {
					continue
				}
				if n := held.Add(1); n > most.Load() {
					most.Store(n)
				}
				held.Add(-1)
				b.Refund(ticket)
			}
		})
	}
	askers.Wait()
	if got := most.Load(); got > 5 {
		t.Errorf("%d retries held at once, want at most 5", got)
	}
	wantBalance(t, b, 5)
}

func TestHundredRequestsFiftyAsksTenGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stack(budget.New(budget.Ratio(0.1), budget.MinPerSecond(0)), 2)
		request(t, p, 50)
		var entered, refused atomic.Int64
		fn := together(50, errDown, &entered)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				if errors.Is(p.Do(t.Context(), fn), budget.ErrExhausted) {
					refused.Add(1)
				}
			})
		}
		calls.Wait()
		if e, r := entered.Load(), refused.Load(); e != 60 || r != 40 {
			t.Errorf("entered %d times, %d refused, want 60 and 40: exactly 10 retries", e, r)
		}
	})
}
