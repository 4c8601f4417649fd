package bounds

import (
	"fmt"
	"slices"

	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
)

// limits are those of a scenario: of the ratio of stoic to a contender, on so many
// goroutines. 0 is none.
type limits struct {
	contender  string
	goroutines int
	limit      float64
}

// fullStack is the stack of six layers against the same by hand and failsafe-go. What is
// promised is for one goroutine, and by hand for two as well: goroutines that share a
// stack wait for the locks of gobreaker and the limiter, which take the longer a part of
// the time the less there is around them.
func fullStack(cfg measure.Config) ([]Bound, error) {
	var all []Bound
	for _, name := range []string{"full stack", "full stack, cancellable parent"} {
		found, err := ratios(cfg, name, []limits{
			{peers.ByHand, 1, 0.4},
			{peers.ByHand, 2, 0.6},
			{peers.Failsafe, 1, 0.2},
			{peers.Failsafe, 2, 0},
		})
		if err != nil {
			return nil, err
		}
		allocs, err := allocations(name, 2)
		if err != nil {
			return nil, err
		}
		all = append(append(all, found...), allocs)
	}
	for _, name := range []string{"full stack, waits", "full stack, waits, cancellable parent"} {
		found, err := ratios(cfg, name, []limits{
			{peers.ByHand, 1, 0.75},
			{peers.ByHand, 2, 0},
			{peers.Failsafe, 1, 0.35},
			{peers.Failsafe, 2, 0},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// parts are single policies, and the four that do nothing to the context.
func parts(cfg measure.Config) ([]Bound, error) {
	var all []Bound
	for _, part := range []struct {
		scenario string
		limit    float64
		allocs   float64 // negative: no bound
	}{
		{"full stack without deadlines", 1.10, 0},
		{"deadline, waits", 1.15, -1},
		{"breaker, open", 2.2, 1},
	} {
		found, err := ratios(cfg, part.scenario, []limits{{peers.ByHand, 1, part.limit}})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if part.allocs >= 0 {
			bound, err := allocations(part.scenario, part.allocs)
			if err != nil {
				return nil, err
			}
			all = append(all, bound)
		}
	}
	alone, err := retryAlone(cfg)
	return append(all, alone), err
}

// retryAlone is in nanoseconds. What the operation and the loop around the calls cost
// is taken off: it is no part of a retry.
func retryAlone(cfg measure.Config) (Bound, error) {
	with, without := scenario("retry"), scenario("empty")
	samples, err := measure.Paired(cfg, []measure.Subject{
		with.Subject(peers.Stoic, with.Build(contender(peers.Stoic)), 1),
		without.Subject(peers.ByHand, without.Build(contender(peers.ByHand)), 1),
	})
	if err != nil {
		return Bound{}, err
	}
	got := samples[0].Summary().Center - samples[1].Summary().Center
	return Bound{What: "retry, more than the operation alone", Got: got, Limit: 10, Unit: "ns"}, nil
}

// oneFailure is faster than every library. The loop by hand is none: without a delay
// it does nothing but call again.
func oneFailure(cfg measure.Config) ([]Bound, error) {
	var all []limits
	for _, c := range peers.All() {
		if c.Name != peers.Stoic && c.Name != peers.ByHand {
			all = append(all, limits{c.Name, 1, 1})
		}
	}
	found, err := ratios(cfg, "retry, one failure, zero delay", all)
	for i := range found {
		found[i].Below = true
	}
	return found, err
}

func ratios(cfg measure.Config, name string, all []limits) ([]Bound, error) {
	sc := scenario(name)
	var subjects []measure.Subject
	for _, l := range all {
		for _, who := range []string{peers.Stoic, l.contender} {
			run := sc.Build(contender(who))
			if run == nil {
				return nil, fmt.Errorf("%s has no %q", who, name)
			}
			subjects = append(subjects, sc.Subject(who, run, l.goroutines))
		}
	}
	samples, err := measure.Paired(cfg, subjects)
	if err != nil {
		return nil, err
	}
	var found []Bound
	for i, l := range all {
		found = append(found, Bound{
			What:  fmt.Sprintf("%s, %s, ratio to %s", name, count(l.goroutines), l.contender),
			Got:   samples[2*i].Over(samples[2*i+1]).Summary().Center,
			Limit: l.limit,
			Free:  l.limit == 0,
		})
	}
	return found, nil
}

func count(goroutines int) string {
	if goroutines == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", goroutines)
}

func allocations(name string, limit float64) (Bound, error) {
	sc := scenario(name)
	got, err := measure.Allocs(sc.Subject(peers.Stoic, sc.Build(contender(peers.Stoic)), 1))
	return Bound{What: name, Got: got, Limit: limit, Unit: "allocations"}, err
}

// scenario and contender are of names written in this package: see the test.

func scenario(name string) peers.Scenario {
	all := peers.Scenarios()
	return all[slices.IndexFunc(all, func(sc peers.Scenario) bool { return sc.Name == name })]
}

func contender(name string) peers.Contender {
	all := peers.All()
	return all[slices.IndexFunc(all, func(c peers.Contender) bool { return c.Name == name })]
}
