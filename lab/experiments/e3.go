package experiments

import (
	"fmt"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// FailureScenario is E3: attempts fail with probability f, each by itself.
func FailureScenario(f float64, clients int, rate float64) lab.Scenario {
	return lab.Scenario{
		Name:     "retry-vs-failure-rate",
		Duration: 100 * time.Second,
		Clients:  lab.Clients{Processes: clients, Rate: rate},
		Server:   lab.Server{Hop: lab.Exp(10 * time.Millisecond)},
		Faults:   []lab.Fault{{Kind: lab.FailFast, To: time.Hour, Share: f, Latency: time.Nanosecond}},
	}
}

// FailurePolicies are the five of E3: none, three retries, the adaptive bucket as
// programmed and as described, and a breaker on retries only.
func FailurePolicies() []lab.Stack {
	atOnce := retry.Constant(0)
	stack := func(layers func() []stoic.Policy) lab.Stack {
		return func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("client", layers()...) }
	}
	return []lab.Stack{
		stack(func() []stoic.Policy { return nil }),
		stack(func() []stoic.Policy { return []stoic.Policy{retry.New(retry.MaxAttempts(4), atOnce)} }),
		stack(func() []stoic.Policy { return []stoic.Policy{adaptiveProgram(), retry.New(retry.Unlimited(), atOnce)} }),
		stack(func() []stoic.Policy { return []stoic.Policy{adaptiveText(), retry.New(retry.MaxAttempts(4), atOnce)} }),
		stack(func() []stoic.Policy {
			b := &retryBreaker{}
			return []stoic.Policy{b, retry.New(retry.MaxAttempts(4), atOnce), b.counted()}
		}),
	}
}

// FailureRate is E3, retry-vs-failure-rate: "Fixing retries with token buckets and
// circuit breakers", Brooker 2022.
func FailureRate(size Size) (*Report, error) {
	runs := 1
	if size == Full {
		runs = 5
	}
	names := []string{"none", "three retries", "adaptive (program)", "adaptive (text)", "breaker"}
	r := &Report{}
	for _, row := range []struct {
		f    float64
		want [5][2]float64 // success, load, in percent
	}{
		{0.01, [5][2]float64{{99, 100}, {100, 101.01}, {100, 101.01}, {100, 101.01}, {99.99, 100.99}}},
		{0.05, [5][2]float64{{95.01, 100}, {100, 105.26}, {99.98, 105.25}, {99.98, 105.23}, {99.88, 105.11}}},
		{0.1, [5][2]float64{{89.92, 100}, {99.99, 111.09}, {98.46, 109.41}, {98.32, 109.26}, {92.99, 103.32}}},
		{0.2, [5][2]float64{{79.92, 100}, {99.84, 124.86}, {88.29, 110.35}, {87.16, 109.08}, {80, 100.03}}},
		{0.5, [5][2]float64{{49.86, 100}, {93.71, 187.43}, {55.19, 110.42}, {52.86, 105.72}, {49.89, 100}}},
		{1, [5][2]float64{{0, 100}, {0, 400}, {0, 110.44}, {0, 100.5}, {0, 100}}},
	} {
		for i, stack := range FailurePolicies() {
			results, err := r.run(FailureScenario(row.f, 100, 1000), stack, runs)
			if err != nil {
				return nil, err
			}
			success, load := 0.5, 0.5
			switch {
			case i == 1 && row.f >= 0.3:
				success, load = 1, 1
			case i == 4 && row.f == 0.1:
				success, load = 2, 1.5
			}
			if row.f == 1 {
				load = 0.05
			}
			r.failureCell(fmt.Sprintf("f = %v, %s", row.f, names[i]), results, row.f, row.want[i], success, load)
		}
	}
	return r, failureByClients(r, runs)
}

// failureByClients splits 100 requests a second over more and more clients: each has too
// few for its bucket and its breaker to work.
func failureByClients(r *Report, runs int) error {
	policies := FailurePolicies()
	for _, row := range []struct {
		clients           int
		f                 float64
		adaptive, breaker [2]float64
	}{
		{10, 0.1, [2]float64{98.4, 109.4}, [2]float64{92.9, 103.3}},
		{100, 0.1, [2]float64{99.3, 110.1}, [2]float64{92.5, 103.0}},
		// With 1000 clients the published figures of the adaptive policy are 99.97 and 111.0,
		// 100 and 105.2, 98.8 and 123.2, 73.1 and 145.7. There every client makes one request
		// more than in 100 s, because it stops only after the one that starts later: 11 and
		// not 10 on the average. A program of a page, of this model and nothing else, gives
		// 72.85 and 145.59 for the last with that request, and without it what stands here.
		{1000, 0.1, [2]float64{99.96, 111.06}, [2]float64{90.6, 100.8}},
		{1000, 0.05, [2]float64{100, 105.31}, [2]float64{95.6, 100.7}},
		{1000, 0.2, [2]float64{98.99, 123.77}, [2]float64{80.4, 100.4}},
		{1000, 0.5, [2]float64{74.13, 148.37}, [2]float64{50.1, 100.0}},
	} {
		for i, want := range map[int][2]float64{2: row.adaptive, 4: row.breaker} {
			results, err := r.run(FailureScenario(row.f, row.clients, 100), policies[i], 5*runs)
			if err != nil {
				return err
			}
			success, load := 0.5, 0.5
			switch {
			case i == 2 && row.f >= 0.3:
				success, load = 1, 1
			case i == 4 && row.f == 0.1:
				success, load = 2, 1.5
			}
			name := fmt.Sprintf("%d clients, f = %v, policy %d", row.clients, row.f, i)
			r.failureCell(name, results, row.f, want, success, load)
		}
	}
	return nil
}

func (r *Report) failureCell(name string, results []*lab.Result, f float64, want [2]float64, success, load float64) {
	gotSuccess := values(results, func(res *lab.Result) float64 { return 100 * res.Success })
	gotLoad := values(results, func(res *lab.Result) float64 { return 100 * res.Amplification })
	r.meanNear(name+": success %", gotSuccess, want[0], success, 5)
	r.meanNear(name+": load %", gotLoad, want[1], load, 5)
	r.atMost(name+": |success − (1−f)·load|", math.Abs(gotSuccess.mean()-(1-f)*gotLoad.mean()), 0.4)
}
