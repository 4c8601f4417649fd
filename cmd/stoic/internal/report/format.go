package report

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// column is one of the numbers of a row.
type column struct {
	Name, Meaning string
	Value         func(r *Row) string
}

// group are columns about the same requests.
type group struct {
	Name    string
	Columns []column
}

// groups are those of the table, in its order.
func (r *Report) groups() []group {
	run := group{"the whole run", append(numbers(func(r *Row) *Numbers { return &r.Run }),
		column{"peak/10ms", "most attempts that arrived at the server within 10 ms", func(r *Row) string { return count(r.Peak) }},
		column{"breaker open", "share of the time in which the breakers were not closed", func(r *Row) string { return percent(r.Open) }},
	)}
	if len(r.Faults) == 0 {
		return []group{run}
	}
	fault := group{"requests that start during the fault", numbers(func(r *Row) *Numbers { return r.Fault })}
	fault.Columns = append(fault.Columns, column{
		"recovery", "from the end of the fault until requests succeed again", func(r *Row) string { return latency(r.Recovery) },
	})
	return []group{fault, run}
}

func numbers(of func(r *Row) *Numbers) []column {
	return []column{
		{"amplification", "attempts that were sent, for each request", func(r *Row) string { return ratio(of(r).Amplification) }},
		{"success", "share of the requests that succeeded", func(r *Row) string { return percent(of(r).Success) }},
		{"rejected", "share of the requests that the client refused and did not send", func(r *Row) string { return percent(of(r).Rejected) }},
		{"good p50", "median latency of the requests that succeeded", func(r *Row) string { return latency(of(r).GoodP50) }},
		{"good p99", "latency that 99 of 100 of those stay below", func(r *Row) string { return latency(of(r).GoodP99) }},
		{"failed p99", "the same of the requests that failed after they were sent", func(r *Row) string { return latency(of(r).FailedP99) }},
	}
}

const nothing = "–"

func ratio(f float64) string {
	switch {
	case math.IsNaN(f):
		return nothing
	case f < 1:
		return strconv.FormatFloat(f, 'f', 3, 64)
	default:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
}

func percent(f float64) string {
	if math.IsNaN(f) {
		return nothing
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + " %"
}

func count(f float64) string {
	if math.IsNaN(f) {
		return nothing
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// latency has three digits at most: nobody reads more.
func latency(d time.Duration) string {
	switch {
	case d == None:
		return nothing
	case d == Never:
		return "never"
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%.3gs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
