package experiments

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/stoic-go/stoic/lab"
)

// Size is how much of an experiment is run.
type Size int

// The sizes. All compare with the same figures and tolerances; the short ones have fewer
// runs, and where the figure is a mean over runs, the standard error of both counts.
const (
	Short Size = iota
	Full
)

// Experiment is one of the ten.
type Experiment struct {
	Name  string // "e10"
	Title string // "breaker-order"
	Run   func(size Size) (*Report, error)
}

// All returns the experiments in order.
func All() []Experiment {
	return []Experiment{
		{"e1", "jitter-peak", JitterPeak},
		{"e2", "occ-contention", Contention},
		{"e3", "retry-vs-failure-rate", FailureRate},
		{"e4", "outage-amplification", Amplification},
		{"e5", "overload-ramp", OverloadRamp},
		{"e6", "retry-storm", RetryStorm},
		{"e7", "spike-vs-ramp", SpikeRamp},
		{"e8", "client-throttling", Throttling},
		{"e9", "breaker-vs-retry", BreakerRetry},
		{"e10", "breaker-order", BreakerOrder},
	}
}

// Check is one figure: what came out, and between what it must be.
type Check struct {
	Name string  `json:"name"`
	Got  float64 `json:"got"`
	Want float64 `json:"want"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// OK reports whether the figure is met.
func (c Check) OK() bool { return c.Got >= c.Low && c.Got <= c.High }

// String is one line.
func (c Check) String() string {
	mark := "ok  "
	if !c.OK() {
		mark = "FAIL"
	}
	return fmt.Sprintf("%s %-60s got %-10.5g want %-10.5g (%.5g to %.5g)", mark, c.Name, c.Got, c.Want, c.Low, c.High)
}

// Report is what an experiment gave.
type Report struct {
	Checks []Check `json:"checks"`
	Ties   uint64  `json:"ties"` // in all its runs: 0, or it is not repeatable

	mu sync.Mutex
}

// Failed are the figures that are not met.
func (r *Report) Failed() []Check {
	var failed []Check
	for _, c := range r.Checks {
		if !c.OK() {
			failed = append(failed, c)
		}
	}
	return failed
}

// String has a line for each figure.
func (r *Report) String() string {
	var b strings.Builder
	for _, c := range r.Checks {
		b.WriteString(c.String())
		b.WriteByte('\n')
	}
	return b.String()
}

func (r *Report) near(name string, got, want, tolerance float64) {
	r.Checks = append(r.Checks, Check{Name: name, Got: got, Want: want, Low: want - tolerance, High: want + tolerance})
}

// percent is near with a relative tolerance.
func (r *Report) percent(name string, got, want, tolerance float64) {
	r.near(name, got, want, math.Abs(want)*tolerance/100)
}

func (r *Report) between(name string, got, low, high float64) {
	r.Checks = append(r.Checks, Check{Name: name, Got: got, Want: (low + high) / 2, Low: low, High: high})
}

func (r *Report) atLeast(name string, got, low float64) {
	r.Checks = append(r.Checks, Check{Name: name, Got: got, Want: low, Low: low, High: math.Inf(1)})
}

func (r *Report) atMost(name string, got, high float64) {
	r.Checks = append(r.Checks, Check{Name: name, Got: got, Want: high, Low: math.Inf(-1), High: high})
}

// holds is a figure that is a yes.
func (r *Report) holds(name string, yes bool) {
	got := 0.0
	if yes {
		got = 1
	}
	r.near(name, got, 1, 0)
}

// tied adds up the ties of runs.
func (r *Report) tied(results ...*lab.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range results {
		r.Ties += res.Ties
	}
}

// run runs a scenario with n seeds.
func (r *Report) run(sc lab.Scenario, stack lab.Stack, n int) ([]*lab.Result, error) {
	results, err := lab.RunSeeds(sc, stack, seeds(n)...)
	r.tied(results...)
	return results, err
}

func seeds(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i + 1)
	}
	return s
}

// sample is a set of values with their mean and spread.
type sample []float64

func (s sample) mean() float64 {
	sum := 0.0
	for _, x := range s {
		sum += x
	}
	return sum / float64(len(s))
}

// sd is the standard deviation.
func (s sample) sd() float64 {
	if len(s) < 2 {
		return 0
	}
	mean, squares := s.mean(), 0.0
	for _, x := range s {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(s)-1))
}

// se is the standard error of the mean.
func (s sample) se() float64 { return s.sd() / math.Sqrt(float64(len(s))) }

// meanNear compares the mean of a sample with a figure that is a mean of refRuns runs:
// within the tolerance, or three standard errors of both, whichever is larger.
func (r *Report) meanNear(name string, got sample, want, tolerance float64, refRuns int) {
	se := math.Hypot(got.se(), got.sd()/math.Sqrt(float64(refRuns)))
	r.near(name, got.mean(), want, math.Max(tolerance, 3*se))
}

// values takes one figure out of each result.
func values(results []*lab.Result, of func(*lab.Result) float64) sample {
	s := make(sample, len(results))
	for i, res := range results {
		s[i] = of(res)
	}
	return s
}

// parallel runs f for each i below n, as many at a time as there are processors.
func parallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			errs[i] = f(i)
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
