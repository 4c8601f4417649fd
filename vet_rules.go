package stoic

import (
	"fmt"
	"reflect"
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
			fs = append(fs, s.finding(CodeBudgetWithoutRetry, LevelError,
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
			fs = append(fs, s.finding(CodeDuplicateLayer, LevelError,
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
	for _, i := range s.retries() {
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
		fs = append(fs, s.finding(CodeDeadlinePerAttemptOnly, LevelWarn, reason, "put a deadline outside the retry.", i))
	}
	return fs
}

func deadlineTotalOnly(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		limit, _, ok := s.allowedAround(i)
		if ok && !s[i+1:].allows() {
			fs = append(fs, s.finding(CodeDeadlineTotalOnly, LevelWarn,
				fmt.Sprintf("no deadline ends an attempt: one that hangs takes the whole %s, and is never retried.", limit),
				"put a deadline inside the retry, innermost.", i))
		}
	}
	return fs
}

func attemptNotBelowTotal(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		total, at, ok := s.allowedAround(i)
		if !ok {
			continue
		}
		for k := i + 1; k < len(s); k++ {
			if attempt := s[k].desc.Allows; attempt >= total {
				fs = append(fs, s.finding(CodeAttemptNotBelowTotal, LevelWarn,
					fmt.Sprintf("an attempt may take %s of the %s for the whole call: a second one can never run in full.", attempt, total),
					fmt.Sprintf("give an attempt less than %s.", readable(total/time.Duration(min(s[i].desc.runs(), 3)))), at, k))
			}
		}
	}
	return fs
}

// backoffExceedsDeadline leaves out retries without a limit: a deadline is how those end.
func backoffExceedsDeadline(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		late, ok := s.tooLate(i)
		if !ok || !late.FailingAtOnce || late.To == Unlimited {
			continue
		}
		fs = append(fs, s.finding(CodeBackoffExceedsDeadline, LevelWarn,
			fmt.Sprintf("the waits alone can pass the deadline of %s: %s may not happen even if each one before fails at once.", late.Deadline, late.which()),
			"make fewer attempts, wait less, or allow more time.", i))
	}
	return fs
}

func retryWithoutBudget(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		if runs := s[i].desc.runs(); s.budgetOf(i) < 0 {
			times := fmt.Sprintf("%d times the load", runs)
			if runs == Unlimited {
				times = "more load without a limit"
			}
			fs = append(fs, s.finding(CodeRetryWithoutBudget, LevelWarn,
				"in a total outage it sends "+times+".",
				"put a budget around it, shared by all stacks of this client to this dependency.", i))
		}
	}
	return fs
}

func retryWithoutJitter(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		backoff, _ := param[string](s[i].desc, "backoff")
		if backoff == "no jitter" || backoff == "constant" {
			fs = append(fs, s.finding(CodeRetryWithoutJitter, LevelWarn,
				"clients that fail together wait the same time and come back together.", "use FullJitter.", i))
		}
	}
	return fs
}

func nestedRetry(s stack) []Finding {
	retries := s.retries()
	if len(retries) < 2 {
		return nil
	}
	attempts := fmt.Sprintf("up to %d attempts", s.attempts(0, firstAttempt))
	if s.attempts(0, firstAttempt) == Unlimited {
		attempts = "attempts without a limit"
	}
	return []Finding{s.finding(CodeNestedRetry, LevelWarn,
		fmt.Sprintf("%d retries in one stack make %s.", len(retries), attempts),
		"keep the outermost retry only.", retries...)}
}

func retryOfRejections(s stack) []Finding {
	var fs []Finding
	for _, i := range s.retries() {
		for k := i + 1; k < len(s); k++ {
			if s.retriesRefusal(i, k) {
				fs = append(fs, s.finding(CodeRetryOfRejections, LevelWarn,
					"it retries the refusals of the layer inside it: the loop waits and asks again, and calls nothing.",
					"do not retry errors that match ErrRejected.", i, k))
			}
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
				fs = append(fs, s.finding(CodeBreakerWindowSmall, LevelWarn, r.noise(), r.fix(), i))
			}
		}
	}
	return fs
}

func breakerOutsideRetry(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindBreaker) {
		if s.hasRetry(i) {
			fs = append(fs, s.finding(CodeBreakerOutsideRetry, LevelInfo, s.countsCalls(i),
				"put the breaker inside the retry, unless the whole call is what is healthy or not.", i))
		}
	}
	return fs
}

// breakerOutsideLimiter looks at breakers outside a retry only. Inside one, in the usual
// place of both, the refusal ends the retry, and the breaker has nothing to learn from it.
func breakerOutsideLimiter(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindBreaker) {
		for _, k := range s.each(KindRateLimit) {
			if k < i || !s.hasRetry(i) || s[k].desc.Refusal == nil {
				continue
			}
			fs = append(fs, s.finding(CodeBreakerOutsideLimiter, LevelInfo,
				"a call that the limiter refuses counts as nothing for the breaker: it stays closed however many there are.",
				"nothing; ignore this code if it is meant.", i, k))
		}
	}
	return fs
}

func limiterOutsideRetry(s stack) []Finding {
	var fs []Finding
	for _, i := range s.each(KindRateLimit) {
		if !s.hasRetry(i) || s[i].desc.Refusal == nil {
			continue
		}
		reason := "a call takes one token whatever its retries"
		if n := s.attempts(i+1, firstAttempt); n < Unlimited {
			reason += fmt.Sprintf(": the dependency may see %d times the limit", n)
		}
		fs = append(fs, s.finding(CodeLimiterOutsideRetry, LevelInfo, reason+".",
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
				fs = append(fs, s.finding(CodeLimiterWaitInsideAttempt, LevelInfo,
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
		if !l.desc.Opaque {
			continue
		}
		fix := "let the layer implement Describer, or ignore this code."
		if l.desc.Kind == KindRetry {
			fix = "use a backoff of package retry, or give yours a method Ceiling and at most 66 attempts; or ignore this code."
		}
		fs = append(fs, s.finding(CodeOpaqueLayer, LevelInfo,
			"it does not say all that it may do, so the numbers of this stack are lower bounds.", fix, i))
	}
	return fs
}
