package experiments

import (
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// CollapseScenario is E7: a server without a limit that slows down with every call that
// is in it.
func CollapseScenario(load []lab.LoadPoint) lab.Scenario {
	return lab.Scenario{
		Name:     "spike-vs-ramp",
		Duration: 80 * time.Second,
		Drain:    200 * time.Second,
		Clients:  lab.Clients{Load: load},
		Server: lab.Server{
			Service:  lab.Fixed(time.Second),
			Slowdown: 10 * time.Millisecond,
			Hop:      lab.Exp(100 * time.Millisecond),
		},
	}
}

// CollapseSpike and CollapseRamp are the two loads of E7.
func CollapseSpike() []lab.LoadPoint { return lab.Spike(40, 80, 20*time.Second, 25*time.Second) }

// CollapseRamp grows to 80 a second in 25 seconds, and shrinks again.
func CollapseRamp() []lab.LoadPoint {
	return []lab.LoadPoint{{Rate: 40}, {At: 25 * time.Second, Rate: 80}, {At: 75 * time.Second, Rate: 0}}
}

func collapseStack(attempts int, backoff retry.Option) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("client", retry.New(retry.MaxAttempts(attempts), backoff), deadline.New(3*time.Second))
	}
}

// SpikeRamp is E7, spike-vs-ramp: backoff helps against a spike and not against a ramp
// (Brooker 2023).
func SpikeRamp(size Size) (*Report, error) {
	runs, border := 100, 40
	if size == Full {
		runs, border = 200, 60
	}
	r := &Report{}
	none, jitter := retry.Constant(0), retry.FullJitter(20*time.Second, time.Hour)
	collapsed := func(res *lab.Result) float64 {
		late := res.Between(60*time.Second, 76*time.Second)
		return share(late.Goodput < 0.5*float64(late.Requests)/16)
	}
	// The published success is of what was answered in the 80 s, the amplification of all.
	success := func(res *lab.Result) float64 {
		return res.Between(0, 80*time.Second).Goodput * min(80, res.Length.Seconds()) / float64(res.Requests)
	}
	amplification := func(res *lab.Result) float64 { return res.Amplification }
	for _, tt := range []struct {
		name                                 string
		load                                 []lab.LoadPoint
		attempts                             int
		backoff                              retry.Option
		low, high                            float64 // share collapsed
		success, tolerance, amplification, b float64
	}{
		{"spike, 3 attempts, no backoff", CollapseSpike(), 3, none, 0.775 - 0.12, 0.775 + 0.12, 0.475, 0.06, 1.97, 0.15},
		{"spike, 3 attempts, backoff", CollapseSpike(), 3, jitter, 0, 0.04, 0.975, 0.02, 1.05, 0.03},
		{"spike, 2 attempts, no backoff", CollapseSpike(), 2, none, 0.72 - 0.14, 0.72 + 0.14, 0.506, 0.06, 1.47, 0.1},
		{"spike, 1 attempt", CollapseSpike(), 1, none, 0, 0, 0.934, 0.02, 1, 0},
		{"ramp, 3 attempts, no backoff", CollapseRamp(), 3, none, 0.98, 1, 0.302, 0.02, 2.40, 0.05},
		{"ramp, 3 attempts, backoff", CollapseRamp(), 3, jitter, 0.98, 1, 0.316, 0.02, 2.33, 0.05},
		{"ramp, 1 attempt", CollapseRamp(), 1, none, 0, 0, 0.584, 0.02, 1, 0},
	} {
		results, err := r.run(CollapseScenario(tt.load), collapseStack(tt.attempts, tt.backoff), runs)
		if err != nil {
			return nil, err
		}
		r.between(tt.name+": share collapsed", values(results, collapsed).mean(), tt.low, tt.high)
		r.meanNear(tt.name+": success", values(results, success), tt.success, tt.tolerance, 200)
		r.meanNear(tt.name+": amplification", values(results, amplification), tt.amplification, tt.b, 200)
		if tt.name == "spike, 3 attempts, backoff" {
			goodput := values(results, func(res *lab.Result) float64 { return res.Between(60*time.Second, 76*time.Second).Goodput })
			r.near(tt.name+": goodput after the spike", goodput.mean(), 40, 2)
		}
	}
	for _, tt := range []struct {
		name      string
		base      float64
		low, high float64
	}{{"base 20", 20, 0, 0.05}, {"base 24", 24, 0.95, 1}} {
		load := lab.Spike(tt.base, 100, 20*time.Second, 25*time.Second)
		results, err := r.run(CollapseScenario(load), collapseStack(3, none), border)
		if err != nil {
			return nil, err
		}
		r.between("spike to 100, 3 attempts, "+tt.name+": share collapsed", values(results, collapsed).mean(), tt.low, tt.high)
	}
	return r, nil
}
