package budget

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// second is a window of ten slots of one second, with the ratio and the minimum of
// whole retries given.
func second(ratio, floor float64) *window {
	return newWindow(10*time.Second, millionths(ratio), millionths(floor))
}

// allowance is how many retries w grants at elapsed. It leaves w as it was.
func allowance(w *window, elapsed time.Duration) int {
	var granted []int64
	for {
		slot, ok := w.reserve(elapsed)
		if !ok {
			break
		}
		granted = append(granted, slot)
	}
	for _, slot := range granted {
		w.refund(slot)
	}
	return len(granted)
}

func wantAllowance(t *testing.T, w *window, elapsed time.Duration, want int) {
	t.Helper()
	if got := allowance(w, elapsed); got != want {
		t.Errorf("at %v: %d retries, want %d", elapsed, got, want)
	}
}

func requests(w *window, elapsed time.Duration, n int) {
	for range n {
		w.request(elapsed)
	}
}

func TestC37_ClockSteps(t *testing.T) {
	const now = time.Hour
	t.Run("a step back neither adds nor removes", func(t *testing.T) {
		w := second(1, 10)
		requests(w, now, 5)
		for range 13 {
			w.reserve(now)
		}
		for _, step := range []time.Duration{-11 * time.Second, -time.Second, -now, -2 * now, math.MinInt64} {
			wantAllowance(t, w, now+step, 2)
		}
		wantAllowance(t, w, now-10*time.Second, 2) // −11 s, then +1 s of normal time
		w.request(now - 11*time.Second)            // and what happens then counts as now
		wantAllowance(t, w, now, 3)
		w.reserve(now - 11*time.Second)
		wantAllowance(t, w, now, 2)
		wantAllowance(t, w, now+9*time.Second, 2)
		wantAllowance(t, w, now+10*time.Second, 10)
	})
	t.Run("a long gap empties the window once", func(t *testing.T) {
		w := second(1, 2)
		requests(w, now, 5)
		w.reserve(now)
		wantAllowance(t, w, now, 6)
		after := now + 24*time.Hour
		wantAllowance(t, w, after, 2)
		requests(w, after, 3)
		wantAllowance(t, w, after, 5)
		wantAllowance(t, w, now, 5) // back before the gap
		wantAllowance(t, w, after, 5)
	})
	t.Run("an idle budget grants its minimum, not more", func(t *testing.T) {
		w := second(0.1, 10)
		wantAllowance(t, w, now, 10)
		for i := range 11 {
			if _, ok := w.reserve(now + 5*time.Second); ok != (i < 10) {
				t.Errorf("retry %d granted: %v", i+1, ok)
			}
		}
		wantAllowance(t, w, now+6*time.Second, 0)
	})
}

// However long nobody calls: 2³¹ of the shortest slots are 25 days.
func TestLongGapEmptiesTheShortestWindow(t *testing.T) {
	for _, gap := range []int64{slots, 1<<31 - 1, 1 << 31, 1<<32 - 10, 1 << 32, 1<<32 + 10, 1 << 43} {
		w := newWindow(10*time.Millisecond, millionths(1), 0)
		requests(w, 5*time.Millisecond, 3)
		wantAllowance(t, w, 5*time.Millisecond, 3)
		at := 5*time.Millisecond + time.Duration(gap)*time.Millisecond
		wantAllowance(t, w, at, 0)
		requests(w, at, 2)
		wantAllowance(t, w, at, 2)
		wantAllowance(t, w, at+10*time.Millisecond, 0)
	}
}

func TestWindowSlidesAtAnyTime(t *testing.T) {
	for _, base := range []time.Duration{10 * time.Second, 1 << 31 * time.Second, 1 << 32 * time.Second, 1 << 33 * time.Second} {
		w := second(1, 0)
		for i := range 20 {
			at := base + time.Duration(i-10)*time.Second
			w.request(at)
			wantAllowance(t, w, at, min(i+1, 10))
		}
	}
}

// A goroutine that was suspended for a window between reading the time and counting
// must not wipe out the slot that has taken its place.
func TestLateRequestDoesNotWipeANewerSlot(t *testing.T) {
	w := second(1, 0)
	requests(w, 15*time.Second, 100)
	w.count(5)
	wantAllowance(t, w, 15*time.Second, 101)
}

// A retry that was asked for in an older slot sees those granted in a newer one.
func TestGrantsAcrossASlotEdgeAreExact(t *testing.T) {
	for range 200 {
		w := second(0, 5)
		var granted [8]int
		var askers sync.WaitGroup
		begin := make(chan struct{})
		for i := range granted {
			askers.Go(func() {
				<-begin
				for s := range 10 {
					if _, ok := w.reserve(time.Duration(s) * time.Second); ok {
						granted[i]++
					}
					runtime.Gosched()
				}
			})
		}
		close(begin)
		askers.Wait()
		total := 0
		for _, n := range granted {
			total += n
		}
		if total != 5 {
			t.Fatalf("%d grants within one window, want exactly 5", total)
		}
	}
}

func TestRequestsAcrossSlotEdgesAreExact(t *testing.T) {
	const callers, each = 8, 2000
	w := second(1, 0)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for i := range each {
				w.request(time.Duration(i) * 10 * time.Second / each)
			}
		})
	}
	running.Wait()
	wantAllowance(t, w, 9*time.Second, callers*each)
}

// All callers meet at the first moment of each slot, when one of them begins it.
func TestBeginningOfASlotLosesNothing(t *testing.T) {
	const callers, last = 4, 5000
	w := second(1, 0)
	var arrived atomic.Int64
	meet := func(times int) { // closer together than by a channel
		arrived.Add(1)
		for arrived.Load() < callers*int64(times) {
			runtime.Gosched()
		}
	}
	var running sync.WaitGroup
	for caller := range callers {
		running.Go(func() {
			for s := range last {
				meet(2*s + 1)
				w.request(time.Duration(s) * time.Second)
				meet(2*s + 2)
				if got := w.slots[s%slots].requests.Load(); caller == 0 && got != callers {
					t.Errorf("slot %d: %d requests, want %d", s, got, callers)
				}
			}
		})
	}
	running.Wait()
	wantAllowance(t, w, (last-1)*time.Second, 10*callers)
	wantAllowance(t, w, (last+9)*time.Second, 0)
}

func TestMillionthsAreExact(t *testing.T) {
	for k := range uint64(1_000_001) {
		if got := millionths(float64(k) / 1e6); got != k {
			t.Fatalf("%d millionths are read as %d", k, got)
		}
	}
}

func TestCountersDoNotOverflow(t *testing.T) {
	w := newWindow(24*time.Hour, millionths(1), millionths(1e6*86400))
	for i := range w.slots {
		w.slots[i].number.Store(int64(i))
		w.slots[i].requests.Store(1 << 36) // 8 million a second, all day
	}
	at := 9 * w.slot
	requests(w, at, 5)
	w.slots[9].retries = 10<<36 + 5 + 86_400_000_000 - 1
	wantAllowance(t, w, at, 1)
}

func TestRefundNeverGoesBelowZero(t *testing.T) {
	w := second(0, 1)
	slot, _ := w.reserve(0)
	w.refund(slot)
	w.refund(slot)
	for _, n := range []int64{slot + 1, slot + slots, -1, math.MinInt64, math.MaxInt64} {
		w.refund(n)
	}
	wantAllowance(t, w, 0, 1)
}
