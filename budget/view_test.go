package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

func TestViewCountsNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole()
		request(t, stack(b.WithdrawOnly(), 2), 50)
		wantBalance(t, b, 0)
		request(t, stack(b, 2), 50)
		wantBalance(t, b, 50)
	})
}

func TestViewPays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.3))
		op := &operation{err: errDown}
		if err := stack(b.WithdrawOnly(), 3).Do(t.Context(), op.run); !same(err, errDown) {
			t.Error(err)
		}
		wantEntered(t, op, 3)
		wantBalance(t, b, 1)
		wantBalance(t, b.WithdrawOnly(), 1)
		if err := stack(b.WithdrawOnly(), 3).Do(t.Context(), op.run); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted", err)
		}
		wantBalance(t, b, 0)
	})
}

func TestViewRefunds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.3))
		v := b.WithdrawOnly()
		v.Refund(take(t, v, 1)[0])
		b.Refund(take(t, v, 1)[0]) // a ticket is the budget's, whichever of the two gave it
		v.Refund(take(t, b, 1)[0])
		wantBalance(t, b, 3)
	})
}

func TestViewIsTheSameOnEveryCall(t *testing.T) {
	b := budget.New()
	if b.WithdrawOnly() != b.WithdrawOnly() {
		t.Error("two views of one budget differ")
	}
	if b.WithdrawOnly() == budget.New().WithdrawOnly() {
		t.Error("views of two budgets are equal")
	}
}

// A client below the stack that shares the budget, as a RoundTripper does: the
// request counts once, and the retries of both are paid from one budget.
func TestViewInAClientBelowTheStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0.5), budget.MinPerSecond(0))
		below := stoic.MustNew("http", b.WithdrawOnly(), attempts(2, 0))
		above := stoic.MustNew("payments", b, attempts(2, 0))
		call := func(fn stoic.Func) error {
			return above.Do(t.Context(), func(ctx context.Context) error { return below.Do(ctx, fn) })
		}
		if err := call(succeed); err != nil {
			t.Error(err)
		}
		wantBalance(t, b, 0) // half a retry

		op := &operation{err: errDown}
		if err := call(op.run); !errors.Is(err, errDown) || !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v, want the failure and ErrExhausted", err)
		}
		wantEntered(t, op, 2) // two requests at 0.5: one retry
	})
}
