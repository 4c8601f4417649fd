package stoic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
)

var errCause = errors.New("the user closed the tab")

// doneContexts are those that are done before a call, with what its error must match.
func doneContexts(ctx context.Context) map[string]struct {
	ctx  context.Context
	want []error
} {
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	caused, cancelCause := context.WithCancelCause(ctx)
	cancelCause(errCause)
	expired, stop := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	stop()
	expiredCause, stop := context.WithDeadlineCause(ctx, time.Now(), errCause)
	stop()
	return map[string]struct {
		ctx  context.Context
		want []error
	}{
		"canceled":              {canceled, []error{context.Canceled}},
		"canceled, with cause":  {caused, []error{context.Canceled, errCause}},
		"expired":               {expired, []error{context.DeadlineExceeded}},
		"expired, with a cause": {expiredCause, []error{context.DeadlineExceeded, errCause}},
	}
}

func TestC10_DoneContextDoesNothing(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			for name, tt := range doneContexts(t.Context()) {
				var rec hookstest.Recorder
				tokens := rate.NewLimiter(1, 1)
				b := budget.New(budget.Ratio(1), budget.MinPerSecond(0.3))
				br := breaker.New("b", breaker.ConsecutiveFailures(1), breaker.OpenFor(time.Hour))
				p := stoic.MustNew("payments", stoic.Observe(&rec), b, attempts(3, time.Millisecond), ratelimit.From(tokens), br)
				if open {
					_ = p.Do(t.Context(), fail)
					time.Sleep(10 * time.Second) // the bucket and the budget are full again
				}
				rec.TakeAll()
				before := br.Counts()

				op := &operation{}
				_, errGet := stoic.Get(tt.ctx, p, func(context.Context) (int, error) { return 1, op.run(tt.ctx) })
				for how, err := range map[string]error{"Do": p.Do(tt.ctx, op.run), "Wrap": p.Wrap(op.run)(tt.ctx), "Get": errGet} {
					for _, want := range tt.want {
						if !errors.Is(err, want) {
							t.Errorf("%s, open %v: %s: %v, want %v", name, open, how, err, want)
						}
					}
					if errors.Is(err, breaker.ErrOpen) || errors.Is(err, stoic.ErrRejected) {
						t.Errorf("%s, open %v: %s: %v, want nothing of the breaker", name, open, how, err)
					}
					if want := "payments: not called: " + stoic.ContextError(tt.ctx).Error(); err.Error() != want {
						t.Errorf("%s: got %q, want %q", name, err, want)
					}
				}
				op.want(t, 0)
				if got := tokens.Tokens(); got != 1 {
					t.Errorf("%s, open %v: %v tokens, want 1", name, open, got)
				}
				if got := br.Counts(); got != before {
					t.Errorf("%s, open %v: counts %+v, want %+v", name, open, got, before)
				}
				if got := (br.State() == breaker.Open); got != open {
					t.Errorf("%s: breaker open %v, want %v", name, got, open)
				}
				if got := granted(b); got != 3 {
					t.Errorf("%s, open %v: the budget grants %d, want 3", name, open, got)
				}
				if got := rec.Strings(); len(got) != 0 {
					t.Errorf("%s, open %v: the hook was called: %v", name, open, got)
				}
			}
		})
	}
}

func TestAttemptIsItsNumber(t *testing.T) {
	var got []int
	p := stoic.MustNew("payments", attempts(4, 0))
	_ = p.Do(t.Context(), func(ctx context.Context) error {
		got = append(got, stoic.Attempt(ctx))
		return errBoom
	})
	if !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("attempts %v, want 1 2 3 4", got)
	}
	if got := stoic.Attempt(t.Context()); got != 1 {
		t.Errorf("outside a stack: %d, want 1", got)
	}
}

// On the first attempt a stack without a hook or a deadline hands on the context
// itself: nothing is put into it.
func TestFirstAttemptGetsTheCallersContext(t *testing.T) {
	for name, p := range map[string]*stoic.Pipeline{
		"empty": stoic.MustNew("payments"),
		"full":  stoic.MustNew("payments", stoic.Observe(nil), budget.New(), attempts(2, 0), breaker.New("b"), ratelimit.New(10, 10)),
	} {
		ctx := t.Context()
		_ = p.Do(ctx, func(inner context.Context) error {
			if inner != ctx {
				t.Errorf("%s: the operation gets %v, want the caller's context", name, inner)
			}
			return nil
		})
	}
}

func TestAttemptOfAStackInsideAnother(t *testing.T) {
	outer, inner := stoic.MustNew("outer", attempts(2, 0)), stoic.MustNew("inner", attempts(3, 0))
	var got []int
	_ = outer.Do(t.Context(), func(ctx context.Context) error {
		return inner.Do(ctx, func(ctx context.Context) error {
			got = append(got, stoic.Attempt(ctx))
			return errBoom
		})
	})
	// The innermost that is past its first attempt counts.
	if want := []int{1, 2, 3, 2, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}

func TestIdempotencyKeyIsTheSameOnEachAttempt(t *testing.T) {
	for _, key := range []string{"order-7", ""} {
		ctx := stoic.WithIdempotencyKey(t.Context(), key)
		runs := 0
		_ = stoic.MustNew("payments", attempts(3, 0)).Do(ctx, func(ctx context.Context) error {
			runs++
			if got := stoic.IdempotencyKey(ctx); got != key {
				t.Errorf("attempt %d: key %q, want %q", runs, got, key)
			}
			return errBoom
		})
		if runs != 3 {
			t.Errorf("%d attempts, want 3", runs)
		}
	}
	if got := stoic.IdempotencyKey(t.Context()); got != "" {
		t.Errorf("without a key: %q, want none", got)
	}
}

func TestNonIdempotent(t *testing.T) {
	marked := stoic.WithNonIdempotent(t.Context())
	if stoic.NonIdempotent(t.Context()) || !stoic.NonIdempotent(marked) {
		t.Error("want the mark on the marked context only")
	}
	tests := []struct {
		name string
		ctx  context.Context
		runs int64
	}{
		{"not marked", t.Context(), 2},
		{"marked", marked, 1},
		{"marked, with a key", stoic.WithIdempotencyKey(marked, "order-7"), 2},
		{"marked, with an empty key", stoic.WithIdempotencyKey(marked, ""), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			op := &operation{err: errBoom}
			_ = stoic.MustNew("payments", attempts(2, 0)).Do(tt.ctx, op.run)
			op.want(t, tt.runs)
		})
	}
}

func TestOperationNamesTheCallForTheHooks(t *testing.T) {
	for name, want := range map[string]string{"charge": "charge", "": "payments"} {
		var rec hookstest.Recorder
		p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(2, 0))
		_ = p.Do(stoic.WithOperation(t.Context(), name), fail)
		for _, op := range append(rec.Ops(hooks.KindCall), rec.Ops(hooks.KindAttempt)...) {
			if op.Operation != want || op.Pipeline != "payments" {
				t.Errorf("%v %q of %q, want %q of payments", op.Kind, op.Operation, op.Pipeline, want)
			}
		}
		for _, e := range rec.Events() {
			if e.Operation != want || e.Pipeline != "payments" {
				t.Errorf("%v of %q in %q, want %q", e.Kind, e.Operation, e.Pipeline, want)
			}
		}
		if got := len(rec.All()); got != 8 {
			t.Errorf("%d entries, want 8", got)
		}
	}
}

func TestContextError(t *testing.T) {
	if err := stoic.ContextError(t.Context()); err != nil {
		t.Errorf("not done: %v, want nil", err)
	}
	for name, tt := range doneContexts(t.Context()) {
		err := stoic.ContextError(tt.ctx)
		for _, want := range tt.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
		if len(tt.want) == 1 && !same(err, tt.want[0]) {
			t.Errorf("%s: %v, want the very error where there is no cause", name, err)
		}
		if len(tt.want) == 2 && err.Error() != tt.want[0].Error()+": "+errCause.Error() {
			t.Errorf("%s: text %q", name, err)
		}
	}
}
