package bounds

import (
	"fmt"
	"slices"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
	"github.com/stoic-go/stoic/retry"
)

// equal is what differences below are noise, also those of ratios.
const equal = 1.10

// growth compares by which factor the cost of a call grows from 1 goroutine to many
// that share the policies, with the factor of the bare gobreaker and limiter.
func growth(cfg measure.Config) ([]Bound, error) {
	all, err := Curves(cfg)
	if err != nil {
		return nil, err
	}
	var found []Bound
	for _, c := range all {
		if c.like == c.Name {
			continue
		}
		bare := all[slices.IndexFunc(all, func(other Curve) bool { return other.Name == c.like })]
		last := len(c.Goroutines) - 1
		found = append(found, Bound{
			What: fmt.Sprintf("%s, growth to %d goroutines (%.2f), ratio to that of %s (%.2f)", c.Name, c.Goroutines[last],
				c.Growth[last].Summary().Center, bare.Name, bare.Growth[last].Summary().Center),
			Got:   c.Growth[last].Over(bare.Growth[last]).Summary().Center,
			Limit: equal,
		})
	}
	return found, nil
}

// A Curve is how a stack behaves with 1, 2, 4 and so on goroutines: the nanoseconds of
// a call, and by which factor they have grown from those of the first.
type Curve struct {
	Name       string
	Goroutines []int
	Nanos      []measure.Sample
	Growth     []measure.Sample

	like string // the curve that it is held to
	run  peers.Run
}

// The bare parts, which the curves are held to.
const (
	bareBoth    = "bare gobreaker and limiter"
	bareBreaker = "bare gobreaker"
	bareLimiter = "bare limiter"
)

// Curves measures those of the bare parts, of each policy of stoic, and of its stacks.
func Curves(cfg measure.Config) ([]Curve, error) {
	s := peers.Defaults()
	build := contender(peers.Stoic).Build
	curves := []Curve{
		{Name: bareBoth, like: bareBoth, run: peers.Bare(s)},
		{Name: bareBreaker, like: bareBreaker, run: contender(peers.ByHand).Build(peers.Breaker, s)},
		{Name: bareLimiter, like: bareLimiter, run: contender(peers.ByHand).Build(peers.Limiter, s)},
		{Name: "retry", like: bareBoth, run: build(peers.Retry, s)},
		{Name: "budget and retry", like: bareBoth, run: stoic.MustNew("p", budget.New(), retry.New()).Do},
		{Name: "breaker", like: bareBreaker, run: build(peers.Breaker, s)},
		{Name: "limiter", like: bareLimiter, run: build(peers.Limiter, s)},
		{Name: "deadline", like: bareBoth, run: build(peers.Deadline, s)},
		{Name: "full stack without deadlines", like: bareBoth, run: build(peers.Four, s)},
		{Name: "full stack", like: bareBoth, run: build(peers.Full, s)},
	}
	sc := scenario("full stack")
	goroutines := []int{1, 2, 4, 8, 16, 32, 64}
	var subjects []measure.Subject
	for _, c := range curves {
		for _, n := range goroutines {
			subjects = append(subjects, sc.Subject(c.Name, c.run, n))
		}
	}
	samples, err := measure.Paired(cfg, subjects)
	if err != nil {
		return nil, err
	}
	for i := range curves {
		c := &curves[i]
		c.Goroutines = goroutines
		c.Nanos = samples[i*len(goroutines) : (i+1)*len(goroutines)]
		for _, ns := range c.Nanos {
			c.Growth = append(c.Growth, ns.Over(c.Nanos[0]))
		}
	}
	return curves, nil
}

// windows compares policies whose windows are short with those whose windows are long:
// the cost of a call must not depend on what a window holds.
func windows(cfg measure.Config) ([]Bound, error) {
	pairs := []struct {
		what        string
		short, long []stoic.Policy
	}{
		{
			"budget, window of 24h to 10ms",
			[]stoic.Policy{budget.New(budget.Window(10 * time.Millisecond)), retry.New()},
			[]stoic.Policy{budget.New(budget.Window(24 * time.Hour)), retry.New()},
		},
		{
			"breaker, window of 24h to 1s",
			[]stoic.Policy{breaker.New("b", breaker.FailureRate(0.5, 50, time.Second))},
			[]stoic.Policy{breaker.New("b", breaker.FailureRate(0.5, 50, 24*time.Hour))},
		},
		{
			"breaker, 100000 last calls to 100",
			[]stoic.Policy{breaker.New("b", breaker.FailureRateOfLast(0.5, 100))},
			[]stoic.Policy{breaker.New("b", breaker.FailureRateOfLast(0.5, 100_000))},
		},
	}
	sc := scenario("full stack")
	var subjects []measure.Subject
	for _, p := range pairs {
		subjects = append(subjects,
			sc.Subject(p.what, stoic.MustNew("p", p.short...).Do, 1),
			sc.Subject(p.what, stoic.MustNew("p", p.long...).Do, 1))
	}
	samples, err := measure.Paired(cfg, subjects)
	if err != nil {
		return nil, err
	}
	var found []Bound
	for i, p := range pairs {
		found = append(found, Bound{
			What: p.what + ", ratio", Got: samples[2*i+1].Over(samples[2*i]).Summary().Center, Limit: 1.5,
		})
	}
	return found, nil
}
