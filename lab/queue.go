package lab

import "time"

// instants is a heap, the earliest first. container/heap would allocate for each value.
type instants []time.Duration

func (h *instants) add(t time.Duration) {
	*h = append(*h, t)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if s[parent] <= s[i] {
			return
		}
		s[parent], s[i] = s[i], s[parent]
		i = parent
	}
}

func (h *instants) removeFirst() {
	s := *h
	last := len(s) - 1
	s[0] = s[last]
	*h = s[:last]
	h.sink()
}

// replaceFirst is removeFirst and add in one.
func (h *instants) replaceFirst(t time.Duration) {
	(*h)[0] = t
	h.sink()
}

// sink moves the first to its place.
func (h *instants) sink() {
	s := *h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(s) {
			return
		}
		if child+1 < len(s) && s[child+1] < s[child] {
			child++
		}
		if s[i] <= s[child] {
			return
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}

// fifo is a queue of instants in a ring that grows to what was the most in it.
type fifo struct {
	ring    []time.Duration
	head, n int
}

func (q *fifo) len() int { return q.n }

func (q *fifo) first() time.Duration { return q.ring[q.head] }

func (q *fifo) removeFirst() {
	q.head++
	if q.head == len(q.ring) {
		q.head = 0
	}
	q.n--
}

func (q *fifo) add(t time.Duration) {
	if q.n == len(q.ring) {
		bigger := make([]time.Duration, max(16, 2*q.n))
		copied := copy(bigger, q.ring[q.head:])
		copy(bigger[copied:], q.ring[:q.head])
		q.ring, q.head = bigger, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = t
	q.n++
}
