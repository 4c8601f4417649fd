package experiments

import (
	"fmt"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// rampFor is how long the overload of E5 lasts.
const rampFor = 600 * time.Second

// The calculation of the book is of rates: there is no randomness, and all arrivals of a
// second are equally likely to be served. Calls that are refused in a crowd and sent
// again after the same time meet again in that crowd, so the network has to mix them:
// much to see where the ramp ends. A server with a short queue then works a little below
// its capacity, so little to see how the ramp begins.
const (
	rampMixed  = 50 * time.Millisecond
	rampSteady = 200 * time.Microsecond
)

// RampScenario is E5: a server that serves 10 000 calls a second and refuses the rest
// gets 10 100, and after ten minutes 9 000. With a scale of 0.1 all rates are a tenth.
// hop is the mean time on the network, each way.
func RampScenario(scale, rejectCost float64, hop time.Duration) lab.Scenario {
	return lab.Scenario{
		Name:     "overload-ramp",
		Duration: rampFor + 200*time.Second,
		Drain:    time.Nanosecond,
		Clients: lab.Clients{Even: true, Load: []lab.LoadPoint{
			{At: 0, Rate: 10_100 * scale},
			{At: rampFor, Rate: 10_100 * scale},
			{At: rampFor, Rate: 9_000 * scale},
		}},
		Server: lab.Server{
			Workers:    1,
			Service:    lab.Fixed(time.Duration(float64(100*time.Microsecond) / scale)),
			Hop:        lab.Uniform(0, 2*hop),
			Queue:      10,
			RejectCost: rejectCost,
		},
	}
}

// rampStack sends a refused call again so that it comes 1000 ms after it came before, at
// most ten attempts.
func rampStack(hop time.Duration, layers ...stoic.Policy) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("client", append(layers, retry.New(retry.MaxAttempts(10), retry.Constant(time.Second-2*hop)))...)
	}
}

// OverloadRamp is E5, overload-ramp: Site Reliability Engineering, chapter 22.
func OverloadRamp(size Size) (*Report, error) {
	scale := 0.05
	if size == Full {
		scale = 0.2
	}
	r := &Report{}
	short := func(sc lab.Scenario, length time.Duration) lab.Scenario {
		sc.Duration = length
		return sc
	}
	runs := []struct {
		sc    lab.Scenario
		stack lab.Stack
	}{
		{RampScenario(scale, 0, rampMixed), rampStack(rampMixed)},
		{RampScenario(scale, 0.05, rampMixed), rampStack(rampMixed)},
		{RampScenario(scale, 0.08, rampMixed), rampStack(rampMixed)},
		{short(RampScenario(1, 0, rampSteady), 3*time.Second), rampStack(rampSteady)},
		{short(RampScenario(scale, 0, rampSteady), 90*time.Second), rampStack(rampSteady, &bucket{most: token, request: token / 10, cost: token})},
		{short(RampScenario(scale, 0, rampSteady), 90*time.Second), rampStack(rampSteady, budget.New(budget.MinPerSecond(0)))},
	}
	results := make([]*lab.Result, len(runs))
	err := parallel(len(runs), func(i int) error {
		var err error
		results[i], err = lab.Run(runs[i].sc, runs[i].stack)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.tied(results...)
	free := results[0]
	for second, want := range []float64{10_100, 10_200, 10_300} {
		r.percent(fmt.Sprintf("arrivals in second %d", second), rampLoad(results[3], second, second+1), want, 1)
	}
	r.percent("arrivals a second at the end", rampLoad(free, 540, 600)/scale, 27_051, 1)
	r.near("rejections free: clear after, s", rampClear(free, 10_000*scale), 16, 2)
	r.near("rejections cost 5%: clear after, s", rampClear(results[1], 10_000*scale), 100, 15)
	r.holds("rejections cost 8%: never clear", math.IsInf(rampClear(results[2], 10_000*scale), 1))
	peak := 0.0
	for s := range 90 {
		peak = max(peak, rampLoad(results[4], s, s+1)/scale)
	}
	r.atMost("with a bucket of 10%: peak arrivals a second", peak, 11_110)
	// The window of a budget lets the retries go in bursts: its promise is about longer times.
	r.atMost("with a 10% budget: arrivals a second", rampLoad(results[5], 0, 90)/scale, 11_110)
	return r, nil
}

func rampLoad(res *lab.Result, from, to int) float64 {
	return res.Between(time.Duration(from)*time.Second, time.Duration(to)*time.Second).Load
}

// rampClear is after how many seconds of the lower load what comes is again less than
// what can be served.
func rampClear(res *lab.Result, capacity float64) float64 {
	for s := int(rampFor / time.Second); s < int(res.Length/time.Second); s++ {
		if rampLoad(res, s, s+1) < capacity {
			return float64(s) - rampFor.Seconds()
		}
	}
	return math.Inf(1)
}
