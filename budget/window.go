package budget

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const slots = 10

// window counts requests and retries over a sliding time, in slots. The caller gives
// the elapsed time; it is monotonic, and a step back is read as no time at all.
//
// Requests are on the path of every call, so they are counted with one atomic
// operation; retries are few and take a lock, which makes them exact. ratio and
// floor are in millionths: with float64, 100 requests at 0.29 would allow 28.
type window struct {
	slot   time.Duration
	ratio  uint64
	floor  uint64
	latest atomic.Uint32 // the latest slot number seen

	requests [slots]atomic.Uint64 // slot number <<32 | count

	mu      sync.Mutex
	retries [slots]struct {
		number uint32
		count  uint64
	}
}

func newWindow(span time.Duration, ratio, floor uint64) *window {
	return &window{slot: (span + slots - 1) / slots, ratio: ratio, floor: floor}
}

// number is that of the current slot. It wraps after 2³² slots, which are 49 days of
// the shortest ones; differences are taken modulo 2³² and stay right.
func (w *window) number(elapsed time.Duration) uint32 {
	n := uint32(max(elapsed, 0) / w.slot)
	for {
		latest := w.latest.Load()
		if int32(n-latest) <= 0 {
			return latest
		}
		if w.latest.CompareAndSwap(latest, n) {
			return n
		}
	}
}

func (w *window) request(elapsed time.Duration) {
	n := w.number(elapsed)
	s := &w.requests[n%slots]
	for {
		old := s.Load()
		if uint32(old>>32) != n {
			if s.CompareAndSwap(old, uint64(n)<<32|1) {
				return
			}
			continue
		}
		if uint32(old) < math.MaxUint32/2 { // saturates long before it would carry
			s.Add(1)
		}
		return
	}
}

// reserve grants a retry if the window has room for it, and returns the slot that it
// counts in.
func (w *window) reserve(elapsed time.Duration) (slot uint64, ok bool) {
	n := w.number(elapsed)
	w.mu.Lock()
	defer w.mu.Unlock()
	var requests, retries uint64
	for i := range slots {
		if r := w.requests[i].Load(); n-uint32(r>>32) < slots {
			requests += uint64(uint32(r))
		}
		if r := w.retries[i]; n-r.number < slots {
			retries += r.count
		}
	}
	if (retries+1)*1e6 > w.ratio*requests+w.floor {
		return 0, false
	}
	r := &w.retries[n%slots]
	if r.number != n {
		r.number, r.count = n, 0
	}
	r.count++
	return uint64(n), true
}

// refund takes a granted retry back out of its slot. One whose slot has left the
// window is forgotten, and nobody else's is touched.
func (w *window) refund(slot uint64) {
	n := uint32(slot)
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := &w.retries[n%slots]; r.number == n && r.count > 0 {
		r.count--
	}
}
