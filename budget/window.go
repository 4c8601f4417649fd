package budget

import (
	"sync"
	"sync/atomic"
	"time"
)

const slots = 10

// window counts requests and retries over a sliding time, in slots. The caller gives
// the elapsed time; it is monotonic, and a step back is read as no time at all.
//
// Requests are on the path of every call, so they are counted with one atomic
// addition; retries are few and take a lock, as the beginning of a slot does, which
// makes them exact. ratio and floor are in millionths: with float64, 100 requests at
// 0.29 would allow 28.
type window struct {
	slot   time.Duration
	ratio  uint64
	floor  uint64
	latest atomic.Int64 // the latest slot number seen

	mu    sync.Mutex
	slots [slots]slot
}

// slot is one tenth of the window. Its place is used again ten numbers later.
type slot struct {
	number   atomic.Int64 // written under mu
	requests atomic.Uint64
	retries  uint64 // under mu
}

func newWindow(span time.Duration, ratio, floor uint64) *window {
	return &window{slot: (span + slots - 1) / slots, ratio: ratio, floor: floor}
}

// number is that of the current slot, which never goes back, nor below 0.
func (w *window) number(elapsed time.Duration) int64 {
	n := int64(elapsed / w.slot)
	for {
		latest := w.latest.Load()
		if n <= latest {
			return latest
		}
		if w.latest.CompareAndSwap(latest, n) {
			return n
		}
	}
}

func (w *window) request(elapsed time.Duration) { w.count(w.number(elapsed)) }

// count adds a request to slot n. A goroutine that comes so late that the place of its
// slot is used again counts in the newer one.
func (w *window) count(n int64) {
	s := &w.slots[n%slots]
	if s.number.Load() != n {
		w.mu.Lock()
		w.begin(n)
		w.mu.Unlock()
	}
	s.requests.Add(1)
}

// begin makes slot n the one in its place, unless it is or a newer one is. mu is held.
func (w *window) begin(n int64) *slot {
	s := &w.slots[n%slots]
	if s.number.Load() < n {
		s.requests.Store(0)
		s.retries = 0
		s.number.Store(n) // last: from now on requests are added to it
	}
	return s
}

// reserve grants a retry if the window has room for it, and returns the number of the
// slot that it counts in.
func (w *window) reserve(elapsed time.Duration) (number int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.number(elapsed) // under the lock, so that no slot is newer
	retries, allowed := w.sum(n)
	if retries+1e6 > allowed {
		return 0, false
	}
	w.begin(n).retries++
	return n, true
}

// sum returns the retries of the window that ends with slot n, and how many it
// allows, both in millionths. mu is held.
func (w *window) sum(n int64) (retries, allowed uint64) {
	var requests uint64
	for i := range w.slots {
		if s := &w.slots[i]; n-s.number.Load() < slots {
			requests += s.requests.Load()
			retries += s.retries
		}
	}
	return retries * 1e6, w.ratio*requests + w.floor
}

// utilization is the share of the allowed retries that is spent, from 0 to 1.
func (w *window) utilization(elapsed time.Duration) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Not number: reading must not move the window.
	retries, allowed := w.sum(max(w.latest.Load(), int64(elapsed/w.slot)))
	allowed -= allowed % 1e6 // only whole retries are granted
	if retries >= allowed {
		return min(float64(retries), 1)
	}
	return float64(retries) / float64(allowed)
}

// refund takes a granted retry back out of its slot. One whose slot has left the
// window is forgotten, and nobody else's is touched; nor by a number that never was one.
func (w *window) refund(number int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := &w.slots[uint64(number)%slots]; s.number.Load() == number && s.retries > 0 {
		s.retries--
	}
}
