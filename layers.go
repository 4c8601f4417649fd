package stoic

import (
	"context"
	"errors"
	"reflect"

	"github.com/stoic-go/stoic/hooks"
)

// PolicyFunc makes a layer from a function. It adds no allocation of its own. run
// must be safe for concurrent use. The name is for errors and explanations.
func PolicyFunc(name string, run func(ctx context.Context, next Next) error) Policy {
	return &policyFunc{name: name, run: run}
}

type policyFunc struct {
	name string
	run  func(ctx context.Context, next Next) error
}

func (p *policyFunc) Run(ctx context.Context, next Next) error {
	if p.run == nil {
		return p.Validate()
	}
	return p.run(ctx, next)
}

func (p *policyFunc) Describe() Description {
	return Description{Kind: KindFunc, Name: p.name, Opaque: true}
}

func (p *policyFunc) Validate() error {
	if p.run == nil {
		return &InvalidError{Field: "PolicyFunc", Value: "nil", Reason: "needs a function to run"}
	}
	return nil
}

// Middleware makes a layer from middleware of the usual form. wrap runs on every
// call, so state belongs outside it; it costs what wrap allocates, and one
// allocation for the function that it is given.
func Middleware(name string, wrap func(next Func) Func) Policy {
	return &middleware{name: name, wrap: wrap}
}

type middleware struct {
	name string
	wrap func(next Func) Func
}

func (m *middleware) Run(ctx context.Context, next Next) error {
	if m.wrap == nil {
		return m.Validate()
	}
	fn := m.wrap(next.Do)
	if fn == nil {
		return &InvalidError{
			Pipeline: next.Pipeline(), Field: "Middleware", Value: m.name, Reason: "its wrap function returned nil",
		}
	}
	return fn(ctx)
}

func (m *middleware) Describe() Description {
	return Description{Kind: KindMiddleware, Name: m.name, Opaque: true}
}

func (m *middleware) Validate() error {
	if m.wrap == nil {
		return &InvalidError{Field: "Middleware", Value: "nil", Reason: "needs a function that wraps the next one"}
	}
	return nil
}

// Observe reports everything inside it to h: the call itself, each attempt of the
// retries inside, and the events of the policies inside. Put it outermost to see
// whole calls. Several Observe layers may stand in one stack; each sees what is
// inside it. A nil h listens to nothing, and the layer costs nothing; nor does one whose
// h listens further out already, as happens when stacks with one hook are nested: a hook
// is told of everything once.
func Observe(h hooks.Hook) Policy { return &observer{hook: h} }

type observer struct{ hook hooks.Hook }

func (o *observer) Run(ctx context.Context, next Next) error {
	return next.track(ctx, o.hook, hooks.KindCall)
}

// isTheHook reports whether h is the hook of this layer.
func (o *observer) isTheHook(h hooks.Hook) bool {
	return reflect.ValueOf(h).Comparable() && reflect.ValueOf(o.hook).Comparable() && h == o.hook
}

func (o *observer) Describe() Description { return Description{Kind: KindObserve} }

func (o *observer) Validate() error {
	if o.hook != nil && isNil(o.hook) {
		return &InvalidError{Field: "Observe", Value: "nil", Reason: "the hook is a nil pointer; pass a nil interface to observe nothing"}
	}
	return nil
}

// track runs what is below n between a Start and an End of h.
func (n Next) track(ctx context.Context, h hooks.Hook, kind hooks.OpKind) (err error) {
	op := hooks.Op{Kind: kind, Pipeline: n.slot.p.name, Operation: operation(ctx, n.slot.p.name), Attempt: n.Attempt()}
	inner := h.Start(ctx, op)
	if inner == nil {
		inner = ctx
	}
	start := n.slot.p.age()
	res := hooks.Result{Outcome: hooks.Exited}
	defer func() {
		res.Duration = n.slot.p.age() - start
		if res.Outcome == hooks.Exited {
			if v := recover(); v != nil {
				res.Outcome, res.Panic = hooks.Panicked, v
				defer panic(v) // also when End panics: the operation's panic is the one to see
			}
		}
		h.End(inner, op, res)
	}()
	err = n.Do(inner)
	res.Outcome, res.Err = outcomeOf(ctx, err), unmark(err) // the methods of err may panic
	return err
}

func outcomeOf(ctx context.Context, err error) hooks.Outcome {
	switch VerdictOf(ctx, err) {
	case Success:
		return hooks.Succeeded
	case Neutral:
		if errors.Is(ctx.Err(), context.Canceled) {
			return hooks.Canceled
		}
		return hooks.Rejected
	default:
		return hooks.Failed
	}
}
