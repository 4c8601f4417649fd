package stoic

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// A rule looks at a stack for one kind of finding.
type rule func(s stack) []Finding

// errorRules find what New refuses.
//
//nolint:gochecknoglobals // a constant list
var errorRules = []rule{budgetWithoutRetry, duplicateLayer}

// vetRules find what Vet reports.
//
//nolint:gochecknoglobals // a constant list
var vetRules = []rule{
	deadlinePerAttemptOnly, deadlineTotalOnly, attemptNotBelowTotal, backoffExceedsDeadline,
	retryWithoutBudget, retryWithoutJitter, nestedRetry, retryOfRejections,
	breakerWindowSmall, breakerOutsideRetry, breakerOutsideLimiter,
	limiterOutsideRetry, limiterWaitInsideAttempt, opaqueLayer,
}

func budgetWithoutRetry(s stack) []Finding {
	var fs []Finding
	for i, l := range s {
		if _, ok := l.policy.(Budget); ok && !s.drawnOn(i) {
			fs = append(fs, s.finding(BudgetWithoutRetry, Error,
				"no retry inside it draws on it, so it limits nothing.", "put it around a retry, or remove it.", i))
		}
	}
	return fs
}

// drawnOn reports whether a retry inside the budget at i has it as its nearest budget.
func (s stack) drawnOn(i int) bool {
	for k, l := range s {
		if l.desc.Kind == KindRetry && s.budgetOf(k) == i {
			return true
		}
	}
	return false
}

func duplicateLayer(s stack) []Finding {
	var fs []Finding
	seen := make(map[any]int)
	for i, l := range s {
		identified, ok := l.policy.(Identifier)
		if !ok {
			continue
		}
		id := identified.Identity()
		if id == nil || !reflect.ValueOf(id).Comparable() { // the second is for checkIdentities
			continue
		}
		if first, twice := seen[id]; twice {
			fs = append(fs, s.finding(DuplicateLayer, Error,
				fmt.Sprintf("it has the same state as layer %d, so one call would count twice.", first+1),
				"remove one of the two, or make a second value.", i))
			continue
		}
		seen[id] = i
	}
	return fs
}

func deadlinePerAttemptOnly(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		if _, _, ok := s.allowedAround(i); ok {
			continue
		}
		reason := "no deadline ends the whole call; "
		worst := s.time(i, firstAttempt, timing{operation: Forever, deadlines: true})
		if worst == Forever {
			reason += "a call may take for ever."
		} else {
			reason += fmt.Sprintf("at worst it takes %s.", worst)
		}
		fs = append(fs, s.finding(DeadlinePerAttemptOnly, Warn, reason, "put a deadline outside the retry.", i))
	}
	return fs
}

func deadlineTotalOnly(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		limit, _, ok := s.allowedAround(i)
		if ok && !s[i+1:].allows() && s[i].desc.runs() > 1 {
			fs = append(fs, s.finding(DeadlineTotalOnly, Warn,
				fmt.Sprintf("no deadline ends an attempt: one that hangs takes the whole %s, and is never retried.", limit),
				"put a deadline inside the retry, innermost.", i))
		}
	}
	return fs
}

func attemptNotBelowTotal(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		total, at, ok := s.allowedAround(i)
		if !ok || s[i].desc.runs() == 1 {
			continue
		}
		for k := i + 1; k < len(s); k++ {
			if attempt := s[k].desc.Allows; attempt >= total {
				fs = append(fs, s.finding(AttemptNotBelowTotal, Warn,
					fmt.Sprintf("an attempt may take %s of the %s for the whole call: a second one can never run in full.", attempt, total),
					fmt.Sprintf("give an attempt less than %s.", readable(total/time.Duration(min(s[i].desc.runs(), 3)))), at, k))
			}
		}
	}
	return fs
}

func backoffExceedsDeadline(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		attempt, limit := s.firstTooLate(i, timing{})
		if attempt == 0 {
			continue
		}
		last := fmt.Sprintf("%d to %d", attempt, s[i].desc.runs())
		switch s[i].desc.runs() {
		case attempt:
			last = strconv.Itoa(attempt)
		case Unlimited:
			last = fmt.Sprintf("%d and all after it", attempt)
		}
		fs = append(fs, s.finding(BackoffExceedsDeadline, Warn,
			fmt.Sprintf("the waits alone can pass the deadline of %s: attempt %s may not happen even if each one fails at once.", limit, last),
			"make fewer attempts, wait less, or allow more time.", i))
	}
	return fs
}

func retryWithoutBudget(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		if runs := s[i].desc.runs(); runs > 1 && s.budgetOf(i) < 0 {
			times := fmt.Sprintf("%d times the load", runs)
			if runs == Unlimited {
				times = "more load without a limit"
			}
			fs = append(fs, s.finding(RetryWithoutBudget, Warn,
				"in a total outage it sends "+times+".",
				"put a budget around it, shared by all stacks of this client to this dependency.", i))
		}
	}
	return fs
}

func retryWithoutJitter(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		backoff, _ := param[string](s[i].desc, "backoff")
		if s[i].desc.runs() > 1 && (backoff == "no jitter" || backoff == "constant") {
			fs = append(fs, s.finding(RetryWithoutJitter, Warn,
				"clients that fail together wait the same time and come back together.", "use FullJitter.", i))
		}
	}
	return fs
}

func nestedRetry(s stack) []Finding {
	retries := s.each(KindRetry)
	if len(retries) < 2 {
		return nil
	}
	attempts := fmt.Sprintf("up to %d attempts", s.attempts(0, firstAttempt))
	if s.attempts(0, firstAttempt) == Unlimited {
		attempts = "attempts without a limit"
	}
	return []Finding{s.finding(NestedRetry, Warn,
		fmt.Sprintf("%d retries in one stack make %s.", len(retries), attempts),
		"keep the outermost retry only.", retries...)}
}

func retryOfRejections(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRetry) {
		r, ok := s[i].policy.(interface{ Retries(err error) bool })
		if !ok || s[i].desc.runs() == 1 {
			continue
		}
		for k := i + 1; k < len(s); k++ {
			refusal := s[k].desc.Refusal
			if _, budget := s[k].policy.(Budget); budget || refusal == nil || !r.Retries(refusal) {
				continue
			}
			fs = append(fs, s.finding(RetryOfRejections, Warn,
				"it retries the refusals of the layer inside it: the loop waits and asks again, and calls nothing.",
				"do not retry errors that match ErrRejected.", i, k))
		}
	}
	return fs
}

func breakerWindowSmall(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindBreaker) {
		if !s.inRetry(i) {
			continue
		}
		for _, r := range rulesOf(s[i].desc) {
			if r.small() {
				fs = append(fs, s.finding(BreakerWindowSmall, Warn, r.noise(), r.fix(), i))
			}
		}
	}
	return fs
}

func breakerOutsideRetry(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindBreaker) {
		if s.hasRetry(i) {
			fs = append(fs, s.finding(BreakerOutsideRetry, Info, s.countsCalls(i),
				"put the breaker inside the retry, unless the whole call is what is healthy or not.", i))
		}
	}
	return fs
}

// breakerOutsideLimiter leaves out the usual place of both, inside one retry, where the
// refusal ends the retry and the breaker has nothing to learn from it.
func breakerOutsideLimiter(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindBreaker) {
		for _, k := range s.each(KindRateLimit) {
			if k < i || s.inRetry(i) && !s[i:k].has(KindRetry) {
				continue
			}
			fs = append(fs, s.finding(BreakerOutsideLimiter, Info,
				"a call that the limiter refuses counts as nothing for the breaker: it stays closed however many there are.",
				"nothing, if that is meant; else put the limiter outside.", i, k))
		}
	}
	return fs
}

func limiterOutsideRetry(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRateLimit) {
		if !s.hasRetry(i) {
			continue
		}
		reason := "a call takes one token whatever its retries"
		if n := s.attempts(i+1, firstAttempt); n < Unlimited {
			reason += fmt.Sprintf(": the dependency may see %d times the limit", n)
		}
		fs = append(fs, s.finding(LimiterOutsideRetry, Info, reason+".",
			"put the limiter inside the retry, if it stands for the quota of the dependency.", i))
	}
	return fs
}

func limiterWaitInsideAttempt(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRateLimit) {
		wait := s[i].desc.waitBefore(1)
		for k := i - 1; wait > 0 && k >= 0 && s[k].desc.Kind != KindRetry; k-- {
			// Without a retry around it, a deadline bounds the call, and the wait is part of it.
			if limit := s[k].desc.Allows; limit > 0 && s.inRetry(k) {
				fs = append(fs, s.finding(LimiterWaitInsideAttempt, Info,
					fmt.Sprintf("up to %s of waiting for a token comes out of the %s of an attempt.", wait, limit),
					"put the deadline inside the limiter.", k, i))
			}
		}
	}
	return fs
}

func opaqueLayer(s stack) []Finding {
	var fs []Finding
	for i, l := range s {
		if l.desc.Opaque {
			fs = append(fs, s.finding(OpaqueLayer, Info,
				"it does not say all that it may do, so the numbers of this stack are lower bounds.",
				"let the layer implement Describer, or ignore this code.", i))
		}
	}
	return fs
}

// tripRule is one of the rules of a breaker, in its numbers.
type tripRule struct {
	rate        float64 // with calls: the smallest number that is judged
	calls       int
	over        string // "10s" or "of the last 20"
	consecutive int
}

func rulesOf(d Description) []tripRule {
	var rules []tripRule
	if rate, ok := param[float64](d, "failure rate"); ok {
		calls, _ := param[int](d, "min calls")
		window, _ := param[time.Duration](d, "window")
		rules = append(rules, tripRule{rate: rate, calls: calls, over: fmt.Sprintf("at least %d in %s", calls, window)})
	}
	if rate, ok := param[float64](d, "failure rate of last"); ok {
		last, _ := param[int](d, "last calls")
		rules = append(rules, tripRule{rate: rate, calls: (last + 1) / 2, over: fmt.Sprintf("the last %d", last)})
	}
	if n, ok := param[int](d, "consecutive failures"); ok {
		rules = append(rules, tripRule{consecutive: n})
	}
	return rules
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
	need := int(math.Ceil(r.rate * float64(r.calls)))
	return fmt.Sprintf("of %d calls, %d or more fail by chance with probability %.2g %% when 30 %% of them fail.",
		r.calls, need, 100*atLeast(need, r.calls, noisyRate))
}

func (r tripRule) fix() string {
	if r.consecutive > 0 {
		return fmt.Sprintf("ask for at least %d failures in a row, or use a rate.", enoughConsecutive)
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
