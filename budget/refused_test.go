package budget_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

func empty() *budget.Budget { return budget.New(budget.Ratio(0), budget.MinPerSecond(0)) }

func TestC39_RefusedRetrySaysWhyAndKeepsTheFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec hookstest.Recorder
		br := breaker.New("api", breaker.ConsecutiveFailures(2))
		p := stoic.MustNew("payments", stoic.Observe(&rec), empty(), attempts(3, time.Second), br)
		op := &operation{err: errDown}
		start := time.Now()
		err := p.Do(t.Context(), op.run)

		wantEntered(t, op, 1)
		if got := time.Since(start); got != 0 {
			t.Errorf("returned after %v, want at once", got)
		}
		if !errors.Is(err, errDown) || !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v, want the failure and ErrExhausted", err)
		}
		if errors.Is(err, stoic.ErrRejected) {
			t.Error("matches ErrRejected, but a call was made")
		}
		if stopped, ok := errors.AsType[*retry.StoppedError](err); !ok || stopped.Attempts != 1 || stopped.ErrorType() != "budget_exhausted" {
			t.Errorf("%#v, want a StoppedError after 1 attempt", err)
		}
		for _, part := range []string{"payments: ", "retry budget spent", "the client did not send", "down"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		want := []string{
			"start call payments #1",
			"start attempt payments #1",
			"end attempt payments #1 failed",
			"reject budget payments #1 budget_exhausted",
			"gave_up retry payments #1 budget_exhausted",
			"end call payments #1 failed",
		}
		if got := rec.Strings(); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if got := br.Counts(); got.Failures != 1 || br.State() != breaker.Closed {
			t.Errorf("the breaker is %v with %+v, want closed with 1 failure", br.State(), got)
		}
	})
}

func TestRefusalIsARejectionOfTheBudget(t *testing.T) {
	_, err := empty().Reserve()
	if !errors.Is(err, budget.ErrExhausted) || !errors.Is(err, stoic.ErrRejected) {
		t.Errorf("%v, want ErrExhausted and ErrRejected", err)
	}
	r, ok := errors.AsType[*stoic.Rejection](err)
	if !ok || r.Policy != stoic.KindBudget || r.ErrorType() != "budget_exhausted" {
		t.Fatalf("%#v", err)
	}
	if after, known := r.RetryAfter(); known {
		t.Errorf("RetryAfter %v, want none", after)
	}
	_, again := empty().Reserve()
	if same(again, err) {
		t.Error("two refusals are one value")
	}
}

func TestRefusalNamesThePipelineInTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec hookstest.Recorder
		p := stoic.MustNew("payments", stoic.Observe(&rec), empty(), attempts(2, 0))
		_ = p.Do(t.Context(), (&operation{err: errDown}).run)
		events := rec.Events(hooks.Reject)
		if len(events) != 1 {
			t.Fatalf("%d reject events, want 1", len(events))
		}
		r, ok := errors.AsType[*stoic.Rejection](events[0].Err)
		if !ok || r.Pipeline != "payments" {
			t.Errorf("%#v, want a rejection that names payments", events[0].Err)
		}
	})
}

func TestC49_SharedBudgetStopsNestedRetries(t *testing.T) {
	nested := func(n int) *retry.Retry {
		return retry.New(retry.MaxAttempts(n), retry.Constant(0), retry.AllowNested())
	}
	two := func() *budget.Budget {
		return budget.New(budget.Ratio(0), budget.MinPerSecond(0.2), budget.Window(10*time.Second))
	}
	tests := []struct {
		name   string
		layers func(b *budget.Budget) []stoic.Policy
	}{
		{"the inner asks first", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, attempts(4, 0), attempts(3, 0)}
		}},
		{"both ask", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, attempts(4, 0), attempts(2, 0)}
		}},
		{"only the outer asks", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, attempts(4, 0), attempts(1, 0)}
		}},
		{"nested allowed", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, nested(4), nested(3)}
		}},
		{"through a view", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, nested(4), b.WithdrawOnly(), nested(3)}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				op := &operation{err: errDown}
				err := stoic.MustNew("payments", tt.layers(two())...).Do(t.Context(), op.run)
				if !errors.Is(err, errDown) || !errors.Is(err, budget.ErrExhausted) {
					t.Errorf("%v, want the failure and ErrExhausted", err)
				}
				wantEntered(t, op, 3)
			})
		})
	}
}

// A call refused further in was not sent, so its retry is not paid for.
func TestRetryRejectedFurtherInIsRefunded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New()
		var rejecting bool
		gate := stoic.PolicyFunc("gate", func(ctx context.Context, next stoic.Next) error {
			if rejecting {
				return &stoic.Rejection{Policy: "gate", Reason: "closed", Type: "gate_closed"}
			}
			rejecting = true
			return next.Do(ctx)
		})
		p := stoic.MustNew("payments", b, attempts(3, 0), gate)
		before := balance(t, b)
		op := &operation{err: errDown}
		if err := p.Do(t.Context(), op.run); !errors.Is(err, errDown) {
			t.Error(err)
		}
		wantEntered(t, op, 1)
		wantBalance(t, b, before)
	})
}
