package hooks

import (
	"context"
	"slices"
)

// Join returns one [Hook] that calls each of hooks: Start and Event in the order
// given, End in reverse order. Nil entries are skipped. Joined hooks are taken
// apart, so that joining them again costs nothing. Join of one hook is that
// hook; Join of none is nil, which stoic.Observe takes for "nobody listens".
//
// Each Start gets the context that the one before it returned, and each End
// exactly the context that its own Start returned, so that two hooks may keep
// their state under the same key. What happens between Start and End is told to
// all of them with the innermost context: there a key that two hooks share has
// the value of the last.
//
// Every hook is called, whatever another one does. If a Start panics or calls
// [runtime.Goexit], the hooks already started get their End with the outcome
// [Panicked] or [Exited] and no duration, the panic's value included, and the
// panic goes on with its value unchanged. If an End, an Event or an Attach
// panics or exits, the other hooks still get theirs.
//
// The hook is an [Attacher] that forwards to those of hooks that are.
//
// Join does not allocate, except one small context for each Start in which a
// hook other than the first returns a new context.
func Join(hooks ...Hook) Hook {
	var joined Hook
	for _, h := range slices.Backward(hooks) {
		joined = prepend(h, joined)
	}
	return joined
}

func prepend(h, rest Hook) Hook {
	if h == nil {
		return rest
	}
	if rest == nil {
		return h
	}
	if p, ok := h.(*pair); ok {
		return &pair{first: p.first, rest: prepend(p.rest, rest)}
	}
	return &pair{first: h, rest: rest}
}

// pair joins two hooks. first is never a pair, rest may be one. That makes each
// method two calls and one defer, and the rules above hold by recursion.
type pair struct {
	first, rest Hook
}

var _ Attacher = (*pair)(nil)

func (p *pair) Start(ctx context.Context, op Op) context.Context {
	first := p.first.Start(ctx, op)
	rest := p.startRest(first, op)
	// A context of this very pair that comes back unchanged belongs to an
	// operation further out: End would take it for the one of this Start.
	if outer, ok := rest.(*pairContext); same(first, rest) && (!ok || outer.pair != p) {
		return rest
	}
	return &pairContext{Context: rest, pair: p, first: first}
}

// startRest starts the rest and ends the first again if that does not return.
func (p *pair) startRest(ctx context.Context, op Op) context.Context {
	returned := false
	defer func() {
		if returned {
			return
		}
		res := Result{Outcome: Exited}
		if v := recover(); v != nil {
			res = Result{Outcome: Panicked, Panic: v}
			defer panic(v)
		}
		p.first.End(ctx, op, res)
	}()
	rest := p.rest.Start(ctx, op)
	returned = true
	return rest
}

func (p *pair) End(ctx context.Context, op Op, res Result) {
	first, rest := ctx, ctx
	if c, ok := ctx.(*pairContext); ok && c.pair == p {
		first, rest = c.first, c.Context
	}
	defer p.first.End(first, op, res)
	p.rest.End(rest, op, res)
}

func (p *pair) Event(ctx context.Context, e Event) {
	defer p.rest.Event(ctx, e)
	p.first.Event(ctx, e)
}

func (p *pair) Attach(pipeline string, layers []LayerInfo) {
	defer attach(p.rest, pipeline, layers)
	attach(p.first, pipeline, layers)
}

func attach(h Hook, pipeline string, layers []LayerInfo) {
	if a, ok := h.(Attacher); ok {
		a.Attach(pipeline, layers)
	}
}

// pairContext is the context of the rest that remembers the one of the first.
type pairContext struct {
	context.Context //nolint:containedctx // it is a context

	pair  *pair
	first context.Context //nolint:containedctx // lives as long as the other
}

// same tells whether a and b are one context. Comparing contexts panics where
// their type cannot be compared; those count as different.
func same(a, b context.Context) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}
