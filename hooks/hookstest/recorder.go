package hookstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stoic-go/stoic/hooks"
)

// Recorder is a [hooks.Hook] that remembers every call of its methods, in order.
// The zero value is ready to use. It is safe for concurrent use; it must not be
// copied after its first use.
//
// Each Start returns a context of its own, so that the recorder can tell whether
// the End that follows belongs to it: see [Recorder.Check].
type Recorder struct {
	mu      sync.Mutex
	entries []Entry
	open    []*startContext // started and not ended, in order
	faults  []error
}

var _ hooks.Hook = (*Recorder)(nil)

// startContext is what Start returns; its address tells one start from another.
type startContext struct {
	context.Context //nolint:containedctx // it is a context

	op hooks.Op
}

// Start records the call and returns a new context that derives from ctx.
func (r *Recorder) Start(ctx context.Context, op hooks.Op) context.Context {
	started := &startContext{Context: ctx, op: op}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, Entry{Method: Start, Context: started, Op: op})
	r.open = append(r.open, started)
	return started
}

// End records the call.
func (r *Recorder) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	e := Entry{Method: End, Context: ctx, Op: op, Result: res}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	i := slices.IndexFunc(r.open, func(s *startContext) bool { return ctx == s })
	if i < 0 {
		r.fault("%s: its context is not one that Start returned and that has not ended", e)
		return
	}
	if r.open[i].op != op {
		r.fault("%s: it began as %s", e, Entry{Method: Start, Op: r.open[i].op})
	}
	r.open = slices.Delete(r.open, i, i+1)
}

// Event records the call.
func (r *Recorder) Event(ctx context.Context, e hooks.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, Entry{Method: Event, Context: ctx, Event: e})
}

// All returns a copy of all entries.
func (r *Recorder) All() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// TakeAll returns all entries and forgets them. Operations that have begun stay
// open, and [Recorder.Check] forgets nothing.
func (r *Recorder) TakeAll() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.entries
	r.entries = nil
	return all
}

// Strings returns [Entry.String] of all entries.
func (r *Recorder) Strings() []string {
	var lines []string
	for _, e := range r.All() {
		lines = append(lines, e.String())
	}
	return lines
}

// Events returns the events of the given kinds, in order; without kinds, all.
func (r *Recorder) Events(kinds ...hooks.EventKind) []hooks.Event {
	var events []hooks.Event
	for _, e := range r.All() {
		if e.Method == Event && (len(kinds) == 0 || slices.Contains(kinds, e.Event.Kind)) {
			events = append(events, e.Event)
		}
	}
	return events
}

// Ops returns the operations of the given kind that began, in order.
func (r *Recorder) Ops(kind hooks.OpKind) []hooks.Op {
	var ops []hooks.Op
	for _, e := range r.All() {
		if e.Method == Start && e.Op.Kind == kind {
			ops = append(ops, e.Op)
		}
	}
	return ops
}

// Open returns the number of operations that began and have not ended.
func (r *Recorder) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// Check returns what breaks the contract of Start and End, joined, or nil: a
// Start without an End, an End that has not the context that its Start returned
// or that comes twice, an End with another Op than its Start. Call it at the end
// of a test, when no call is running.
func (r *Recorder) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	faults := slices.Clone(r.faults)
	for _, s := range r.open {
		faults = append(faults, fmt.Errorf("%s: no end", Entry{Method: Start, Op: s.op}))
	}
	return errors.Join(faults...)
}

func (r *Recorder) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}
