package otelhooks

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
)

// breakers is the state that each breaker was last seen in, which is what the status
// metric says when it is collected. It is fed by what happens and asks no breaker later,
// so that collecting metrics moves none.
type breakers struct {
	mu       sync.Mutex
	all      []*breakerState
	byPolicy map[any]*breakerState     // one for each breaker, in however many pipelines it is
	byPlace  map[place][]*breakerState // those that an event may be about
}

type breakerState struct{ name, state string } // as the metric spells them

// place is where an event says that it comes from.
type place struct{ pipeline, name string }

// attachBreaker makes the series of a breaker that was not seen before, with the state
// that it is in: it may be shared with a stack that has used it already.
func (h *Hook) attachBreaker(pipeline string, l hooks.LayerInfo) {
	state := hooks.StateClosed
	if b, ok := l.Policy.(interface{ State() breaker.State }); ok {
		state = b.State().String()
	}
	h.breakers.attach(place{pipeline, l.Name}, l.Policy, stateName(state))
}

// attach notes that the breaker is at that place, and the state of a new one.
func (b *breakers) attach(at place, policy any, state string) {
	comparable := reflect.ValueOf(policy).Comparable()
	b.mu.Lock()
	defer b.mu.Unlock()
	var s *breakerState
	if comparable {
		s = b.byPolicy[policy]
	}
	if s == nil {
		s = b.add(at, state)
	}
	if comparable {
		if b.byPolicy == nil {
			b.byPolicy = make(map[any]*breakerState)
		}
		b.byPolicy[policy] = s
	}
	if !slices.Contains(b.byPlace[at], s) { // else a pipeline of the same name was made of it before
		b.byPlace[at] = append(b.byPlace[at], s)
	}
}

// add makes a breaker that was not seen before. The lock is held.
func (b *breakers) add(at place, state string) *breakerState {
	s := &breakerState{name: policyName(stoic.KindBreaker, at.name), state: state}
	b.all = append(b.all, s)
	if b.byPlace == nil {
		b.byPlace = make(map[place][]*breakerState)
	}
	b.byPlace[at] = append(b.byPlace[at], s)
	return s
}

// change notes that a breaker went from one state to another. Of several of one name in
// one pipeline it is one that was in from; else it changed in a stack that no hook
// observes. One that nobody attached was chosen at call time.
func (b *breakers) change(at place, from, to string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := b.byPlace[at]
	if len(states) == 0 {
		b.add(at, to)
		return
	}
	in := slices.IndexFunc(states, func(s *breakerState) bool { return s.state == from })
	states[max(in, 0)].state = to
}

// count is how many breakers of each name are in each state.
func (b *breakers) count() map[breakerState]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := make(map[breakerState]int64, 3*len(b.all))
	for _, s := range b.all {
		for _, state := range []string{hooks.StateClosed, hooks.StateHalfOpen, hooks.StateOpen} {
			n[breakerState{s.name, stateName(state)}] += 0 // the series is there
		}
		n[*s]++
	}
	return n
}

// observeBreakers is called by the meter when it collects.
func (h *Hook) observeBreakers(_ context.Context, to metric.Observer) error {
	for s, n := range h.breakers.count() {
		to.ObserveInt64(h.breakerStatus, n, inState(s.name, s.state))
	}
	return nil
}

func (h *Hook) stateChanged(ctx context.Context, o *operation, e hooks.Event) {
	name, from, to := policyName(e.Policy, e.Name), stateName(e.From), stateName(e.To)
	h.breakers.change(place{e.Pipeline, e.Name}, from, to)
	h.transitions.Add(ctx, 1, inState(name, to))
	if o != nil && o.span != nil && o.span.IsRecording() {
		o.span.AddEvent(eventStateChange, trace.WithAttributes(
			keyPolicy.String(name), keyState.String(to), keyPreviousState.String(from)))
	}
}

func inState(name, state string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(keyPolicy.String(name), keyState.String(state)))
}
