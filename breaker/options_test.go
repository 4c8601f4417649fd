package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/breaker"
)

// opensAfter makes up to n failing calls, pause apart, each after a success or not, and
// returns at which the breaker opened; 0 if it did not.
func opensAfter(r *rig, n int, pause time.Duration, success bool) int {
	for i := range n {
		if success {
			r.feed(1, succeed)
		}
		r.feed(1, fail)
		if r.b.State() == breaker.Open {
			return i + 1
		}
		time.Sleep(pause)
	}
	return 0
}

// Setting one rule switches the other's default off; setting none gives both.
func TestRulesAndTheirDefaults(t *testing.T) {
	var (
		rate     = breaker.FailureRate(0.5, 4, 10*time.Second)
		rateHigh = breaker.FailureRate(0.5, 100, 10*time.Second)
		last     = breaker.FailureRateOfLast(0.5, 8)
		lastLong = breaker.FailureRateOfLast(0.5, 400)
		row      = breaker.ConsecutiveFailures(3)
	)
	tests := map[string]struct {
		opts    []breaker.Option
		inARow  int // opens at that failure of an unbroken row within the window,
		apart   int // of a row with an hour between them,
		changes int // and of one in which successes alternate with failures
	}{
		"none":                     {nil, 10, 10, 25},
		"FailureRate":              {[]breaker.Option{rate}, 4, 0, 2},
		"FailureRate, 100 calls":   {[]breaker.Option{rateHigh}, 100, 0, 50},
		"ConsecutiveFailures":      {[]breaker.Option{row}, 3, 3, 0},
		"FailureRateOfLast":        {[]breaker.Option{last}, 4, 4, 2},
		"FailureRateOfLast of 400": {[]breaker.Option{lastLong}, 200, 200, 100},
		"rate and row":             {[]breaker.Option{rateHigh, row}, 3, 3, 50},
		"rate and last":            {[]breaker.Option{rateHigh, last}, 4, 4, 2},
		"last and row":             {[]breaker.Option{lastLong, row}, 3, 3, 100},
		"all three":                {[]breaker.Option{rate, lastLong, row}, 3, 3, 2},
		"the last of two counts":   {[]breaker.Option{breaker.ConsecutiveFailures(7), row}, 3, 3, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := opensAfter(newRig(t, tt.opts...), 500, 0, false); got != tt.inARow {
					t.Errorf("in a row: opened at %d, want %d", got, tt.inARow)
				}
				if got := opensAfter(newRig(t, tt.opts...), 500, time.Hour, false); got != tt.apart {
					t.Errorf("an hour apart: opened at %d, want %d", got, tt.apart)
				}
				if got := opensAfter(newRig(t, tt.opts...), 500, 0, true); got != tt.changes {
					t.Errorf("alternating: opened at %d, want %d", got, tt.changes)
				}
			})
		})
	}
}

func TestFailureRateBoundary(t *testing.T) {
	tests := map[string]struct {
		ratio     float64
		successes int
		failures  int // the last of them opens
	}{
		"half of 10":           {0.5, 5, 5},
		"0.29 of 100 is 29":    {0.29, 71, 29},
		"0.07 of 100 is 7":     {0.07, 93, 7},
		"all of 10":            {1, 0, 10},
		"a third is over 0.33": {0.33, 20, 10},
		"tiny":                 {0.001, 999, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, breaker.FailureRate(tt.ratio, 10, time.Minute))
				r.feed(tt.successes, succeed)
				r.feed(tt.failures-1, fail)
				r.wantState(breaker.Closed)
				r.feed(1, fail)
				r.wantState(breaker.Open)
			})
		})
	}
}

func TestConsecutiveFailuresWhateverTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, breaker.FailureRate(0.9, 1000, 10*time.Second), breaker.ConsecutiveFailures(2))
		r.feed(1, fail)
		time.Sleep(5 * time.Hour)
		r.feed(1, succeed)
		r.feed(1, fail) // the success ended the row
		r.wantState(breaker.Closed)
		time.Sleep(5 * time.Hour)
		r.feed(1, fail)
		r.wantState(breaker.Open)
	})
}

// It judges from half of the calls (rounded up) on.
func TestFailureRateOfLastJudgesFromHalf(t *testing.T) {
	for calls, half := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 10: 5, 11: 6} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, breaker.FailureRateOfLast(1, calls))
			if got := opensAfter(r, 100, time.Hour, false); got != half {
				t.Errorf("of the last %d: opened at %d, want %d", calls, got, half)
			}
		})
	}
}

// Older calls drop out one by one.
func TestFailureRateOfLastForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, breaker.FailureRateOfLast(0.5, 4))
		r.feed(3, succeed)
		for range 50 { // at most one of any four is a failure
			r.feed(1, fail)
			r.feed(3, succeed)
		}
		r.feed(1, fail)
		r.feed(2, succeed)
		r.wantState(breaker.Closed)
		r.feed(1, fail) // f s s f
		r.wantState(breaker.Open)
	})
}

// The ring is empty after each change of state.
func TestFailureRateOfLastBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, breaker.FailureRateOfLast(0.5, 4), breaker.OpenFor(time.Second))
		r.feed(3, succeed)
		r.trip(time.Second)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
		r.feed(1, fail)
		r.wantState(breaker.Closed) // one call is less than half of four
		r.feed(1, fail)
		r.wantState(breaker.Open)
	})
}

func TestOpenForVeryLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, 1<<63-1, 1)...)
		r.feed(1, fail)
		for range 3 {
			if after, _ := r.rejected().RetryAfter(); after < 0 {
				t.Errorf("RetryAfter: got %v, want at least 0", after)
			}
			time.Sleep(100 * 365 * 24 * time.Hour / 3)
			r.wantState(breaker.Open)
		}
	})
}
