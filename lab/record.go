package lab

import (
	"errors"
	"time"

	"github.com/stoic-go/stoic"
)

// peakWindow is the time over which arrivals are counted to find their peak. It is
// half-open and slides.
const peakWindow = 10 * time.Millisecond

// counts are what happened in one window of the series. Requests are counted in the
// window in which they started, whenever they end; arrivals, answers in time and
// refusals when they happen.
type counts struct {
	requests, ok, failed, rejected, attempts uint64

	arrivals, answered, refusals, retriesRefused uint64

	peak    int           // of arrivals in 10 ms
	open    time.Duration // summed over the breakers
	latency time.Duration // summed over all that ended

	okTime, failedTime hist
}

// recorder counts. The world's mutex guards it.
type recorder struct {
	window  time.Duration
	windows []*counts

	whole    counts // only its latencies and peak
	inFlight int
	inside   time.Duration // the time of all requests inside stacks, added up
	since    time.Duration // until when that is added

	recent fifo // arrivals of the last 10 ms

	breakers int // in all stacks
	open     int // that are not closed
	changed  time.Duration
}

func newRecorder(window time.Duration) *recorder {
	r := &recorder{window: window}
	r.whole.okTime.fine, r.whole.failedTime.fine = fineBins, fineBins
	return r
}

func (r *recorder) at(t time.Duration) *counts {
	i := int(t / r.window)
	for len(r.windows) <= i {
		c := &counts{}
		c.okTime.fine, c.failedTime.fine = coarseBins, coarseBins
		r.windows = append(r.windows, c)
	}
	return r.windows[i]
}

func (r *recorder) begin(c *call) {
	r.at(c.start).requests++
	r.flow(c.start, +1)
}

// flow keeps the time integral of the requests in flight.
func (r *recorder) flow(now time.Duration, change int) {
	r.inside += time.Duration(r.inFlight) * (now - r.since)
	r.since = now
	r.inFlight += change
}

func (r *recorder) attempt(c *call) {
	c.attempts++
	r.at(c.start).attempts++
}

// arrival counts a call that comes to the server. Arrivals are in order of time.
func (r *recorder) arrival(at time.Duration) {
	for r.recent.len() > 0 && r.recent.first() <= at-peakWindow {
		r.recent.removeFirst()
	}
	r.recent.add(at)
	n := r.recent.len()
	w := r.at(at)
	w.arrivals++
	w.peak = max(w.peak, n)
	r.whole.peak = max(r.whole.peak, n)
}

// outcome is how a request ended.
type outcome uint8

const (
	failed outcome = iota
	succeeded
	rejected
)

// outcomeOf may run foreign code: the methods of the error.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, stoic.ErrRejected):
		return rejected
	default:
		return failed
	}
}

func (r *recorder) finish(c *call, now time.Duration, o outcome) {
	w := r.at(c.start)
	took := now - c.start
	w.latency += took
	r.flow(now, -1)
	switch o {
	case succeeded:
		w.ok++
		w.okTime.add(took)
		r.whole.okTime.add(took)
		r.at(now).answered++
	case rejected:
		w.rejected++
	default:
		w.failed++
		w.failedTime.add(took)
		r.whole.failedTime.add(took)
	}
}

// breaker notes that a breaker left the closed state (+1) or came back to it (-1).
func (r *recorder) breaker(now time.Duration, change int) {
	for r.open > 0 && r.changed < now {
		w := r.changed / r.window
		end := min(now, (w+1)*r.window)
		r.at(r.changed).open += time.Duration(r.open) * (end - r.changed)
		r.changed = end
	}
	r.changed = now
	r.open = max(0, r.open+change)
}

// close ends the record at that moment, and fills the windows up to it.
func (r *recorder) close(now time.Duration) {
	r.flow(now, 0)
	r.breaker(now, 0)
	if now > 0 {
		r.at(now - 1)
	}
}
