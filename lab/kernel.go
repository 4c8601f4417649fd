package lab

import (
	"sync"
	"sync/atomic"
	"time"
)

// kernel keeps virtual time in order. In a bubble the runtime wakes timers of one
// instant in random order, and side by side on two processors. So no two wake-ups get
// the same instant: each is reserved, and moved by nanoseconds when it is taken. All
// that happens at an instant is then one chain of events, and a run is repeatable.
type kernel struct {
	origin time.Time // of the run, in the bubble
	end    time.Duration
	stop   func()        // ends the context of all calls
	grain  time.Duration // tests round every instant up to it, so that many meet

	clock   atomic.Int64 // the latest instant, for the watchdog outside
	aborted atomic.Bool

	mu    sync.Mutex // guards what follows and all that is recorded; never held while foreign code runs
	taken map[time.Duration]struct{}
	last  time.Duration // of the latest event
	chain *call         // that it belonged to
	ties  uint64
	count uint64 // of events
}

func newKernel(end, grain time.Duration, stop func()) *kernel {
	return &kernel{
		origin: time.Now(), end: end, stop: stop, grain: grain, taken: make(map[time.Duration]struct{}), last: -1,
	}
}

func (k *kernel) now() time.Duration { return time.Since(k.origin) }

// over reports whether the run has ended: nothing is recorded from then on.
func (k *kernel) over(now time.Duration) bool { return now >= k.end || k.aborted.Load() }

// reserve gives an instant, at t or right after it, to one wake-up. mu is held.
func (k *kernel) reserve(t time.Duration) time.Duration {
	if k.grain > 0 {
		t = (t + k.grain - 1) / k.grain * k.grain
	}
	for t < k.end {
		if _, ok := k.taken[t]; !ok {
			k.taken[t] = struct{}{}
			return t
		}
		t++
	}
	return k.end
}

// release gives an instant back, used or not. mu is held.
func (k *kernel) release(t time.Duration) { delete(k.taken, t) }

// event notes that something happens for c at the instant now. Two calls at one instant
// are a tie: their order is up to the runtime. mu is held.
func (k *kernel) event(now time.Duration, c *call) {
	if now == k.last && c != k.chain && now < k.end {
		k.ties++
	}
	k.last, k.chain = now, c
	k.clock.Store(int64(now))
	k.count++
}

// sleep waits from now until the reserved instant t and reports whether the run goes on.
func (k *kernel) sleep(now, t time.Duration) bool {
	if t > now {
		time.Sleep(min(t, k.end) - now)
	}
	return k.woke(t)
}

// woke is what every wake-up at t does first.
func (k *kernel) woke(t time.Duration) bool {
	if k.over(t) {
		k.clock.Store(int64(t))
		k.stop()
		return false
	}
	return true
}

// abort ends the run at once: no call goes on, and none begins. It is for the inside of
// the bubble, where the context of the run belongs.
func (k *kernel) abort() {
	k.aborted.Store(true)
	k.stop()
}
