package hooks

import "context"

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
// If a Start panics or calls [runtime.Goexit], the hooks after it are not started
// and those before it get their End, with the outcome [Panicked] and the value of
// the panic, or [Exited], and no duration. Then the panic goes on, its value
// unchanged. If an End, an Event or an Attach panics or exits, the other hooks
// still get theirs.
//
// The hook is an [Attacher] that forwards to those of hooks that are.
//
// The joined hook does not allocate where only the first hook returns contexts of
// its own; else it makes at most one small context for each Start of a later one.
func Join(hooks ...Hook) Hook {
	var joined Hook
	for _, h := range hooks {
		joined = join(joined, h)
	}
	return joined
}

func join(front, h Hook) Hook {
	if h == nil {
		return front
	}
	if front == nil {
		return h
	}
	if p, ok := h.(*pair); ok {
		return &pair{front: join(front, p.front), last: p.last}
	}
	return &pair{front: front, last: h}
}

// pair joins two hooks. front may be a pair again, last never is one. That makes
// each method two calls and one defer, and the rules above hold by recursion.
type pair struct {
	front, last Hook
}

var _ Attacher = (*pair)(nil)

func (p *pair) Start(ctx context.Context, op Op) context.Context {
	front := orGiven(p.front.Start(ctx, op), ctx)
	last := orGiven(p.startLast(front, op), front)
	// A context of this very pair that comes back unchanged belongs to an
	// operation further out: End would take it for the one of this Start.
	if outer, ok := last.(*pairContext); same(front, last) && (!ok || outer.pair != p) {
		return last
	}
	return &pairContext{Context: last, pair: p, front: front}
}

// startLast starts the last and ends the front again if that does not return.
func (p *pair) startLast(ctx context.Context, op Op) context.Context {
	returned := false
	defer func() {
		if returned {
			return
		}
		res := Result{Outcome: Exited}
		if v := recover(); v != nil {
			res = Result{Outcome: Panicked, Panic: v}
			defer panic(v) // also when End panics: this is the one to see
		}
		p.front.End(ctx, op, res)
	}()
	last := p.last.Start(ctx, op)
	returned = true
	return last
}

func (p *pair) End(ctx context.Context, op Op, res Result) {
	front, last := p.contexts(ctx)
	defer p.front.End(front, op, res)
	p.last.End(last, op, res)
}

// contexts returns what the two Starts returned, from what Start made of it.
func (p *pair) contexts(ctx context.Context) (front, last context.Context) {
	if c, ok := ctx.(*pairContext); ok && c.pair == p {
		return c.front, c.Context
	}
	return ctx, ctx
}

func (p *pair) Event(ctx context.Context, e Event) {
	defer p.last.Event(ctx, e)
	p.front.Event(ctx, e)
}

func (p *pair) Attach(pipeline string, layers []LayerInfo) {
	defer attach(p.last, pipeline, layers)
	attach(p.front, pipeline, layers)
}

func attach(h Hook, pipeline string, layers []LayerInfo) {
	if a, ok := h.(Attacher); ok {
		a.Attach(pipeline, layers)
	}
}

// pairContext is the context of the last that remembers the one of the front.
type pairContext struct {
	context.Context //nolint:containedctx // it is a context

	pair  *pair
	front context.Context //nolint:containedctx // lives as long as the other
}

// orGiven lets a hook return no context, as an Observe layer does: one that works
// alone works among others.
func orGiven(returned, given context.Context) context.Context {
	if returned == nil {
		return given
	}
	return returned
}

// same tells whether a and b are one context. Comparing contexts panics where
// their type cannot be compared; those count as different.
func same(a, b context.Context) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}
