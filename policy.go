package stoic

import (
	"context"
	"math"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

// Func is an operation that a stack protects. It must honour ctx: deadlines are
// cooperative, and a Func that ignores its context is waited for.
type Func func(ctx context.Context) error

// A Policy is one layer of a stack. Run calls next under the policy and returns
// its error, or the policy's own. It may call next never, once or several times. A
// layer that makes attempts is a [Describer] of [KindRetry]; see there what is its part.
//
// A Policy is used by many calls at once and must be safe for concurrent use. It
// may also implement [Describer], [Validator] and [Identifier].
type Policy interface {
	Run(ctx context.Context, next Next) error
}

// Next is the rest of the stack below the policy that holds it, down to the
// [Func] of this call. It is three words: pass it by value, keep it, call it from
// another goroutine. The zero Next returns an error.
type Next struct {
	slot    *slot // of the holder
	attempt uint32
	fn      Func
}

// Do runs what is below and returns its error.
//
// It is just small enough to be inlined (-gcflags=-m=2 tells), which spares a frame
// for each layer: a processor predicts returns well to a depth of about 16 only.
func (n Next) Do(ctx context.Context) error {
	if n.slot == nil {
		return errZeroNext
	}
	n.slot = n.slot.next
	return n.slot.policy.Run(ctx, n)
}

// call is the policy of the last slot: it runs the Func.
type call struct{}

func (call) Run(ctx context.Context, n Next) error {
	if n.attempt > 1 {
		ctx = context.WithValue(ctx, attemptKey{}, int(n.attempt))
	}
	return n.fn(ctx)
}

// attempt is the policy of the slot inside a retry, where somebody listens.
type attempt struct{}

func (attempt) Run(ctx context.Context, n Next) error {
	return n.track(ctx, n.slot.hook, hooks.KindAttempt)
}

// Attempt is the number of the attempt that the holder runs in: 1 for the first,
// above 1 exactly when a retry further out is sending the call again.
func (n Next) Attempt() int { return max(1, int(n.attempt)) }

// WithAttempt returns n for attempt k; a retry hands it down. k below 1 is 1.
func (n Next) WithAttempt(k int) Next {
	n.attempt = uint32(min(max(k, 1), math.MaxInt32))
	return n
}

// Budget is the nearest [Budget] around the holder, or nil. A retry asks it
// before each further attempt.
func (n Next) Budget() Budget {
	if n.slot == nil {
		return nil
	}
	return n.slot.budget
}

// Observed reports whether an [Observe] layer is around the holder. Ask it before
// work that only an event needs.
func (n Next) Observed() bool { return n.slot != nil && n.slot.hook != nil }

// Emit reports e to every [Observe] layer around the holder, outermost first, and
// fills Pipeline and Operation. It costs nothing when nobody listens. Call it
// with no lock held.
func (n Next) Emit(ctx context.Context, e hooks.Event) {
	if n.Observed() {
		n.emit(ctx, e)
	}
}

func (n Next) emit(ctx context.Context, e hooks.Event) {
	e.Pipeline = n.slot.p.name
	e.Operation = operation(ctx, n.slot.p.name)
	n.slot.hook.Event(ctx, e)
}

// Pipeline is the name of the pipeline that the holder is part of.
func (n Next) Pipeline() string {
	if n.slot == nil {
		return ""
	}
	return n.slot.p.name
}

// A Pipeline is a stack of policies around whatever is run through it. Make one
// per dependency with [New], at start-up, and use it for every call. It is
// immutable and safe for concurrent use.
type Pipeline struct {
	name   string
	born   time.Time
	layers []layer // as given, flattened; for pipelines that contain this one and for Explain
	slots  []slot  // one per layer that runs, and one for the Func
}

// slot is a place in the stack: what a Next needs to know about its holder, and what
// is below.
type slot struct {
	policy Policy // nil in the first slot, which is that of Pipeline.Do
	next   *slot  // nil in the last slot, which calls the Func
	p      *Pipeline
	hook   hooks.Hook // of the Observe layers around it, or nil
	budget Budget     // the nearest around it, or nil
}

// age is a clock for differences, at half the cost of time.Now.
func (p *Pipeline) age() time.Duration { return time.Since(p.born) }

// Name is the name given to [New].
func (p *Pipeline) Name() string { return p.name }

// Do runs fn under the policies and returns nil, the error of fn, or the error of
// the layer that ended the call. If ctx is already done, nothing happens at all,
// and the error matches ctx.Err() and [context.Cause].
func (p *Pipeline) Do(ctx context.Context, fn Func) error {
	if p == nil || p.slots == nil || fn == nil || ctx.Err() != nil {
		return p.refuse(ctx, fn)
	}
	err := Next{slot: &p.slots[0], fn: fn}.Do(ctx)
	if err == nil {
		return nil
	}
	return unmark(err)
}

// refuse says why nothing is called.
func (p *Pipeline) refuse(ctx context.Context, fn Func) error {
	if p == nil || p.slots == nil {
		return &InvalidError{Reason: "the pipeline was not made by New"}
	}
	if fn == nil {
		return &InvalidError{Pipeline: p.name, Field: "Do", Value: "nil", Reason: "needs a function to call"}
	}
	return &doneError{pipeline: p.name, err: ContextError(ctx)}
}

// Run makes a pipeline usable as a layer. [New] flattens a pipeline that is given
// to it as a layer, so there the layers of both become one stack. Run is for layers that
// choose a pipeline at call time: its layers then know the number of the attempt, but
// nothing of the Observe layers and the budget around, which New resolves.
func (p *Pipeline) Run(ctx context.Context, next Next) error {
	if p == nil || p.slots == nil {
		return &InvalidError{Reason: "the pipeline was not made by New"}
	}
	// The number of the attempt travels in the context. A stack around this one, of which
	// next knows nothing, may have put its own there: it is hidden inside p, and shown again
	// to a Func that is in a first attempt here.
	around := Attempt(ctx)
	inner := Next{slot: &p.slots[0], fn: func(ctx context.Context) error {
		attempt := max(next.Attempt(), Attempt(ctx))
		if attempt == 1 && around > 1 {
			ctx = context.WithValue(ctx, attemptKey{}, around)
		}
		return next.WithAttempt(attempt).Do(ctx)
	}}
	if around > 1 {
		ctx = context.WithValue(ctx, attemptKey{}, next.Attempt())
	}
	return inner.WithAttempt(next.Attempt()).Do(ctx)
}

// Wrap returns fn with the stack around it: calling the result is p.Do with fn.
func (p *Pipeline) Wrap(fn Func) Func {
	return func(ctx context.Context) error { return p.Do(ctx, fn) }
}
