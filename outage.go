package stoic

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// outage is the load that a stack sends in a total outage, per call: one attempt, and
// what the retries add. Retries that draw on one budget share what it grants.
type outage struct {
	terms  []outageTerm
	atMost bool // the sum is an upper bound
}

// outageTerm is min(retries, ratio + perSecond/rate): the resends of the retries that
// draw on one budget, or without a limit of retries that draw on none.
type outageTerm struct {
	retries   float64 // without a budget; +Inf without a limit
	budgeted  bool
	ratio     float64
	perSecond float64
}

// outage follows a call from the outside in. The terms are exact where all retries draw
// on one budget, or on none. A retry that its budget refuses also ends the retries
// outside, so with a budget further in the sum is an upper bound.
func (s stack) outage() outage {
	var o outage
	resends := 0.0 // per call, entering the layer at hand, if nothing is refused
	term := make(map[int]int)
	for i, l := range s {
		if l.desc.runs() == 1 {
			continue
		}
		further := float64(l.desc.runs() - 1)
		if l.desc.runs() == Unlimited {
			further = math.Inf(1)
		}
		added := further
		if !l.desc.OnlyFirst && resends > 0 {
			added += resends * further
		}
		resends += added
		at := s.budgetOf(i)
		ratio, perSecond, budgeted := s.grants(at)
		k, known := term[at]
		if !known || !budgeted {
			k = len(o.terms)
			term[at] = k
			o.terms = append(o.terms, outageTerm{budgeted: budgeted, ratio: ratio, perSecond: perSecond})
			o.atMost = o.atMost || budgeted && k > 0
		}
		o.terms[k].retries += added
	}
	return o
}

// budgeted reports whether a budget limits any of the retries.
func (o outage) budgeted() bool {
	return slices.ContainsFunc(o.terms, func(t outageTerm) bool { return t.budgeted })
}

// load is per call, at a rate of calls a second.
func (o outage) load(rate float64) float64 {
	load := 1.0
	for _, t := range o.terms {
		load += t.at(rate)
	}
	return load
}

// budgetOf is the position of the nearest budget around layer i, or -1.
func (s stack) budgetOf(i int) int {
	for k := i - 1; k >= 0; k-- {
		if _, ok := s[k].policy.(Budget); ok {
			return k
		}
	}
	return -1
}

// grants is what the budget at i grants; ok is false if it does not say so.
func (s stack) grants(i int) (ratio, perSecond float64, ok bool) {
	if i < 0 {
		return 0, 0, false
	}
	ratio, ok1 := param[float64](s[i].desc, "ratio")
	perSecond, ok2 := param[float64](s[i].desc, "min per second")
	if withdrawOnly, _ := param[bool](s[i].desc, "withdraw only"); withdrawOnly {
		ratio = 0 // this stack counts no requests
	}
	return ratio, perSecond, ok1 && ok2
}

// at is the term at a rate of calls a second.
func (t outageTerm) at(rate float64) float64 {
	if !t.budgeted {
		return t.retries
	}
	return min(t.retries, t.ratio+t.perSecond/rate)
}

// formula writes the load per call at r calls a second, "1 + min(2, 0.1 + 1/r)".
func (o outage) formula() string {
	var b strings.Builder
	b.WriteString("1")
	for _, t := range o.terms {
		b.WriteString(" + ")
		b.WriteString(t.formula())
	}
	return b.String()
}

func (t outageTerm) formula() string {
	retries := "∞"
	if !math.IsInf(t.retries, 1) {
		retries = fmt.Sprintf("%.4g", t.retries)
	}
	if !t.budgeted {
		return retries
	}
	grant := fmt.Sprintf("%.4g", t.ratio)
	switch {
	case t.perSecond > 0 && t.ratio == 0:
		grant = fmt.Sprintf("%.4g/r", t.perSecond)
	case t.perSecond > 0:
		grant += fmt.Sprintf(" + %.4g/r", t.perSecond)
	}
	if math.IsInf(t.retries, 1) {
		return grant
	}
	return "min(" + retries + ", " + grant + ")"
}
