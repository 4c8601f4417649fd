package stoic

import (
	"slices"
	"time"
)

// stack is a flattened list of layers to reason about, outermost first. Positions
// are counted from 0.
type stack []layer

// stack is the layers to reason about. It asks the retries about the refusals inside
// them, which runs code of the user's: not in New, which nobody expects to.
func (p *Pipeline) stack() stack {
	s := stack(slices.Clone(p.layers))
	for i := range s {
		for k := i + 1; k < len(s) && !s[i].spins; k++ {
			s[i].spins = s.retriesRefusal(i, k)
		}
	}
	return s
}

// entry is how a call comes into a layer: as the first attempt of whatever is
// around it, or as a resend. A retry that yields to outer ones runs what is inside
// it once for a resend.
type entry bool

const (
	firstAttempt entry = false
	resend       entry = true
)

// runsOf is the most times that one entry into layer i runs what is inside it.
func (s stack) runsOf(i int, e entry) int {
	if e == resend && s[i].desc.OnlyFirst {
		return 1
	}
	return s[i].desc.runs()
}

// entryOf is how run k of a layer that was entered as e enters the next layer: only
// the layers that make attempts turn a first attempt into a resend.
func (s stack) entryOf(i, k int, e entry) entry {
	return entry(bool(e) || k > 1 && s[i].desc.Kind == KindRetry)
}

// attempts is the most times that one entry into layer i calls the Func. The worst
// operation fails whenever that makes for one more.
func (s stack) attempts(i int, e entry) int {
	if i == len(s) {
		return 1
	}
	runs := s.runsOf(i, e)
	first := s.attempts(i+1, s.entryOf(i, 1, e))
	if runs == 1 {
		return first
	}
	return addInt(first, mulInt(runs-1, s.attempts(i+1, s.entryOf(i, 2, e))))
}

// timing says what a worst case counts.
type timing struct {
	operation time.Duration // what each call of the Func takes where no deadline ends it
	deadlines bool          // whether deadlines end anything
	hints     bool          // whether each error asks for the longest wait that is heeded
}

// time is the most that one entry into layer i takes. The worst operation fails at
// the last moment of its deadline; waits are at their ceilings. Everything inside a
// deadline honours it, so a deadline cuts off whatever it is around.
func (s stack) time(i int, e entry, t timing) time.Duration {
	if i == len(s) {
		return t.operation
	}
	desc := s[i].desc
	runs := s.runsOf(i, e)
	total := addTime(desc.waitBefore(1), s.time(i+1, s.entryOf(i, 1, e), t))
	if runs > 1 {
		total = addTime(total, s.furtherRuns(i, e, t, runs-1))
	}
	if t.deadlines && desc.Allows > 0 {
		total = min(total, desc.Allows)
	}
	return total
}

// furtherRuns is the time of n runs after the first, waits included. From the last
// listed wait on, all runs take the same.
func (s stack) furtherRuns(i int, e entry, t timing, n int) time.Duration {
	inside := s.time(i+1, s.entryOf(i, 2, e), t)
	listed := min(n, max(0, len(s[i].desc.Waits)-2))
	var total time.Duration
	for k := range listed {
		total = addTime(total, addTime(s.waitBefore(i, k+2, t), inside))
	}
	return addTime(total, mulTime(n-listed, addTime(s.waitBefore(i, listed+2, t), inside)))
}

// waitBefore is the most that layer i waits before run k. The refusals of layers inside
// ask for waits too, where it runs them again.
func (s stack) waitBefore(i, k int, t timing) time.Duration {
	desc := s[i].desc
	wait := desc.waitBefore(k)
	if k > 1 && (t.hints || s[i].spins) {
		wait = max(wait, desc.MaxHint)
	}
	return wait
}

// allowedAround is the shortest deadline outside layer i and its position; ok is
// false when there is none.
func (s stack) allowedAround(i int) (limit time.Duration, at int, ok bool) {
	for k, l := range s[:i] {
		if l.desc.Allows > 0 && (!ok || l.desc.Allows < limit) {
			limit, at, ok = l.desc.Allows, k, true
		}
	}
	return limit, at, ok
}

// leftFor is what the deadlines outside layer i leave of their time when a call enters
// it, after the waits of the layers between. limit is the deadline that leaves least.
func (s stack) leftFor(i int) (left, limit time.Duration, ok bool) {
	for k, l := range s[:i] {
		if l.desc.Allows <= 0 {
			continue
		}
		rest := l.desc.Allows
		for _, between := range s[k:i] {
			rest -= min(between.desc.waitBefore(1), rest-1) // a wait that does not fit is refused
		}
		if !ok || rest < left {
			left, limit, ok = rest, l.desc.Allows, true
		}
	}
	return left, limit, ok
}

// firstTooLate is the first attempt of the retry at i that would start at a deadline
// around it or later, when each run takes what t says and each wait is at its
// ceiling. It is 0 when all attempts fit.
func (s stack) firstTooLate(i int, t timing) (attempt int, limit time.Duration) {
	left, limit, ok := s.leftFor(i)
	if !ok {
		return 0, 0
	}
	var now time.Duration
	runs := s.runsOf(i, firstAttempt)
	for k := 1; k < runs; k++ {
		step := addTime(s.time(i+1, s.entryOf(i, k, firstAttempt), t), s.waitBefore(i, k+1, t))
		if k > 1 && k >= len(s[i].desc.Waits) { // all further steps are like this one
			return s.skipTo(k, runs, left-now, step), limit
		}
		if now = addTime(now, step); now >= left {
			return k + 1, limit
		}
	}
	return 0, limit
}

// skipTo is the first attempt after k that starts when left is over, at one step each;
// 0 if there are not that many.
func (stack) skipTo(k, runs int, left, step time.Duration) int {
	if step == 0 {
		return 0
	}
	steps := int((left-1)/step) + 1
	if steps > runs-k {
		return 0
	}
	return k + steps
}

// inRetry and hasRetry tell whether a retry is outside or inside layer i.
func (s stack) inRetry(i int) bool  { return len(s[:i].retries()) > 0 }
func (s stack) hasRetry(i int) bool { return len(s[i+1:].retries()) > 0 }

// retries returns the positions of the retries that make more than one attempt.
func (s stack) retries() []int {
	return slices.DeleteFunc(s.each(KindRetry), func(i int) bool { return s[i].desc.runs() == 1 })
}

// retriesRefusal reports whether the retry at i makes another attempt after layer k
// inside it has refused one.
func (s stack) retriesRefusal(i, k int) bool {
	r, ok := s[i].policy.(interface{ Retries(err error) bool })
	if !ok || s[i].desc.runs() == 1 || s[k].desc.Refusal == nil {
		return false
	}
	if _, budget := s[k].policy.(Budget); budget {
		return false // its refusals end the retry that asks
	}
	return r.Retries(s[k].desc.Refusal)
}

// allows reports whether any layer ends the context of what is inside it.
func (s stack) allows() bool {
	return slices.ContainsFunc(s, func(l layer) bool { return l.desc.Allows > 0 })
}

// each returns the positions of the layers of a kind.
func (s stack) each(kind string) []int {
	var at []int
	for i, l := range s {
		if l.desc.Kind == kind {
			at = append(at, i)
		}
	}
	return at
}

// Saturating arithmetic: Unlimited and Forever are the largest values.

func addInt(a, b int) int {
	if a > Unlimited-b {
		return Unlimited
	}
	return a + b
}

func mulInt(a, b int) int {
	if a != 0 && b > Unlimited/a {
		return Unlimited
	}
	return a * b
}

func addTime(a, b time.Duration) time.Duration {
	if a > Forever-b {
		return Forever
	}
	return a + b
}

func mulTime(n int, d time.Duration) time.Duration {
	if n == 0 || d == 0 {
		return 0
	}
	if n == Unlimited || d > Forever/time.Duration(n) {
		return Forever
	}
	return time.Duration(n) * d
}
