package lab

import (
	"context"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// watcher is the hook around the stack of a process: it hears what breakers do and what
// the layers refuse.
type watcher struct {
	hooks.Nop

	w      *world
	needed bool // some layer may have something to say; a hook costs every attempt a tenth
}

var _ hooks.Attacher = (*watcher)(nil)

func (o *watcher) Attach(_ string, layers []hooks.LayerInfo) {
	for _, l := range layers {
		switch l.Kind {
		case stoic.KindRetry, stoic.KindDeadline, stoic.KindBenign, stoic.KindObserve:
		case stoic.KindBreaker:
			o.needed = true
			o.w.rec.breakers++
		default:
			o.needed = true
		}
	}
}

func (o *watcher) Event(_ context.Context, e hooks.Event) {
	if e.Kind != hooks.Reject && e.Kind != hooks.StateChange {
		return
	}
	now := o.w.now()
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	if o.w.over(now) {
		return
	}
	switch {
	case e.Kind == hooks.Reject && e.Policy == stoic.KindBudget:
		o.w.rec.at(now).retriesRefused++
	case e.Kind == hooks.Reject:
		o.w.rec.at(now).refusals++
	case e.From == hooks.StateClosed && e.To != hooks.StateClosed:
		o.w.rec.breaker(now, +1)
	case e.From != hooks.StateClosed && e.To == hooks.StateClosed:
		o.w.rec.breaker(now, -1)
	}
}
