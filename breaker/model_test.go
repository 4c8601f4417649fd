package breaker_test

import (
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

// rules are the settings of a model; 0 switches a rule off.
type rules struct {
	row          int
	rate         float64
	minCalls     int
	window       time.Duration
	lastRate     float64
	last         int
	open         time.Duration
	probes       int
	probeTimeout time.Duration
}

// model is the breaker as its documentation has it, for one call at a time.
type model struct {
	rules

	state   breaker.State
	life    int       // how often the state has changed
	since   time.Time // the state began
	calls   []counted // in the window, oldest first
	row     int       // failures
	out     map[int]time.Time
	won     int
	changes []string
}

type counted struct {
	slot   int
	failed bool
}

func (m *model) change(to breaker.State, now time.Time) {
	m.changes = append(m.changes, m.state.String()+"->"+to.String())
	*m = model{rules: m.rules, state: to, life: m.life + 1, since: now, out: map[int]time.Time{}, changes: m.changes}
}

func (m *model) now(now time.Time) breaker.State {
	if m.state == breaker.Open && now.Sub(m.since) > m.open {
		return breaker.HalfOpen
	}
	return m.state
}

// begin says whether the call is admitted, and if not when to come again.
func (m *model) begin(id int, now time.Time) (bool, time.Duration) {
	if m.now(now) != m.state {
		m.change(breaker.HalfOpen, now)
	}
	for _, start := range m.out {
		if now.Sub(start) > m.probeTimeout {
			m.change(breaker.Open, now)
			break
		}
	}
	switch {
	case m.state == breaker.Closed:
		return true, 0
	case m.state == breaker.Open:
		return false, m.since.Add(m.open).Sub(now) + 1
	case len(m.out)+m.won >= m.probes:
		return false, 0
	}
	m.out[id] = now
	return true, 0
}

// end takes the verdict on a call that was admitted in that life.
func (m *model) end(id, life int, v stoic.Verdict, now time.Time) {
	if life != m.life {
		return
	}
	delete(m.out, id)
	switch {
	case v == stoic.Neutral:
	case m.state == breaker.Closed:
		m.count(v == stoic.Failure, now)
		if v == stoic.Failure && m.trips() {
			m.change(breaker.Open, now)
		}
	case v == stoic.Failure:
		m.change(breaker.Open, now)
	default:
		if m.won++; m.won == m.probes {
			m.change(breaker.Closed, now)
		}
	}
}

func (m *model) count(failed bool, now time.Time) {
	m.row++
	if !failed {
		m.row = 0
	}
	slot := 0
	if m.window > 0 {
		slot = int(now.Sub(m.since) / (m.window / 10))
	}
	m.calls = append(m.calls, counted{slot, failed})
}

// inWindow are the calls of the last ten slots.
func (m *model) inWindow() []counted {
	for i, c := range m.calls {
		if m.window == 0 || c.slot > m.calls[len(m.calls)-1].slot-10 {
			return m.calls[i:]
		}
	}
	return nil
}

func (m *model) trips() bool {
	window, last := m.inWindow(), m.calls[max(0, len(m.calls)-m.last):]
	return m.rules.row > 0 && m.row >= m.rules.row ||
		m.rate > 0 && len(window) >= m.minCalls && rateOf(window) >= m.rate ||
		m.last > 0 && 2*len(last) >= m.last && rateOf(last) >= m.lastRate
}

func (m *model) counts() breaker.Counts {
	c := breaker.Counts{Successes: m.won, ConsecutiveFailures: m.row}
	for _, call := range m.inWindow() {
		if call.failed {
			c.Failures++
		} else {
			c.Successes++
		}
	}
	return c
}

func rateOf(calls []counted) float64 {
	failures := 0.0
	for _, c := range calls {
		if c.failed {
			failures++
		}
	}
	return failures / float64(len(calls))
}
