package experiments

import (
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// stormEnd is when the outage of E6 ends.
const stormEnd = 30 * time.Second

// StormScenario is E6: a database for 300 queries a second; for ten seconds a switch
// holds what is sent to it, and then delivers everything at once.
func StormScenario(rate float64) lab.Scenario {
	return lab.Scenario{
		Name:     "retry-storm",
		Duration: 900 * time.Second,
		Drain:    time.Nanosecond,
		Clients:  lab.Clients{Rate: rate},
		Server:   lab.Server{Workers: 30, Service: lab.Fixed(100 * time.Millisecond)},
		Faults:   []lab.Fault{{Kind: lab.Hold, From: stormEnd - 10*time.Second, To: stormEnd}},
		Recovery: lab.Recovery{Window: 5 * time.Second, Success: 0.95},
	}
}

// stormStack retries at once after a timeout of one second.
func stormStack(attempts int, layers func(retry stoic.Policy) []stoic.Policy) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		policies := []stoic.Policy{retry.New(retry.MaxAttempts(attempts), retry.Constant(0))}
		if layers != nil {
			policies = layers(policies[0])
		}
		return stoic.MustNew("client", append(policies, deadline.New(time.Second))...)
	}
}

func withBudget(ratio float64) func(stoic.Policy) []stoic.Policy {
	return func(r stoic.Policy) []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(ratio), budget.MinPerSecond(0)), r}
	}
}

// RetryStorm is E6, retry-storm: the metastable failures of HotOS'21 and OSDI'22.
func RetryStorm(size Size) (*Report, error) {
	runs := 3
	if size == Full {
		runs = 10
	}
	r := &Report{}
	const never = -1
	for _, tt := range []struct {
		name            string
		rate            float64
		attempts        int
		layers          func(stoic.Policy) []stoic.Policy
		change          func(*lab.Server)
		want, tolerance float64 // seconds to recover
	}{
		{"2 attempts, 140/s", 140, 2, nil, nil, 114, 20},
		{"2 attempts, 145/s", 145, 2, nil, nil, 237, 1000},
		{"2 attempts, 150/s", 150, 2, nil, nil, never, 0},
		{"2 attempts, 280/s", 280, 2, nil, nil, never, 0},
		{"3 attempts, 95/s", 95, 3, nil, nil, 145, 1000},
		{"3 attempts, 100/s", 100, 3, nil, nil, never, 0},
		{"280/s, 1 attempt", 280, 1, nil, nil, 124, 20},
		{"280/s, budget 5%", 280, 2, withBudget(0.05), nil, 456, 80},
		{"280/s, budget 7%", 280, 2, withBudget(0.07), nil, never, 0},
		{"280/s, budget 10%", 280, 2, withBudget(0.1), nil, never, 0},
		{"280/s, expired ones dropped", 280, 2, nil, func(s *lab.Server) { s.Drop = lab.DropExpired }, never, 0},
		{"280/s, too late ones dropped", 280, 2, nil, func(s *lab.Server) { s.Drop = lab.DropTooLate }, 0, 1},
		{"280/s, queue of 200", 280, 2, nil, func(s *lab.Server) { s.Queue = 200 }, 0, 1},
		{"280/s, breaker inside", 280, 2, func(r stoic.Policy) []stoic.Policy { return []stoic.Policy{r, stormBreaker()} }, nil, 2, 3},
		{"280/s, breaker outside", 280, 2, func(r stoic.Policy) []stoic.Policy { return []stoic.Policy{stormBreaker(), r} }, nil, 4, 3},
	} {
		sc := StormScenario(tt.rate)
		if tt.change != nil {
			tt.change(&sc.Server)
		}
		if tt.want >= 0 && tt.want < 10 {
			sc.Duration = 100 * time.Second
		}
		results, err := r.run(sc, stormStack(tt.attempts, tt.layers), runs)
		if err != nil {
			return nil, err
		}
		recovered := values(results, func(res *lab.Result) float64 { return share(res.Recovered) })
		if tt.want == never {
			r.near(tt.name+": share that recovers", recovered.mean(), 0, 0)
		} else {
			r.near(tt.name+": share that recovers", recovered.mean(), 1, 0)
			times := values(results, func(res *lab.Result) float64 { return res.TimeToRecover.Seconds() })
			r.near(tt.name+": time to recover, s", times.mean(), tt.want, tt.tolerance)
		}
		if tt.name == "2 attempts, 280/s" {
			end := values(results, func(res *lab.Result) float64 { return res.Between(800*time.Second, 900*time.Second).Load })
			r.near(tt.name+": load at the end", end.mean(), 560, 10)
		}
	}
	return r, databaseStorm(r, size)
}

func stormBreaker() stoic.Policy { return breaker.New("db", breaker.ConsecutiveFailures(5)) }

func share(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// DatabaseScenario is the retry experiment of OSDI'22: one server for 1000 calls a second
// loses a part of its speed for some seconds.
func DatabaseScenario(load, lost float64, length time.Duration) lab.Scenario {
	return lab.Scenario{
		Name:     "database-storm",
		Duration: 195 * time.Second,
		Drain:    time.Nanosecond,
		Clients:  lab.Clients{Rate: 1000 * load},
		Server:   lab.Server{Workers: 1, Service: lab.Exp(time.Millisecond)},
		Faults:   []lab.Fault{{Kind: lab.BrownOut, From: time.Minute, To: time.Minute + length, Speed: 1 - lost}},
	}
}

func databaseStack(layers ...stoic.Policy) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("client", append(layers,
			retry.New(retry.MaxAttempts(5), retry.Constant(0)), deadline.New(3*time.Second))...)
	}
}

func databaseStorm(r *Report, size Size) error {
	runs := 10
	if size == Full {
		runs = 40
	}
	for _, tt := range []struct {
		name      string
		load      float64
		lost      float64
		length    time.Duration
		low, high float64
	}{
		{"baseline, -78% for 10s", 0.38, 0.78, 10 * time.Second, 0.5, 1},
		{"metastable, -80% for 10s", 0.38, 0.80, 10 * time.Second, 0, 0.2},
		{"shorter, -80% for 9s", 0.38, 0.80, 9 * time.Second, 0.5, 1},
		{"less load, -80% for 10s", 0.75 * 0.38, 0.80, 10 * time.Second, 0.9, 1},
	} {
		for _, budgeted := range []bool{false, true} {
			name, low, high := "OSDI'22 "+tt.name, tt.low, tt.high
			stack := databaseStack()
			if budgeted {
				name, low, high = name+", 10% budget", 0.9, 1
				stack = func(*lab.Env) *stoic.Pipeline {
					return databaseStack(budget.New(budget.MinPerSecond(0)))(nil)
				}
			}
			results, err := r.run(DatabaseScenario(tt.load, tt.lost, tt.length), stack, runs)
			if err != nil {
				return err
			}
			recovered := values(results, func(res *lab.Result) float64 {
				return share(res.Between(180*time.Second, 195*time.Second).Success >= 0.95)
			})
			r.between(name+": share that recovers", recovered.mean(), low, high)
		}
	}
	return nil
}
