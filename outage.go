package stoic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// outage is the load that a stack sends in a total outage, per call: the first attempt,
// and what the retries add.
type outage struct {
	first  float64 // 1, or more where a layer sends copies
	terms  []outageTerm
	atMost bool // the sum is an upper bound
}

// outageTerm is the resends of the retries that draw on one budget, or without a limit of
// a retry that draws on none.
type outageTerm struct {
	copies    float64 // of each resend, by layers further in that send copies
	retries   float64 // that are asked for; +Inf without a limit
	budgeted  bool
	ratio     float64 // granted per call
	perSecond float64 // granted beside
	window    time.Duration
}

// outage follows a call from the outside in. The terms are exact where all retries draw
// on one budget, or on none. A retry that its budget refuses also ends the retries
// outside, so with a budget further in the sum is an upper bound.
func (s stack) outage() outage {
	o := outage{first: 1}
	resends := 0.0                 // per call, entering the layer at hand, if nothing is refused
	term := make(map[int]int)      // by the place of the budget
	asked := make(map[int]float64) // requests that a call is for a budget
	for i, l := range s {
		asked[i] = o.first
		switch {
		case l.desc.runs() == 1:
		case l.desc.Kind != KindRetry:
			copies := countOf(l.desc.runs())
			o.multiply(copies)
			resends *= copies
		default:
			further := countOf(l.desc.runs()) - 1
			added := o.first * further
			if !l.desc.OnlyFirst && resends > 0 {
				added += resends * further
			}
			resends += added
			at := s.budgetOf(i)
			if at < 0 {
				o.terms = append(o.terms, outageTerm{copies: 1, retries: added})
				continue
			}
			if _, known := term[at]; !known {
				term[at] = len(o.terms)
				o.addBudget(s[at].desc, asked[at])
			}
			o.terms[term[at]].retries += added
		}
	}
	return o
}

// countOf is n as a float, +Inf without a limit.
func countOf(n int) float64 {
	if n == Unlimited {
		return math.Inf(1)
	}
	return float64(n)
}

// multiply accounts for a layer that sends each run as up to so many copies.
func (o *outage) multiply(copies float64) {
	o.first *= copies
	for k := range o.terms {
		o.terms[k].copies *= copies
	}
	o.atMost = true
}

// addBudget begins the term of a budget that counts requests for each call. One that
// does not say what it grants bounds nothing here.
func (o *outage) addBudget(d Description, requests float64) {
	ratio, perSecond, ok := grants(d)
	if !ok {
		ratio = math.Inf(1)
	}
	window, _ := param[time.Duration](d, "window")
	o.atMost = o.atMost || len(o.terms) > 0 || !ok
	o.terms = append(o.terms, outageTerm{
		copies: 1, budgeted: true, ratio: ratio * requests, perSecond: perSecond, window: window,
	})
}

// grants is what a budget grants; ok is false if it does not say so.
func grants(d Description) (ratio, perSecond float64, ok bool) {
	ratio, ok1 := number(d, "ratio")
	perSecond, ok2 := number(d, "min per second")
	return ratio, perSecond, ok1 && ok2
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

// budgeted reports whether a budget limits any of the retries.
func (o outage) budgeted() bool {
	return slices.ContainsFunc(o.terms, func(t outageTerm) bool { return t.budgeted })
}

// load is per call, at a rate of calls a second.
func (o outage) load(rate float64) float64 {
	load := o.first
	for _, t := range o.terms {
		if n := t.at(rate); n > 0 {
			load += t.copies * n
		}
	}
	return load
}

// at is the term at a rate of calls a second, without the copies. A budget grants whole
// retries in each window, which matters where they are few.
func (t outageTerm) at(rate float64) float64 {
	if !t.budgeted {
		return t.retries
	}
	granted := t.ratio + t.perSecond/rate
	if w := t.window.Seconds(); w > 0 && !math.IsInf(granted, 1) {
		granted = math.Floor(granted*rate*w+1e-9) / (rate * w)
	}
	return min(t.retries, granted)
}

// formula writes the load per call at r calls a second, "1 + min(2, 0.1 + 1/r)".
func (o outage) formula() string {
	parts := []string{floatText(o.first)}
	for _, t := range o.terms {
		parts = append(parts, t.formula())
	}
	return strings.Join(parts, " + ")
}

func (t outageTerm) formula() string {
	if !t.budgeted || math.IsInf(t.ratio, 1) {
		return floatText(t.copies * t.retries)
	}
	var grant []string
	if t.ratio > 0 || t.perSecond == 0 {
		grant = append(grant, floatText(t.ratio))
	}
	if t.perSecond > 0 {
		grant = append(grant, floatText(t.perSecond)+"/r")
	}
	text := strings.Join(grant, " + ")
	switch unlimited := math.IsInf(t.retries, 1); {
	case !unlimited:
		text = "min(" + floatText(t.retries) + ", " + text + ")"
	case t.copies != 1:
		text = "(" + text + ")"
	}
	if t.copies != 1 {
		text = floatText(t.copies) + "·" + text
	}
	return text
}

func floatText(f float64) string {
	if math.IsInf(f, 1) {
		return "∞"
	}
	return fmt.Sprintf("%.4g", f)
}
