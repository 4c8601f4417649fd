package breaker

import (
	"math/rand/v2"
	"testing"
)

func TestRingHoldsTheLastCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 9; n++ {
		r := newRing(n)
		var all []bool
		for i := range 200 {
			if i == 100 {
				r.clear()
				all = nil
			}
			failed := random.IntN(3) == 0
			r.add(failed)
			all = append(all, failed)
			want := 0
			last := all[max(0, len(all)-n):]
			for _, f := range last {
				if f {
					want++
				}
			}
			if r.failures != want || r.size != len(last) {
				t.Fatalf("n=%d, call %d: got %d of %d, want %d of %d", n, i, r.failures, r.size, want, len(last))
			}
		}
	}
}

func TestRingBeginsEmpty(t *testing.T) {
	r := newRing(3)
	if r.size != 0 || r.failures != 0 {
		t.Errorf("new: %+v", r)
	}
	for range 5 {
		r.add(true)
	}
	r.clear()
	if r.size != 0 || r.failures != 0 || r.at != 0 {
		t.Errorf("cleared: %+v", r)
	}
}

func TestOverRate(t *testing.T) {
	tests := []struct {
		failures, calls, minCalls int
		ratio                     float64
		want                      bool
	}{
		{1, 1, 1, 1, true},
		{1, 2, 1, 0.5, true},
		{1, 3, 1, 0.5, false},
		{9, 9, 10, 0.5, false},
		{29, 100, 1, 0.29, true},
		{28, 100, 1, 0.29, false},
		{7, 100, 1, 0.07, true},
		{1, 3, 1, 1.0 / 3, true},
	}
	for _, tt := range tests {
		if got := overRate(tt.failures, tt.calls, tt.minCalls, tt.ratio); got != tt.want {
			t.Errorf("%d of %d, at least %d, ratio %v: got %t", tt.failures, tt.calls, tt.minCalls, tt.ratio, got)
		}
	}
	for n := 1; n <= 1000; n++ { // a ratio written as k hundredths is met by k of 100, whatever the rounding
		for k := 1; k <= n; k++ {
			if !overRate(k, n, 1, float64(k)/float64(n)) {
				t.Fatalf("%d of %d does not meet its own ratio", k, n)
			}
		}
	}
}
