package breaker

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
)

// The tests of what this package takes for granted about gobreaker, and of what it does
// not.

// IsSuccessful runs once for each verdict that counts and for no other: the streak and
// the ring are counted there.
func TestIsSuccessfulRunsOncePerVerdict(t *testing.T) {
	b := New("db", FailureRateOfLast(1, 1000))
	c := b.core.Load()
	for i := range 5 {
		c.feed(0, failure())
		if got := c.streak.Load(); got != int64(i+1) || c.last.size != i+1 {
			t.Fatalf("after %d failures: streak %d, ring %d", i+1, got, c.last.size)
		}
	}
	c.feed(1, failure()) // stale
	c.feed(1, nil)
	if got := c.streak.Load(); got != 5 || c.last.size != 5 {
		t.Errorf("stale verdicts: streak %d, ring %d, want 5 and 5", got, c.last.size)
	}
	c.feed(0, nil)
	if got := c.streak.Load(); got != 0 || c.last.size != 6 || c.last.failures != 5 {
		t.Errorf("a success: streak %d, ring %d with %d, want 0, 6 and 5", got, c.last.size, c.last.failures)
	}
}

// What the breaker relies on in gobreaker, and its documentation does not promise: the
// order of the callbacks, and that excluded and stale results reach IsSuccessful never.
func TestOrderOfGobreakersCallbacks(t *testing.T) {
	var order string
	errExcluded := errors.New("excluded")
	cb := gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		IsExcluded:   func(err error) bool { order += "x"; return errors.Is(err, errExcluded) },
		IsSuccessful: func(err error) bool { order += "s"; return err == nil },
		ReadyToTrip: func(n gobreaker.Counts) bool {
			order += "r"
			return n.TotalFailures > 1
		},
		OnStateChange: func(string, gobreaker.State, gobreaker.State) { order += "c" },
	})
	feed := func(err error) {
		_, _ = cb.Execute(func() (struct{}, error) { return struct{}{}, err })
		order += " "
	}
	feed(nil)
	feed(errExcluded)
	feed(failure())
	_, _ = cb.Execute(func() (struct{}, error) {
		feed(failure()) // opens
		return struct{}{}, failure()
	})
	if want := "xs x xsr xsrc "; order != want {
		t.Errorf("got %q, want %q", order, want)
	}
}

// Two failures in a row hours apart: gobreaker's own count is cut by the window.
func TestStreakIsIndependentOfTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New("db", ConsecutiveFailures(2), FailureRate(1, 100, 10*time.Second)).core.Load()
		c.feed(0, failure())
		time.Sleep(3 * time.Hour)
		c.feed(0, nil)
		c.feed(0, failure())
		time.Sleep(3 * time.Hour)
		if got := c.current(); got != Closed {
			t.Fatalf("got %v, want closed", got)
		}
		c.feed(0, failure())
		if got := c.current(); got != Open {
			t.Errorf("got %v, want open", got)
		}
	})
}

// gobreaker's Requests also has the verdicts that turned out to be stale: the rate must
// not be a share of them.
func TestStaleVerdictsAreNoVolume(t *testing.T) {
	c := New("db", FailureRate(0.05, 3, time.Minute)).core.Load()
	for range 10 {
		c.feed(1, failure())
	}
	c.feed(0, failure())
	if got := c.current(); got != Closed {
		t.Errorf("after one failure of at least three calls: %v", got)
	}
}
