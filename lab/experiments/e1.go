package experiments

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// The backoff that the claims of E1 are about.
const (
	jitterBase = 100 * time.Millisecond
	jitterMax  = 10 * time.Second
)

// JitterScenario is E1 as an outage: 1000 clients whose calls fail at once, all together.
func JitterScenario() lab.Scenario {
	return lab.Scenario{
		Name:     "jitter-peak",
		Duration: 10 * time.Millisecond,
		Window:   10 * time.Millisecond,
		Clients:  lab.Clients{Burst: 1000},
		Faults:   []lab.Fault{{Kind: lab.FailFast, To: time.Hour, Latency: time.Nanosecond}},
	}
}

// JitterPeak is E1, jitter-peak: how many of 1000 clients that failed together come back
// in the worst 10 ms, by the kind of jitter. The claim is about the delay of the fourth
// retry alone.
func JitterPeak(size Size) (*Report, error) {
	r := &Report{}
	runs, fewer := 2000, 500
	if size == Full {
		runs, fewer = 20_000, 5000
	}
	none := jitterPeaks(1, retry.NoJitter(jitterBase, jitterMax))
	r.near("none: peak", none.sliding[0], 1000, 0)
	full := jitterPeaks(runs, retry.FullJitter(jitterBase, jitterMax))
	r.near("full: mean peak in fixed bins", full.fixed.mean(), 21.86, 0.2)
	r.near("full: mean peak, sliding", full.sliding.mean(), 24.57, 0.2)
	slices.Sort(full.sliding)
	r.near("full: p99 of the peak, sliding", full.sliding[runs*99/100], 30, 1)
	r.atMost("full: P(sliding peak ≤ 20)", float64(countUpTo(full.sliding, 20))/float64(runs), 0.005)
	equal := jitterPeaks(fewer, retry.EqualJitter(jitterBase, jitterMax))
	r.near("equal: mean peak, sliding", equal.sliding.mean(), 40.26, 0.3)
	decorrelated := jitterPeaks(fewer, retry.DecorrelatedJitter(jitterBase, jitterMax))
	r.near("decorrelated: mean peak, sliding", decorrelated.sliding.mean(), 20.85, 0.3)

	r.near("none: sum of 8 delays, s", jitterSums(1, 9, retry.NoJitter(jitterBase, jitterMax)).mean(), 22.70, 1e-9)
	r.near("none: sum of 7 delays, s", jitterSums(1, 8, retry.NoJitter(jitterBase, jitterMax)).mean(), 12.70, 1e-9)
	sums := jitterSums(10*runs, 9, retry.FullJitter(jitterBase, jitterMax))
	r.near("full: mean sum of 8 delays, s", sums.mean(), 11.35, 0.25)
	r.near("full: sd of the sum of 8 delays, s", sums.sd(), 3.59, 0.2)
	return r, jitterInLab(r)
}

type jitterResult struct{ fixed, sliding sample }

// jitterPeaks runs the real retry without waiting and looks at the fourth delays.
func jitterPeaks(runs int, backoff retry.Option) jitterResult {
	res := jitterResult{make(sample, runs), make(sample, runs)}
	_ = parallel(runs, func(seed int) error {
		fourth := make([]time.Duration, 0, 1000)
		delays := newDelays(uint64(seed), 5, backoff)
		for range cap(fourth) {
			fourth = append(fourth, delays.next()[3])
		}
		res.fixed[seed], res.sliding[seed] = peaks(fourth)
		return nil
	})
	return res
}

func jitterSums(n, attempts int, backoff retry.Option) sample {
	sums := make(sample, n)
	delays := newDelays(99, attempts, backoff)
	for i := range sums {
		var sum time.Duration
		for _, d := range delays.next() {
			sum += d
		}
		sums[i] = sum.Seconds()
	}
	return sums
}

// delays asks a retry for what it would wait.
type delays struct {
	p    *stoic.Pipeline
	seen []time.Duration
}

func newDelays(seed uint64, attempts int, backoff retry.Option) *delays {
	d := &delays{}
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a simulation
	d.p = stoic.MustNew("client", retry.New(retry.MaxAttempts(attempts), backoff, retry.Rand(random.Float64),
		retry.Sleep(func(_ context.Context, wait time.Duration) error {
			d.seen = append(d.seen, wait)
			return nil
		})))
	return d
}

var errDown = errors.New("experiments: down")

func (d *delays) next() []time.Duration {
	d.seen = d.seen[:0]
	_ = d.p.Do(context.Background(), func(context.Context) error { return errDown })
	return d.seen
}

// peaks are the most instants in a bin of 10 ms, and in any 10 ms.
func peaks(at []time.Duration) (fixed, sliding float64) {
	const window = 10 * time.Millisecond
	slices.Sort(at)
	bin, first := 0, 0
	for i, t := range at {
		if t/window != at[bin]/window {
			bin = i
		}
		for at[first] <= t-window {
			first++
		}
		fixed, sliding = max(fixed, float64(i-bin+1)), max(sliding, float64(i-first+1))
	}
	return fixed, sliding
}

func countUpTo(values sample, limit float64) int {
	n := 0
	for _, v := range values {
		if v <= limit {
			n++
		}
	}
	return n
}

// jitterInLab is the same in virtual time: without jitter all come back together.
func jitterInLab(r *Report) error {
	for _, tt := range []struct {
		name      string
		backoff   retry.Option
		low, high float64
	}{
		{"none", retry.NoJitter(jitterBase, jitterMax), 1000, 1000},
		{"full", retry.FullJitter(jitterBase, jitterMax), 17, 34}, // sums of four delays: p1 20, p99 29
	} {
		res, err := r.run(JitterScenario(), func(*lab.Env) *stoic.Pipeline {
			return stoic.MustNew("client", retry.New(retry.MaxAttempts(5), tt.backoff))
		}, 1)
		if err != nil {
			return err
		}
		last := res[0].Between(1500*time.Millisecond, time.Hour) // of the fourth retry, without jitter
		if tt.name == "full" {
			last = res[0].Between(700*time.Millisecond, time.Hour)
		}
		r.between(tt.name+": peak in the lab", float64(last.PeakArrivals), tt.low, tt.high)
	}
	return nil
}
