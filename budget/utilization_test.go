package budget_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

// TestUtilization follows a budget of 10 % and nothing else through 100 requests, the ten
// retries that they allow, and the time at which both leave the window.
func TestUtilization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0.1), budget.MinPerSecond(0), budget.Window(10*time.Second))
		want := func(want float64) {
			t.Helper()
			if got := b.Utilization(); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if got := b.WithdrawOnly().(interface{ Utilization() float64 }).Utilization(); got != want {
				t.Errorf("the view: got %v, want %v", got, want)
			}
		}
		want(0)
		request(t, stack(b, 2), 100)
		want(0)
		var last stoic.Ticket
		for range 4 {
			last, _ = b.Reserve()
		}
		want(0.4)
		b.Refund(last)
		want(0.3)
		for range 7 {
			_, _ = b.Reserve()
		}
		want(1)
		if _, err := b.Reserve(); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("got %v, want ErrExhausted", err)
		}
		want(1)
		time.Sleep(10*time.Second - 1)
		want(1)
		time.Sleep(time.Nanosecond)
		want(0) // without a call in between: reading moves no slot and misses none
	})
}

// Requests leave the window before the retries that they allowed.
func TestUtilization_IsNeverAboveOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(1), budget.MinPerSecond(0), budget.Window(10*time.Second))
		request(t, stack(b, 2), 2)
		time.Sleep(5 * time.Second)
		for range 2 {
			if _, err := b.Reserve(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		if got := b.Utilization(); got != 1 {
			t.Errorf("got %v, want 1", got)
		}
	})
}

// Seven requests at 0.5 allow three retries: half a retry is none.
func TestUtilization_CountsWholeRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Ratio(0.5), budget.MinPerSecond(0))
		request(t, stack(b, 2), 7)
		if got := len(take(t, b, 7)); got != 3 {
			t.Fatalf("%d granted, want 3", got)
		}
		if got := b.Utilization(); got != 1 {
			t.Errorf("got %v, want 1", got)
		}
	})
}

func TestUtilization_OfTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.MinPerSecond(0.8)) // 8 in the window of 10 s
		if _, err := b.Reserve(); err != nil {
			t.Fatal(err)
		}
		if got := b.Utilization(); got != 0.125 {
			t.Errorf("got %v, want 0.125", got)
		}
	})
}

func TestUtilization_OfOneThatWasNotMade(t *testing.T) {
	for name, b := range map[string]*budget.Budget{"zero": {}, "invalid": budget.New(budget.Ratio(2))} {
		if got := b.Utilization(); got != 0 {
			t.Errorf("%s: got %v, want 0", name, got)
		}
	}
}
