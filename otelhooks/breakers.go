package otelhooks

import (
	"context"
	"reflect"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
)

// breakers is the state that each breaker was last seen in, which is what the status
// metric says. It is fed by what happens and asks no breaker later, so that collecting
// metrics moves none.
type breakers struct {
	mu       sync.Mutex
	byPolicy map[any]*breakerState     // one for each breaker, in however many pipelines it is
	byPlace  map[place][]*breakerState // those that an event may be about
}

type breakerState struct{ name, state string }

// place is where an event says that it comes from.
type place struct{ pipeline, name string }

// attachBreaker makes the series of a breaker that was not seen before, with the state
// that it is in: it may be shared with a stack that has used it already.
func (h *Hook) attachBreaker(pipeline string, l hooks.LayerInfo) {
	state := hooks.StateClosed
	if b, ok := l.Policy.(interface{ State() breaker.State }); ok {
		state = b.State().String()
	}
	if b, fresh := h.breakers.attach(place{pipeline, l.Name}, l.Policy, stateName(state)); fresh {
		h.showBreaker(context.Background(), b)
	}
}

// attach notes that the breaker is at that place, and reports whether it is new.
func (b *breakers) attach(at place, policy any, state string) (s *breakerState, fresh bool) {
	comparable := reflect.ValueOf(policy).Comparable()
	b.mu.Lock()
	defer b.mu.Unlock()
	if comparable {
		s = b.byPolicy[policy]
	}
	if fresh = s == nil; fresh {
		s = &breakerState{name: at.name, state: state}
	}
	for _, there := range b.byPlace[at] {
		if there == s {
			return s, false // a pipeline of the same name was made of it before
		}
	}
	if b.byPlace == nil {
		b.byPolicy, b.byPlace = make(map[any]*breakerState), make(map[place][]*breakerState)
	}
	if comparable {
		b.byPolicy[policy] = s
	}
	b.byPlace[at] = append(b.byPlace[at], s)
	return s, fresh
}

// change notes that a breaker went to a state and returns the one that it was last seen
// in: changes that no hook was told of, in another stack, are made up for. Of several
// breakers of one name in one pipeline it is one that was in from.
func (b *breakers) change(at place, from, to string) (last string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := b.byPlace[at]
	if len(states) == 0 {
		return from, false
	}
	s := states[0]
	for _, other := range states {
		if other.state == from {
			s = other
			break
		}
	}
	last, s.state = s.state, to
	return last, true
}

// showBreaker makes the three series: 1 for the state, 0 for the others.
func (h *Hook) showBreaker(ctx context.Context, b *breakerState) {
	for _, state := range []string{hooks.StateClosed, hooks.StateHalfOpen, hooks.StateOpen} {
		var one int64
		if stateName(state) == b.state {
			one = 1
		}
		h.breakerStatus.Add(ctx, one, inState(b.name, stateName(state)))
	}
}

func (h *Hook) stateChanged(ctx context.Context, o *operation, e hooks.Event) {
	name, from, to := policyName(e.Policy, e.Name), stateName(e.From), stateName(e.To)
	at := place{e.Pipeline, e.Name}
	last, known := h.breakers.change(at, from, to)
	if !known { // chosen at call time, so that nobody attached it
		if b, fresh := h.breakers.attach(at, &breakerState{}, to); fresh {
			h.showBreaker(ctx, b)
		}
	} else if last != to {
		h.breakerStatus.Add(ctx, -1, inState(name, last))
		h.breakerStatus.Add(ctx, 1, inState(name, to))
	}
	h.transitions.Add(ctx, 1, inState(name, to))
	if o != nil && o.span != nil && o.span.IsRecording() {
		o.span.AddEvent(eventStateChange, trace.WithAttributes(
			keyPolicy.String(name), keyState.String(to), keyPreviousState.String(from)))
	}
}

func inState(name, state string) metric.AddOption {
	return metric.WithAttributeSet(attribute.NewSet(keyPolicy.String(name), keyState.String(state)))
}
