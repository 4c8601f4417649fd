package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// AmplificationScenario is E4: a server that fails every call at once, for a minute.
func AmplificationScenario(rate float64) lab.Scenario {
	return lab.Scenario{
		Name:     "outage-amplification",
		Duration: time.Minute,
		Clients:  lab.Clients{Rate: rate, Even: true},
		Faults:   []lab.Fault{{Kind: lab.FailFast, To: 2 * time.Hour}},
	}
}

// layered is a chain of services, each with a retry of its own around the next.
func layered(layers, attempts int, budgets bool) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		var next *stoic.Pipeline
		for range layers {
			var policies []stoic.Policy
			if budgets {
				policies = append(policies, budget.New(budget.MinPerSecond(0)))
			}
			policies = append(policies, retry.New(retry.MaxAttempts(attempts), retry.Constant(0)))
			if next != nil {
				policies = append(policies, service(next))
			}
			next = stoic.MustNew("service", policies...)
		}
		return next
	}
}

// service calls another service over a network: the caller learns that it failed, and
// nothing of the policies there.
func service(next *stoic.Pipeline) stoic.Policy {
	return stoic.Middleware("service", func(fn stoic.Func) stoic.Func {
		return func(ctx context.Context) error {
			if err := next.Do(ctx, fn); err != nil {
				return errors.New("the service below failed")
			}
			return nil
		}
	})
}

// Amplification is E4, outage-amplification: how much load retries make of a total
// outage, by the kind of budget.
func Amplification(Size) (*Report, error) {
	r := &Report{}
	five := retry.New(retry.MaxAttempts(5), retry.Constant(0))
	stack := func(layers func() []stoic.Policy) lab.Stack {
		return func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("client", layers()...) }
	}
	bare := stack(func() []stoic.Policy { return []stoic.Policy{five} })
	ten := stack(func() []stoic.Policy { return []stoic.Policy{budget.New(budget.MinPerSecond(0)), five} })
	finagle := stack(func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0.2), budget.MinPerSecond(10)), five}
	})
	grpc := stack(func() []stoic.Policy { b := grpcThrottle(); return []stoic.Policy{b, five, b.counted()} })
	aws := stack(func() []stoic.Policy { return []stoic.Policy{awsQuota(), five} })
	started := stack(func() []stoic.Policy {
		return []stoic.Policy{&bucket{most: 100 * token, request: token / 10, cost: token}, five}
	})
	all := stack(func() []stoic.Policy {
		return []stoic.Policy{&bucket{most: token, request: token / 10, cost: token * 9 / 10}, five}
	})
	one := func(rate float64, s lab.Stack) (*lab.Result, error) {
		res, err := r.run(AmplificationScenario(rate), s, 1)
		if err != nil {
			return nil, err
		}
		return res[0], nil
	}
	for _, rate := range []float64{10, 100, 1000} {
		for _, tt := range []struct {
			name      string
			stack     lab.Stack
			low, high float64
		}{
			{"no budget", bare, 5, 5},
			{"10% budget", ten, 1.095, 1.105},
			{"10% of all attempts", all, 1.106 + 1/(60*rate), 1.116 + 1.2/(60*rate)},
			// 2.17 to 2.20, 1.300, 1.210, each ± .01: the reserve goes in bursts.
			{"Finagle", finagle, map[float64]float64{10: 2.16, 100: 1.29, 1000: 1.20}[rate], map[float64]float64{10: 2.21, 100: 1.31, 1000: 1.22}[rate]},
			{"bucket of 100 that is full at first", started, 1.095 + 100/(60*rate), 1.105 + 100/(60*rate)},
		} {
			res, err := one(rate, tt.stack)
			if err != nil {
				return nil, err
			}
			r.between(fmt.Sprintf("%v/s, %s", rate, tt.name), res.Amplification, tt.low, tt.high)
			if tt.name == "Finagle" && rate >= 100 {
				first := res.Between(0, time.Second)
				r.atLeast(fmt.Sprintf("%v/s, Finagle: retries in the first second", rate), float64(first.Attempts-first.Requests), 100)
			}
		}
		res, err := one(rate, grpc)
		if err != nil {
			return nil, err
		}
		r.near(fmt.Sprintf("%v/s, gRPC: retries", rate), float64(res.Attempts-res.Requests), 4, 0)
		if res, err = one(rate, aws); err != nil {
			return nil, err
		}
		r.near(fmt.Sprintf("%v/s, AWS: retries", rate), float64(res.Attempts-res.Requests), 100, 0)
	}
	r.near("gRPC: successes until it retries again", grpcSuccesses(), 51, 0)
	for _, tt := range []struct {
		name             string
		layers, attempts int
		budgets          bool
		want, tolerance  float64
	}{
		{"3 layers of 4 attempts", 3, 4, false, 64, 0},
		{"5 layers of 3 attempts", 5, 3, false, 243, 0},
		{"3 layers with a 10% budget each", 3, 4, true, 1.331, 0.005},
		{"5 layers with a 10% budget each", 5, 3, true, 1.611, 0.01},
	} {
		rate := 1000.0
		if !tt.budgets {
			rate = 10
		}
		res, err := one(rate, layered(tt.layers, tt.attempts, tt.budgets))
		if err != nil {
			return nil, err
		}
		r.near(tt.name, res.Amplification, tt.want, tt.tolerance)
	}
	return r, nil
}

// grpcSuccesses empties the bucket and counts successes until it lets a retry go.
func grpcSuccesses() float64 {
	b := grpcThrottle()
	b.add(-b.most)
	p := stoic.MustNew("client", b, retry.New())
	for n := 1.0; ; n++ {
		_ = p.Do(context.Background(), func(context.Context) error { return nil })
		if _, err := b.Reserve(); err == nil {
			return n
		}
	}
}
