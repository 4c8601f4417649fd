package stoic

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Explanation is what a stack does: in words per layer, and its worst case in numbers.
// String prints it for a terminal; it marshals to JSON; Mermaid draws it.
type Explanation struct {
	Pipeline string             `json:"pipeline"`
	Layers   []LayerExplanation `json:"layers"` // outermost first
	Worst    WorstCase          `json:"worst_case"`
	Outage   Outage             `json:"total_outage"`

	// LowerBounds says that a layer does not say all that it may do, so that the numbers
	// are the least that the worst case can be.
	LowerBounds bool `json:"lower_bounds"`
}

// LayerExplanation is one layer and what it does at its place.
type LayerExplanation struct {
	Number   int     `json:"number"` // from 1
	Kind     string  `json:"kind"`
	Name     string  `json:"name,omitempty"`
	Within   string  `json:"within,omitempty"` // the nested pipeline that it came from
	Params   []Param `json:"params,omitempty"`
	Sentence string  `json:"sentence"`
	Opaque   bool    `json:"opaque,omitempty"`
	Repeats  bool    `json:"repeats,omitempty"` // it may run what is inside more than once
}

// WorstCase is the most that one call does. It holds for an operation that honours its
// context. In JSON a number without a limit is null.
type WorstCase struct {
	// Attempts is the most times the Func is called; [Unlimited] without a limit.
	Attempts int

	// Time is the most a call takes, when every attempt ends at the last moment of its
	// deadline and every wait is at its ceiling; [Forever] without a limit. TimeHinted is
	// the same when each error also asks for the longest wait that is heeded; a retry that
	// tries refusals again heeds what those ask for, also in Time.
	Time       time.Duration
	TimeHinted time.Duration

	// Waits is what the stack adds by itself: the backoff ceilings and the limiter waits
	// of all attempts, deadlines left out. Without the deadlines, a call takes at most
	// this and Attempts times what the operation takes.
	Waits time.Duration

	// TooLate are the attempts that cannot happen because a deadline comes first.
	TooLate []TooLate
}

// TooLate is a range of attempts of a retry that would start at the deadline around it
// or later.
type TooLate struct {
	Layer    int           // the number of the retry
	From, To int           // attempts; To is Unlimited without a limit
	Deadline time.Duration // the one around the retry

	// FailingAtOnce is true when the waits alone are too long, at their ceilings. Else it
	// takes attempts that use up their own deadlines.
	FailingAtOnce bool
}

// Outage is the load that the stack sends per call while every attempt fails at once: 1
// is one attempt per call. A breaker that opens, a limit that refuses and a deadline that
// comes first make it less. The calls a second are those of all stacks that share the
// budget; where a stack only draws on it, the requests counted elsewhere are taken to be
// one for each call.
type Outage struct {
	WithoutBudget float64  // +Inf without a limit
	Formula       string   // with the budget, at r calls a second: "1 + min(2, 0.1 + 1/r)", in whole retries per window
	At            []LoadAt // with the budget, at 10, 100 and 1000 calls a second

	// AtMost says that the numbers with the budget are upper bounds, and may be far above
	// what happens: a budget around an inner retry, when it refuses, ends the outer one
	// too; a layer may send fewer copies than it could; a budget does not say what it
	// grants.
	AtMost bool

	// Budgeted says that a budget limits retries.
	Budgeted bool
}

// LoadAt is the load per call at a rate of calls a second.
type LoadAt struct {
	Rate float64
	Load float64 // +Inf without a limit
}

// Explain says what the stack does. It reads only what New has kept; calls cost nothing
// for it.
func (p *Pipeline) Explain() Explanation {
	s := p.stack()
	e := Explanation{Pipeline: p.name, Worst: s.worst(), Outage: s.explainOutage()}
	for i, l := range s {
		e.Layers = append(e.Layers, LayerExplanation{
			Number: i + 1, Kind: l.desc.Kind, Name: l.desc.Name, Within: l.within,
			Params: slices.Clone(l.desc.Params), Sentence: s.sentence(i), Opaque: l.desc.Opaque,
			Repeats: l.desc.runs() > 1,
		})
		e.LowerBounds = e.LowerBounds || l.desc.Opaque
	}
	return e
}

func (s stack) worst() WorstCase {
	hang := timing{operation: Forever, deadlines: true}
	hinted := hang
	hinted.hints = true
	w := WorstCase{
		Attempts:   s.attempts(0, firstAttempt),
		Time:       s.time(0, firstAttempt, hang),
		TimeHinted: s.time(0, firstAttempt, hinted),
		Waits:      s.time(0, firstAttempt, timing{}),
	}
	for _, i := range s.retries() {
		if late, ok := s.tooLate(i); ok {
			w.TooLate = append(w.TooLate, late)
		}
	}
	return w
}

// tooLate prefers what holds for every operation to what takes a slow one.
func (s stack) tooLate(i int) (TooLate, bool) {
	for _, atOnce := range []bool{true, false} {
		t := timing{operation: Forever, deadlines: true}
		if atOnce {
			t.operation = 0
		}
		if from, limit := s.firstTooLate(i, t); from > 0 {
			return TooLate{Layer: i + 1, From: from, To: s[i].desc.runs(), Deadline: limit, FailingAtOnce: atOnce}, true
		}
	}
	return TooLate{}, false
}

func (s stack) explainOutage() Outage {
	terms := s.outage()
	o := Outage{
		WithoutBudget: countOf(s.attempts(0, firstAttempt)),
		Formula:       terms.formula(),
		AtMost:        terms.atMost,
		Budgeted:      terms.budgeted(),
	}
	for _, rate := range []float64{10, 100, 1000} {
		o.At = append(o.At, LoadAt{Rate: rate, Load: terms.load(rate)})
	}
	return o
}

// MarshalJSON writes durations as text and null for what has no limit.
func (w WorstCase) MarshalJSON() ([]byte, error) {
	type tooLate struct {
		Layer         int    `json:"layer"`
		From          int    `json:"from"`
		To            *int   `json:"to"`
		Deadline      string `json:"deadline"`
		FailingAtOnce bool   `json:"failing_at_once"`
	}
	late := make([]tooLate, len(w.TooLate))
	for i, t := range w.TooLate {
		late[i] = tooLate{t.Layer, t.From, limitedInt(t.To), t.Deadline.String(), t.FailingAtOnce}
	}
	return json.Marshal(struct {
		Attempts   *int      `json:"attempts"`
		Time       *string   `json:"time"`
		TimeHinted *string   `json:"time_hinted"`
		Waits      *string   `json:"waits"`
		TooLate    []tooLate `json:"too_late"`
	}{limitedInt(w.Attempts), limitedTime(w.Time), limitedTime(w.TimeHinted), limitedTime(w.Waits), late})
}

// MarshalJSON writes null for what has no limit.
func (o Outage) MarshalJSON() ([]byte, error) {
	type loadAt struct {
		Rate float64  `json:"calls_per_second"`
		Load *float64 `json:"load"`
	}
	at := make([]loadAt, len(o.At))
	for i, l := range o.At {
		at[i] = loadAt{l.Rate, limitedFloat(l.Load)}
	}
	return json.Marshal(struct {
		WithoutBudget *float64 `json:"without_budget"`
		Formula       string   `json:"formula"`
		At            []loadAt `json:"at"`
		AtMost        bool     `json:"at_most"`
		Budgeted      bool     `json:"budgeted"`
	}{limitedFloat(o.WithoutBudget), o.Formula, at, o.AtMost, o.Budgeted})
}

func limitedInt(n int) *int {
	if n == Unlimited {
		return nil
	}
	return &n
}

func limitedTime(d time.Duration) *string {
	if d == Forever {
		return nil
	}
	text := d.String()
	return &text
}

func limitedFloat(f float64) *float64 {
	if math.IsInf(f, 0) {
		return nil
	}
	return &f
}
