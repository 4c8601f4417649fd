package labrun

import (
	"math"
	"time"

	"github.com/stoic-go/stoic/lab"
)

// Value is one of the metrics of a file, averaged over the seeds; of the recovery it is
// the longest. Times are in seconds, never is +Inf, and NaN is a number that there is
// none of.
func (o Outcome) Value(metric string, fault bool) float64 {
	if metric == "recovery" {
		return o.recovery()
	}
	return o.mean(func(r *lab.Result) float64 {
		s := &r.Summary
		if fault {
			s = r.Fault
		}
		switch metric {
		case "amplification":
			return share(s.Amplification, s.Requests)
		case "success":
			return share(s.Success, s.Requests)
		case "rejected_share":
			return share(s.RejectedShare, s.Requests)
		case "goodput":
			return s.Goodput
		case "load":
			return s.Load
		case "good_p50":
			return timeOf(s.OKP50, s.OK)
		case "good_p99":
			return timeOf(s.OKP99, s.OK)
		case "failed_p50":
			return timeOf(s.FailedP50, s.Failed)
		case "failed_p99":
			return timeOf(s.FailedP99, s.Failed)
		case "peak_10ms":
			return float64(s.PeakArrivals)
		case "open_share":
			return s.BreakerOpenShare
		default:
			return math.NaN() // the schema lists the metrics
		}
	})
}

func share(value float64, of uint64) float64 {
	if of == 0 {
		return math.NaN()
	}
	return value
}

func timeOf(d time.Duration, of uint64) float64 { return share(d.Seconds(), of) }

// mean leaves out NaN; it is NaN if nothing is left.
func (o Outcome) mean(of func(r *lab.Result) float64) float64 {
	sum, n := 0.0, 0
	for _, r := range o.Results {
		if v := of(r); !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n) // 0/0 is NaN
}

func (o Outcome) recovery() float64 {
	longest := 0.0
	for _, r := range o.Results {
		switch {
		case r.Fault == nil:
			return math.NaN()
		case !r.Recovered:
			return math.Inf(1)
		default:
			longest = max(longest, r.TimeToRecover.Seconds())
		}
	}
	return longest
}

// Ties is how often two requests met at one instant, in all runs; 0 means that the same
// seeds give the same numbers.
func (o Outcome) Ties() uint64 {
	n := uint64(0)
	for _, r := range o.Results {
		n += r.Ties
	}
	return n
}
