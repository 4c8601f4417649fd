package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/breaker"
)

func TestDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.feed(30, succeed)
		for range 3 { // never ten in a row
			r.feed(9, fail)
			r.feed(1, succeed)
		}
		r.feed(5, fail)
		r.wantState(breaker.Closed)
		r.wantCounts(33, 32, 5)
		r.feed(1, fail) // half of 66
		r.wantState(breaker.Open)
		time.Sleep(5 * time.Second)
		r.wantState(breaker.Open)
		time.Sleep(time.Nanosecond)
		r.wantState(breaker.HalfOpen)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
	})
}

func TestDefaultWindowAndVolume(t *testing.T) {
	tests := map[string]struct {
		calls int // half of them failures
		pause time.Duration
		want  breaker.State
	}{
		"50 calls within the window": {50, 10*time.Second - 1, breaker.Open},
		"50 calls, but too old":      {50, 10 * time.Second, breaker.Closed},
		"48 calls":                   {48, 0, breaker.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				for range tt.calls/2 - 1 {
					r.feed(1, succeed)
					r.feed(1, fail)
				}
				r.feed(1, succeed)
				time.Sleep(tt.pause)
				r.feed(1, fail)
				r.wantState(tt.want)
			})
		})
	}
}

// A call counts for between nine tenths of the window and the whole.
func TestWindowSlides(t *testing.T) {
	tests := map[string]struct {
		at   time.Duration // of the first failure
		next time.Duration // of the second
		want breaker.State
	}{
		"at once":                             {0, 0, breaker.Open},
		"first in its slot, within 10 s":      {0, 10*time.Second - 1, breaker.Open},
		"first in its slot, after 10 s":       {0, 10 * time.Second, breaker.Closed},
		"last in its slot, within 9 s + 1 ns": {time.Second - 1, 10*time.Second - 1, breaker.Open},
		"last in its slot, after 9 s + 1 ns":  {time.Second - 1, 10 * time.Second, breaker.Closed},
		"later, the first in a slot":          {33 * time.Second, 43*time.Second - 1, breaker.Open},
		"later, gone":                         {33 * time.Second, 43 * time.Second, breaker.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, breaker.FailureRate(1, 2, 10*time.Second))
				time.Sleep(tt.at)
				r.feed(1, fail)
				time.Sleep(tt.next - tt.at)
				r.feed(1, fail)
				r.wantState(tt.want)
				if tt.want == breaker.Closed {
					r.wantCounts(0, 1, 2) // the row is independent of the window
				}
			})
		})
	}
}

// A window that is not a multiple of ten nanoseconds has ten slots too.
func TestWindowOfAnyLength(t *testing.T) {
	for _, window := range []time.Duration{10 * time.Millisecond, 10*time.Millisecond + 1, 123456789, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, breaker.FailureRate(1, 2, window))
			r.feed(1, fail)
			time.Sleep(window - 1)
			r.feed(1, succeed)
			r.wantCounts(1, 1, 0)
			time.Sleep(10 * time.Nanosecond) // at most the rounding of a slot, ten times
			r.feed(1, succeed)
			r.wantCounts(2, 0, 0)
		})
	}
}
