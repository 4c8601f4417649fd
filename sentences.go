package stoic

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// sentence says what layer i does at its place, with the numbers of this stack.
func (s stack) sentence(i int) string {
	switch s[i].desc.Kind {
	case KindObserve:
		return s.observeSentence(i)
	case KindDeadline:
		return s.deadlineSentence(i)
	case KindBudget:
		return s.budgetSentence(i)
	case KindRetry:
		return s.retrySentence(i)
	case KindBreaker:
		return s.breakerSentence(i)
	case KindRateLimit:
		return s.limiterSentence(i)
	case KindBenign:
		return "Turns errors that are answers into successes for every layer outside it."
	case KindFunc, KindMiddleware:
		return "Runs code of yours around what is inside; what that code adds is not in the numbers."
	default:
		return s.otherSentence(i)
	}
}

func (s stack) observeSentence(i int) string {
	switch {
	case s.inRetry(i):
		return "Reports each attempt to its hook, as a call of its own."
	case s.hasRetry(i):
		return "Reports the call, each attempt and every decision below to its hook."
	default:
		return "Reports the call and every decision below to its hook."
	}
}

func (s stack) deadlineSentence(i int) string {
	limit := s[i].desc.Allows
	if outer, at, ok := s.allowedAround(i); ok && outer <= limit {
		return fmt.Sprintf("Would end what is inside after %s, but layer %d allows only %s.", limit, at+1, outer)
	}
	switch {
	case s.inRetry(i):
		return fmt.Sprintf("Ends each attempt after %s, which is a failure for the layers outside.", limit)
	case s.hasRetry(i):
		return fmt.Sprintf("Ends the whole call after %s, retries and waits included; no attempt starts later.", limit)
	default:
		return fmt.Sprintf("Ends the call after %s.", limit)
	}
}

func (s stack) budgetSentence(i int) string {
	d := s[i].desc
	ratio, perSecond, ok := grants(d)
	if !ok {
		return "Limits the retries inside it; by how much it does not say."
	}
	window, known := param[time.Duration](d, "window")
	if ratio == 0 && (perSecond == 0 || known && perSecond*window.Seconds() < 1) {
		return "Grants no retry at all."
	}
	text := "Grants "
	if elsewhere, _ := param[bool](d, "withdraw only"); elsewhere {
		text = "Draws on a budget that counts its requests elsewhere, and grants "
	}
	switch ratio {
	case 0:
		text += "no share of the requests as retries"
	case 1:
		text += "a retry for each request"
	default:
		text += fmt.Sprintf("a retry for each %.4g requests", 1/ratio)
	}
	if perSecond > 0 {
		text += fmt.Sprintf(", and %.4g a second whatever the requests", perSecond)
	}
	if known {
		text += fmt.Sprintf(", over %s", window)
	}
	return text + "."
}

func (s stack) retrySentence(i int) string {
	d := s[i].desc
	var text string
	switch runs := d.runs(); runs {
	case 1:
		return "Makes one attempt, and retries nothing."
	case Unlimited:
		text = "Makes attempts without a limit of their number, " + s.waitsInWords(i)
	default:
		text = fmt.Sprintf("Makes up to %d attempts, %s", runs, s.waitsInWords(i))
	}
	if s.inRetry(i) {
		if d.OnlyFirst {
			text += "; inside resends of the retry outside it makes only one"
		} else {
			text += "; inside each attempt of the retry outside, so they multiply"
		}
	}
	return text + "."
}

// waitsInWords names the first three ceilings.
func (s stack) waitsInWords(i int) string {
	d := s[i].desc
	backoff, _ := param[string](d, "backoff")
	if d.Opaque {
		return fmt.Sprintf("with waits of its own (%s)", backoff)
	}
	further := d.runs() - 1
	var waits []string
	total := time.Duration(0)
	for k := range min(further, 3) {
		total += d.waitBefore(k + 2)
		waits = append(waits, d.waitBefore(k+2).String())
	}
	if total == 0 {
		return "without a wait between them"
	}
	if further > len(waits) {
		waits = append(waits, "…")
	}
	text := "waiting up to " + strings.Join(waits, ", ") + " between them"
	if backoff == "no jitter" || backoff == "constant" {
		text = strings.Replace(text, "up to ", "", 1)
	}
	if backoff != "" {
		text += " (" + backoff + ")"
	}
	return text
}

func (s stack) breakerSentence(i int) string {
	d := s[i].desc
	inside := s.inRetry(i)
	switch {
	case s.hasRetry(i) && inside:
		return "Sees what the retry inside makes of an attempt: " + s.countsCalls(i)
	case s.hasRetry(i):
		return "Sees whole calls: " + s.countsCalls(i)
	}
	text, unit := "Sees every call", "call"
	if inside {
		text, unit = "Sees every attempt, and opening ends the retry", "attempt"
		if s.refusalsRetried(i) {
			text = "Sees every attempt; a retry outside tries its refusals again"
		}
	}
	if n, within := opensAfter(d); n > 0 {
		text += fmt.Sprintf(": in a total outage it opens after %s%s (%s)", plural(n, unit), within, rulesInWords(d))
		if per := s[:i].attempts(0, firstAttempt); inside && per > 1 && per < Unlimited {
			text += ", that is at least " + plural((n+per-1)/per, "call")
		}
	}
	return text + opened(d, 1, unit)
}

// refusalsRetried reports whether a retry outside layer i retries its refusals.
func (s stack) refusalsRetried(i int) bool {
	for k := range i {
		if s.retriesRefusal(k, i) {
			return true
		}
	}
	return false
}

// countsCalls is what a breaker outside a retry means.
func (s stack) countsCalls(i int) string {
	d := s[i].desc
	per := s.attempts(i+1, firstAttempt)
	call := "call"
	if s.inRetry(i) {
		call = "attempt of the retry outside"
	}
	if per == Unlimited {
		return "a failure counts once per " + call + ", after all its attempts, however many" + opened(d, Unlimited, "attempt")
	}
	text := fmt.Sprintf("a failure counts once per %s, after up to %s", call, plural(per, "attempt"))
	if n, within := opensAfter(d); n > 0 {
		text += fmt.Sprintf("; in a total outage it opens after %d failures in a row%s, which are up to %s (%s)",
			n, within, plural(s.attemptsOf(i, n), "attempt"), rulesInWords(d))
	}
	if rate := rateOf(d); rate > 0 && !s.inRetry(i) {
		text += s.rateOfAttempts(i, rate, per)
	}
	return text + opened(d, per, "attempt")
}

// rateOfAttempts is the failure rate of attempts at which that of calls of up to per
// attempts is rate. What a budget refuses is not retried, and makes calls fail earlier.
func (s stack) rateOfAttempts(i int, rate float64, per int) string {
	closed := fmt.Sprintf("%.4g^(1/%d) = %.3f", rate, per, math.Pow(rate, 1/float64(per)))
	for k := i + 1; k < len(s); k++ {
		if _, ok := s[k].policy.(Budget); ok {
			return fmt.Sprintf("; a rate of %.4g is reached when attempts fail at between %.4g and %s, by what the budget grants",
				rate, rate, closed)
		}
	}
	return fmt.Sprintf("; a rate of %.4g is reached only when attempts fail at %s", rate, closed)
}

// rateOf is the failure rate of the first rule that has one, or 0.
func rateOf(d Description) float64 {
	for _, r := range rulesOf(d) {
		if r.consecutive == 0 {
			return r.rate
		}
	}
	return 0
}

// attemptsOf is how many attempts n entries into layer i make at most, when calls follow
// each other: the first entry of a call is a first attempt, the others are resends.
func (s stack) attemptsOf(i, n int) int {
	perCall := s[:i].attempts(0, firstAttempt)
	first, further := s.attempts(i+1, firstAttempt), s.attempts(i+1, resend)
	calls, rest := n/perCall, n%perCall
	total := mulInt(calls, addInt(first, mulInt(perCall-1, further)))
	if rest > 0 {
		total = addInt(total, addInt(first, mulInt(rest-1, further)))
	}
	return total
}

// opened says what comes after a breaker has opened; a probe is up to n of the units.
func opened(d Description, n int, unit string) string {
	var text string
	if openFor, ok := param[time.Duration](d, "open for"); ok {
		text = fmt.Sprintf("; it refuses for %s", openFor)
	}
	if probes, ok := number(d, "probes"); ok {
		cost := plural(n, unit)
		if n == Unlimited {
			cost = unit + "s without a limit"
		}
		if n > 1 {
			cost = "up to " + cost
		}
		text += fmt.Sprintf(", and then %s of %s", plural(int(probes), "probe"), cost)
	}
	return text + "."
}

// opensAfter is how many failures in a row open a breaker, and within which time they
// must come.
func opensAfter(d Description) (least int, within string) {
	for _, r := range rulesOf(d) {
		if n := r.opensAfter(); least == 0 || n < least {
			least, within = n, ""
			if r.window > 0 {
				within = fmt.Sprintf(" within %s", r.window)
			}
		}
	}
	return least, within
}

func rulesInWords(d Description) string {
	var words []string
	for _, r := range rulesOf(d) {
		words = append(words, r.String())
	}
	return strings.Join(words, ", or ")
}

func (s stack) limiterSentence(i int) string {
	d := s[i].desc
	if d.Refusal == nil && d.MaxWait() == 0 {
		return "Limits nothing."
	}
	who := "A call takes a token"
	switch {
	case s.inRetry(i):
		who = "Every attempt takes a token"
	case s.hasRetry(i):
		who = "A call takes one token, whatever its retries"
	}
	text := who
	if rate, ok := number(d, "per second"); ok {
		text += fmt.Sprintf(" (%.4g a second", rate)
		if burst, ok := number(d, "burst"); ok {
			text += fmt.Sprintf(", bursts of %.0f", burst)
		}
		text += ")"
	}
	if wait := d.waitBefore(1); wait > 0 {
		return text + fmt.Sprintf("; without one it waits up to %s, then it is refused.", wait)
	}
	return text + "; without one it is refused at once."
}

func (s stack) otherSentence(i int) string {
	d := s[i].desc
	if d.Opaque {
		return "Does not say what it does; what it adds is not in the numbers."
	}
	var facts []string
	if d.runs() > 1 {
		facts = append(facts, "runs what is inside "+upTo(d.runs()))
	}
	if wait := d.MaxWait(); wait > 0 {
		facts = append(facts, "waits up to "+timeText(wait))
	}
	if d.Allows > 0 {
		facts = append(facts, fmt.Sprintf("allows %s", d.Allows))
	}
	if d.Refusal != nil {
		facts = append(facts, "may refuse")
	}
	if len(facts) == 0 {
		return "Runs what is inside once."
	}
	text := strings.Join(facts, ", ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

func upTo(n int) string {
	if n == Unlimited {
		return "without a limit"
	}
	return fmt.Sprintf("up to %d times", n)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
