package lab

import (
	"math/bits"
	"time"
)

// hist counts times in bins whose width grows with the time: 2^fine bins for each
// doubling, so a quantile is off by at most half of 2^-fine. Its memory is bounded.
type hist struct {
	fine   uint
	counts []uint32
	n      uint64
	max    time.Duration
}

const (
	coarseBins = 3 // for one window of the series: within 6 %
	fineBins   = 6 // for the whole: within 1 %
)

// add counts d. Times are kept in microseconds.
func (h *hist) add(d time.Duration) {
	i := h.bin(uint64(max(d, 0)) / 1000)
	if i >= len(h.counts) {
		bigger := make([]uint32, i+1+8)
		copy(bigger, h.counts)
		h.counts = bigger
	}
	h.counts[i]++
	h.n++
	h.max = max(h.max, d)
}

func (h *hist) bin(us uint64) int {
	if us < 1<<h.fine {
		return int(us)
	}
	shift := uint(bits.Len64(us)) - h.fine - 1
	return int(uint64(shift)<<h.fine + us>>shift)
}

// bounds of a bin, in microseconds.
func (h *hist) bounds(i int) (low, width uint64) {
	if i < 1<<h.fine {
		return uint64(i), 1
	}
	shift := uint(i>>h.fine) - 1
	return (uint64(i)&(1<<h.fine-1) + 1<<h.fine) << shift, 1 << shift
}

// quantile is the time below which a share q of the times are; 0 without any.
func (h *hist) quantile(q float64) time.Duration {
	want := q * float64(h.n)
	below := 0.0
	for i, n := range h.counts {
		if n == 0 {
			continue
		}
		if below+float64(n) >= want {
			low, width := h.bounds(i)
			us := float64(low) + float64(width)*(want-below)/float64(n)
			return min(time.Duration(us*1000), h.max)
		}
		below += float64(n)
	}
	return h.max
}

// merge adds the times of other, which has bins of the same width.
func (h *hist) merge(other *hist) {
	if len(other.counts) > len(h.counts) {
		bigger := make([]uint32, len(other.counts))
		copy(bigger, h.counts)
		h.counts = bigger
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}
