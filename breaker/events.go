package breaker

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// transition is a state change that waits to be reported.
type transition struct {
	from, to State
	owner    *outcome // the call that caused it; nil for ForceOpen and the like
	forced   bool
}

// queue reports state changes in order, one at a time, with no lock held: a hook may
// call the breaker, be slow, or panic. Whoever finds changes reports them, each to the
// hooks of the call that caused it; while somebody does, nobody else waits for it. A
// hook that panics leaves the rest to the next call.
type queue struct {
	pending atomic.Int32

	mu      sync.Mutex
	items   []transition
	working bool
	told    State // the state after the last of the items ever added
}

func (q *queue) waiting() bool { return q.pending.Load() > 0 }

// add appends a change of core c, unless c has been replaced: nobody is in that state.
// It may run under gobreaker's lock.
func (q *queue) add(c *core, t transition) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.b.core.Load() == c {
		q.append(t)
	}
}

func (q *queue) append(t transition) {
	q.told = t.to
	q.items = append(q.items, t)
	q.pending.Add(1)
}

// replace puts fresh into at, and appends the change of state that this is. to is the
// state of fresh before a call can reach it and change it.
func (q *queue) replace(at *atomic.Pointer[core], fresh *core, to State) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at.Store(fresh)
	if to != q.told {
		q.append(transition{from: q.told, to: to, forced: true})
	}
}

// deliver reports what waits; ctx and next are of the call that found it.
func (q *queue) deliver(ctx context.Context, b *Breaker, next stoic.Next) {
	q.mu.Lock()
	if q.working {
		q.mu.Unlock()
		return
	}
	q.working = true
	defer func() { // the lock is held here, on every way out
		q.working = false
		q.mu.Unlock()
	}()
	for len(q.items) > 0 {
		t := q.items[0]
		q.items[0] = transition{} // keeps nothing of its call alive
		q.items = q.items[1:]
		q.pending.Add(-1)
		if t.owner == nil {
			t.owner = &outcome{ctx: ctx, next: next}
		}
		q.report(b, t)
	}
}

// report calls the hooks without the lock and takes it again, also when they panic.
func (q *queue) report(b *Breaker, t transition) {
	q.mu.Unlock()
	defer q.mu.Lock()
	e := hooks.Event{
		Kind: hooks.StateChange, Policy: stoic.KindBreaker, Name: b.name, From: t.from.String(), To: t.to.String(),
	}
	if t.forced {
		e.Reason = "forced"
	}
	e.Attempt = t.owner.next.Attempt()
	t.owner.next.Emit(t.owner.ctx, e)
}
