package stoic

import (
	"fmt"
	"math"
	"time"
)

// tripRule is one of the rules of a breaker, in its numbers.
type tripRule struct {
	consecutive int

	rate   float64
	calls  int           // the smallest number that is judged
	window time.Duration // of calls; 0 for a rule over the last calls
	last   int           // the most calls that are judged, of such a rule
}

// rulesOf reads the rules of a breaker from its settings.
func rulesOf(d Description) []tripRule {
	var rules []tripRule
	if rate, ok := number(d, "failure rate"); ok {
		calls, _ := number(d, "min calls")
		window, _ := param[time.Duration](d, "window")
		rules = append(rules, tripRule{rate: rate, calls: int(calls), window: window})
	}
	if rate, ok := number(d, "failure rate of last"); ok {
		last, _ := number(d, "last calls")
		rules = append(rules, tripRule{rate: rate, calls: int(last+1) / 2, last: int(last)})
	}
	if n, ok := number(d, "consecutive failures"); ok {
		rules = append(rules, tripRule{consecutive: int(n)})
	}
	return rules
}

// opensAfter is how many failures in a row reach the rule.
func (r tripRule) opensAfter() int { return max(r.consecutive, r.calls) }

// String is the rule in words.
func (r tripRule) String() string {
	switch {
	case r.consecutive > 0:
		return fmt.Sprintf("%d in a row", r.consecutive)
	case r.last > 0:
		return fmt.Sprintf("%.4g %% of the last %d", 100*r.rate, r.last)
	default:
		return fmt.Sprintf("%.4g %% of at least %d in %s", 100*r.rate, r.calls, r.window)
	}
}

// The smallest rules that do not trip on the noise of a 30 % error rate.
const (
	enoughCalls       = 50
	enoughConsecutive = 10
	noisyRate         = 0.3
)

func (r tripRule) small() bool {
	if r.consecutive > 0 {
		return r.consecutive < enoughConsecutive
	}
	return r.calls < enoughCalls
}

// noise is how probable it is that the rule trips at an error rate of 30 %.
func (r tripRule) noise() string {
	if r.consecutive > 0 {
		return fmt.Sprintf("%d failures in a row happen by chance once in %.0f calls when 30 %% of them fail.",
			r.consecutive, callsUntilRun(r.consecutive, noisyRate))
	}
	need := 0 // the breaker divides, so this does too
	for need < r.calls && float64(need)/float64(r.calls) < r.rate {
		need++
	}
	return fmt.Sprintf("of %d calls, %d or more fail by chance with probability %.2g %% when 30 %% of them fail.",
		r.calls, need, 100*atLeast(need, r.calls, noisyRate))
}

func (r tripRule) fix() string {
	if r.consecutive > 0 {
		return fmt.Sprintf("ask for at least %d failures in a row, or use a rate.", enoughConsecutive)
	}
	if r.last > 0 {
		return fmt.Sprintf("keep at least the last %d calls: it judges from half of them on.", 2*enoughCalls-1)
	}
	return fmt.Sprintf("judge at least %d calls.", enoughCalls)
}

// callsUntilRun is the mean number of calls until n in a row fail, each with
// probability p: (1 − pⁿ) / ((1 − p)·pⁿ). Source: Feller, An Introduction to
// Probability Theory, vol. 1, XIII.7.
func callsUntilRun(n int, p float64) float64 {
	run := math.Pow(p, float64(n))
	return (1 - run) / ((1 - p) * run)
}

// atLeast is the probability of k or more failures in n calls, each with probability p:
// the upper tail of the binomial distribution.
func atLeast(k, n int, p float64) float64 {
	var sum float64
	for i := k; i <= n; i++ {
		lgN, _ := math.Lgamma(float64(n + 1))
		lgI, _ := math.Lgamma(float64(i + 1))
		lgRest, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(lgN - lgI - lgRest + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}
