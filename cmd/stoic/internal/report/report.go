// Package report shows the results of a comparison: as a table, as charts, and as one
// HTML page with both that loads nothing from anywhere.
package report

import (
	"math"
	"time"
)

// Report is what there is to show.
type Report struct {
	Title  string
	About  string
	Facts  []Fact // what was modelled, in words
	Faults []Span
	Length time.Duration // of a run, in virtual time
	Step   time.Duration // of the series
	Rows   []Row         // one a stack
	Checks []Check
}

// Fact is a line about the model.
type Fact struct{ Name, Value string }

// Span is a time in which something goes wrong.
type Span struct {
	Name     string
	From, To time.Duration
}

// Row is what became of one stack.
type Row struct {
	Name  string
	Run   Numbers
	Fault *Numbers // over the requests that start during the faults; nil without any

	Recovery time.Duration // after the last fault; None without any, Never if it did not
	Peak     float64       // arrivals in the worst 10 ms
	Open     float64       // share of the time in which a breaker was open

	Series
	Layers []string // what the stack is, outermost first
}

// Numbers are about some requests. A share that there is none of is NaN, a time that
// there is none of is [None].
type Numbers struct {
	Amplification float64 // attempts for each request
	Success       float64 // share of the requests
	Rejected      float64 // share of the requests that the client refused
	GoodP50       time.Duration
	GoodP99       time.Duration
	FailedP99     time.Duration
}

// Series are numbers over time, one for each step.
type Series struct {
	Load      []float64       // attempts a second that arrive at the server
	Success   []float64       // share of the requests that start then; NaN without any
	GoodP99   []time.Duration // of the requests that start then; None without any
	FailedP99 []time.Duration
}

// Times that are none.
const (
	None  = time.Duration(-1)
	Never = time.Duration(math.MaxInt64)
)

// Check is a bound that the file states, and whether it holds.
type Check struct {
	Text string // `recommended: amplification at most 1.2`
	Got  string
	OK   bool
}

// Failed is how many checks do not hold.
func (r *Report) Failed() int {
	n := 0
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}
