package budget_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

// whole is a budget whose balance is the number of requests it has counted.
func whole() *budget.Budget { return budget.New(budget.Ratio(1), budget.MinPerSecond(0)) }

func TestRequestCountsWhenItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole()
		_ = stack(b, 2).Do(t.Context(), func(context.Context) error {
			wantBalance(t, b, 1)
			return nil
		})
		wantBalance(t, b, 1)
	})
}

func TestRequestCountsUntilExactlyTheWindowHasPassed(t *testing.T) {
	tests := []struct {
		name         string
		window       time.Duration
		at           time.Duration // when the request starts
		lasts, leave time.Duration // it counts then, and no longer then
	}{
		{"first instant of a slot", 10 * time.Second, 0, 10*time.Second - 1, 10 * time.Second},
		{"last instant of a slot", 10 * time.Second, time.Second - 1, 10*time.Second - 1, 10 * time.Second},
		{"next slot", 10 * time.Second, time.Second, 11*time.Second - 1, 11 * time.Second},
		{"shortest window", 10 * time.Millisecond, 0, 10*time.Millisecond - 1, 10 * time.Millisecond},
		{"longest window", 24 * time.Hour, time.Hour, 24*time.Hour - 1, 24 * time.Hour},
		{"window that is no multiple of its slots", 10*time.Millisecond + 1, 0, 10*time.Millisecond + 9, 10*time.Millisecond + 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Ratio(1), budget.MinPerSecond(0), budget.Window(tt.window))
				time.Sleep(tt.at)
				request(t, stack(b, 2), 1)
				time.Sleep(tt.lasts - tt.at)
				wantBalance(t, b, 1)
				time.Sleep(tt.leave - tt.lasts)
				wantBalance(t, b, 0)
			})
		})
	}
}

func TestRetryCountsUntilExactlyTheWindowHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.1))
		time.Sleep(1500 * time.Millisecond)
		if got := len(take(t, b, 2)); got != 1 {
			t.Fatalf("%d retries, want 1", got)
		}
		time.Sleep(9500*time.Millisecond - 1)
		wantBalance(t, b, 0)
		time.Sleep(time.Nanosecond)
		wantBalance(t, b, 1)
	})
}

func TestRefundGoesToTheSlotOfTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.2))
		first := take(t, b, 1)
		time.Sleep(5 * time.Second)
		take(t, b, 1)
		b.Refund(first[0])
		wantBalance(t, b, 1)
		time.Sleep(5 * time.Second) // the first slot leaves, with nothing in it
		wantBalance(t, b, 1)
		time.Sleep(5 * time.Second)
		wantBalance(t, b, 2)
	})
}

func TestRefundAfterItsSlotLeftTouchesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.2))
		late := take(t, b, 2)
		time.Sleep(10 * time.Second) // its place is the place of a new slot
		take(t, b, 2)
		for _, ticket := range late {
			b.Refund(ticket)
		}
		wantBalance(t, b, 0)
	})
}

func TestRequestCountsOncePerLogicalCall(t *testing.T) {
	inner := func() *retry.Retry { return retry.New(retry.MaxAttempts(2), retry.Constant(0), retry.AllowNested()) }
	tests := []struct {
		name   string
		layers func(b *budget.Budget) []stoic.Policy
		unpaid int64 // attempts that the budget does not pay for
	}{
		{"resends of the retry inside", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, attempts(4, 0)}
		}, 1},
		{"between two retries", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{attempts(4, 0), b, inner()}
		}, 4},
		{"above and, as a view, between", func(b *budget.Budget) []stoic.Policy {
			return []stoic.Policy{b, attempts(4, 0), b.WithdrawOnly(), inner()}
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Ratio(1), budget.MinPerSecond(10))
				wantBalance(t, b, 100)
				op := &operation{err: errDown}
				_ = stoic.MustNew("payments", tt.layers(b)...).Do(t.Context(), op.run)
				if op.entered.Load() < 4 {
					t.Fatalf("entered %d times, want all attempts", op.entered.Load())
				}
				wantBalance(t, b, int(100+1-(op.entered.Load()-tt.unpaid)))
			})
		})
	}
}

func TestDoneContextCountsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := stack(b, 2).Do(ctx, succeed); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantBalance(t, b, 0)
	})
}

func TestPanicAndGoexitCountWhatWasSent(t *testing.T) {
	failFirst := func(then stoic.Func) stoic.Func {
		return func(ctx context.Context) error {
			if stoic.Attempt(ctx) == 1 {
				return errDown
			}
			return then(ctx)
		}
	}
	blowUp := func(context.Context) error { panic("boom") }
	brokenSleep := func(f func()) *retry.Retry {
		return retry.New(retry.Constant(1), retry.Sleep(func(context.Context, time.Duration) error {
			f()
			return nil
		}))
	}
	tests := []struct {
		name  string
		retry *retry.Retry
		fn    stoic.Func
		want  int // balance of 10 + 1 for the request
	}{
		{"panic in the first attempt", attempts(2, 0), blowUp, 11},
		{"panic in a resend", attempts(2, 0), failFirst(blowUp), 10},
		{"Goexit in the first attempt", attempts(2, 0), exit, 11},
		{"Goexit in a resend", attempts(2, 0), failFirst(exit), 10},
		{"panic before a resend", brokenSleep(func() { panic("boom") }), failFirst(succeed), 11},
		{"Goexit before a resend", brokenSleep(runtime.Goexit), failFirst(succeed), 11},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := budget.New(budget.Ratio(1), budget.MinPerSecond(1))
				p := stoic.MustNew("payments", b, tt.retry)
				onGoroutine(func() {
					if v := panicOf(func() { _ = p.Do(t.Context(), tt.fn) }); v != nil && v != "boom" {
						t.Errorf("panic %v, want boom", v)
					}
				})
				wantBalance(t, b, tt.want)
			})
		})
	}
}

func TestTwoPipelinesShareOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0))
		reads, writes := stack(b, 2), stoic.MustNew("writes", b, attempts(2, 0))
		request(t, reads, 10)
		op := &operation{err: errDown}
		if err := writes.Do(t.Context(), op.run); !same(err, errDown) {
			t.Errorf("%v, want a retry paid for by the other pipeline's requests", err)
		}
		if err := reads.Do(t.Context(), op.run); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%v, want ErrExhausted: the other pipeline has spent it", err)
		}
		wantEntered(t, op, 3)
	})
}
