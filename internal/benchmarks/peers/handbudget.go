package peers

import (
	"sync"
	"time"
)

// handBudget is the retry budget that one writes by hand: counters of the last ten
// slots of a window, guarded by a mutex.
type handBudget struct {
	ratio float64
	spare int
	slot  int64 // the length of one, in milliseconds

	mu                sync.Mutex
	now               int64
	requests, retries [10]int
}

func newHandBudget(s Settings) *handBudget {
	return &handBudget{ratio: s.Ratio, spare: s.Spare, slot: s.Window.Milliseconds() / 10}
}

// request counts a call.
func (b *handBudget) request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests[b.index()]++
}

// retry counts a retry, unless there should be none.
func (b *handBudget) retry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, requests, retries := b.index(), 0, 0
	for j := range b.requests {
		requests += b.requests[j]
		retries += b.retries[j]
	}
	if float64(retries) >= b.ratio*float64(requests)+float64(b.spare) {
		return false
	}
	b.retries[i]++
	return true
}

// index is that of the present slot, after those that have left the window were
// emptied.
func (b *handBudget) index() int64 {
	now := time.Now().UnixMilli() / b.slot
	for b.now = max(b.now, now-10); b.now < now; {
		b.now++
		b.requests[b.now%10], b.retries[b.now%10] = 0, 0
	}
	return b.now % 10
}
