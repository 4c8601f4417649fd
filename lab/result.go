package lab

import (
	"time"
)

// Summary is what came out of the requests that started in some time.
type Summary struct {
	Requests uint64 `json:"requests"`
	OK       uint64 `json:"ok"`
	Failed   uint64 `json:"failed"`
	Rejected uint64 `json:"rejected"`  // the client refused, and sent nothing
	InFlight uint64 `json:"in_flight"` // not over when the run was
	Attempts uint64 `json:"attempts"`  // calls that went out

	Amplification float64 `json:"amplification"`  // attempts for each request
	Success       float64 `json:"success"`        // share of the requests
	RejectedShare float64 `json:"rejected_share"` // share of the requests
	Refusals      float64 `json:"refusals"`       // of calls by layers of the stack, for each request: a retry may meet several
	BudgetStops   float64 `json:"budget_stops"`   // of retries by a budget, for each request

	// By when it happens, not by when the request started:
	Goodput          float64 `json:"goodput"`            // requests answered in a second
	Load             float64 `json:"load"`               // arrivals at the server in a second
	PeakArrivals     int     `json:"peak_arrivals"`      // the most arrivals in 10 ms, whichever
	BreakerOpenShare float64 `json:"breaker_open_share"` // of the time of all breakers, not closed

	// How long calls took, from start to end, waits included.
	OKP50     time.Duration `json:"ok_p50_ns"`
	OKP99     time.Duration `json:"ok_p99_ns"`
	FailedP50 time.Duration `json:"failed_p50_ns"`
	FailedP99 time.Duration `json:"failed_p99_ns"`
	MeanTime  time.Duration `json:"mean_time_ns"`
}

// Point is one window of the series.
type Point struct {
	At time.Duration `json:"at_ns"` // where the window begins
	Summary
}

// Result is what a run gave. The embedded Summary is about the whole run.
type Result struct {
	Scenario string        `json:"scenario"`
	Seed     uint64        `json:"seed"`
	Length   time.Duration `json:"length_ns"` // virtual time until the last request was over
	Window   time.Duration `json:"window_ns"`

	Summary

	// Fault is about the requests that started while there was a fault, to whole windows.
	Fault *Summary `json:"fault,omitempty"`

	// Recovered reports whether the clients were served again after the last fault, and
	// TimeToRecover how long that took; see Recovery.
	Recovered     bool          `json:"recovered"`
	TimeToRecover time.Duration `json:"time_to_recover_ns"`

	// MeanInFlight is how many requests were inside stacks, on the average.
	MeanInFlight float64 `json:"mean_in_flight"`

	// Ties is how often two requests met at one instant in an order that nobody decided.
	// With 0 the same seed gives the same result, byte for byte. Others come from waits
	// that the lab does not see.
	Ties   uint64 `json:"ties"`
	Events uint64 `json:"events"` // how much the run did

	Series []Point `json:"series"`

	windows  []*counts
	breakers int
}

// result makes the Result of a run that is over.
func (w *world) result() *Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	length := min(w.now(), w.end)
	w.serveLate(length)
	w.rec.close(length)
	r := &Result{
		Scenario: w.sc.Name, Seed: w.seed, Length: length, Window: w.rec.window,
		Ties: w.ties, Events: w.count,
		windows: w.rec.windows, breakers: w.rec.breakers,
	}
	r.Summary = r.summary(0, len(r.windows))
	whole := &w.rec.whole
	r.OKP50, r.OKP99 = whole.okTime.quantile(0.5), whole.okTime.quantile(0.99)
	r.FailedP50, r.FailedP99 = whole.failedTime.quantile(0.5), whole.failedTime.quantile(0.99)
	if length > 0 {
		r.MeanInFlight = w.rec.inside.Seconds() / length.Seconds()
		r.Goodput = float64(r.OK) / length.Seconds()
	}
	for i := range r.windows {
		r.Series = append(r.Series, Point{At: time.Duration(i) * r.Window, Summary: r.summary(i, i+1)})
	}
	from, to := faults(w.sc.Faults).span()
	if to > 0 {
		during := r.Between(from, to)
		r.Fault = &during
	}
	if w.sc.Recovery.From > 0 {
		to = w.sc.Recovery.From
	}
	r.TimeToRecover, r.Recovered = r.RecoveryAfter(to, w.sc.Recovery.Window, w.sc.Recovery.Success)
	return r
}

// Between is about the requests that started from from until to, widened to whole
// windows. It needs a Result that Run returned, not one that was decoded.
func (r *Result) Between(from, to time.Duration) Summary {
	i := int(max(from, 0) / r.Window)
	j := int((max(to, 0) + r.Window - 1) / r.Window)
	return r.summary(min(i, len(r.windows)), min(j, len(r.windows)))
}

// RecoveryAfter is the time from the given moment to the first stretch of that length,
// in whole windows, in which at least that share of the requests succeeded. false means
// never. Like Between it needs a Result that Run returned.
func (r *Result) RecoveryAfter(moment, length time.Duration, success float64) (time.Duration, bool) {
	n := max(1, int(length/r.Window))
	first := int((moment + r.Window - 1) / r.Window)
	for i := first; i+n <= len(r.windows); i++ {
		var requests, ok uint64
		for _, w := range r.windows[i : i+n] {
			requests, ok = requests+w.requests, ok+w.ok
		}
		if requests > 0 && float64(ok) >= success*float64(requests) {
			return time.Duration(i)*r.Window - moment, true
		}
	}
	return 0, false
}

// summary is about the windows from i to j.
func (r *Result) summary(i, j int) Summary {
	var s Summary
	var arrivals, answered, refusals, stops uint64
	var open, latency time.Duration
	okTime, failedTime := hist{fine: coarseBins}, hist{fine: coarseBins}
	for _, w := range r.windows[i:max(i, j)] {
		s.Requests += w.requests
		s.OK += w.ok
		s.Failed += w.failed
		s.Rejected += w.rejected
		s.Attempts += w.attempts
		arrivals += w.arrivals
		answered += w.answered
		refusals += w.refusals
		stops += w.retriesRefused
		s.PeakArrivals = max(s.PeakArrivals, w.peak)
		open += w.open
		latency += w.latency
		okTime.merge(&w.okTime)
		failedTime.merge(&w.failedTime)
	}
	over := s.OK + s.Failed + s.Rejected
	s.InFlight = s.Requests - over
	s.Amplification = ratio(float64(s.Attempts), float64(s.Requests))
	s.Success = ratio(float64(s.OK), float64(s.Requests))
	s.RejectedShare = ratio(float64(s.Rejected), float64(s.Requests))
	s.Refusals = ratio(float64(refusals), float64(s.Requests))
	s.BudgetStops = ratio(float64(stops), float64(s.Requests))
	length := min(time.Duration(j)*r.Window, r.Length) - time.Duration(i)*r.Window
	s.Goodput = ratio(float64(answered), length.Seconds())
	s.Load = ratio(float64(arrivals), length.Seconds())
	s.BreakerOpenShare = ratio(open.Seconds(), length.Seconds()*float64(r.breakers))
	s.OKP50, s.OKP99 = okTime.quantile(0.5), okTime.quantile(0.99)
	s.FailedP50, s.FailedP99 = failedTime.quantile(0.5), failedTime.quantile(0.99)
	if over > 0 {
		s.MeanTime = latency / time.Duration(over)
	}
	return s
}

// ratio is a/b, and 0 where that means nothing.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
