package hookstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stoic-go/stoic/hooks"
)

// TestHook checks hooks made by newHook against the contract of [hooks.Hook]:
//
//	func TestMyHook(t *testing.T) {
//		hookstest.TestHook(t, func() hooks.Hook { return my.NewHook() })
//	}
//
// It runs one subtest, with a new hook, for each part of the contract:
//
//   - Start returns a context that derives from the one it was given: values are
//     reachable, the cancellation and its cause arrive, the deadline is not later.
//   - No method panics: not with zero or unknown values, not when the context is
//     done, not for operations inside each other, not for an event that arrives
//     after the end of its call.
//   - It may be used by many calls at once. Run the test with -race.
//   - A [hooks.Attacher] may be attached to no pipeline or to several, also while
//     calls are running, and leaves the layers as they are.
//
// What the hook is for, such as the metrics it counts, is for its own tests.
func TestHook(t *testing.T, newHook func() hooks.Hook) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, newHook())
		})
	}
}

// check is one part of the contract.
type check struct {
	name string
	f    func(p *probe)
}

func (c check) run(t reporter, h hooks.Hook) {
	t.Helper()
	if h == nil {
		t.Errorf("newHook returned nil")
		return
	}
	c.f(&probe{reporter: t, hook: h})
}

// reporter is what checks need of a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// probe calls a hook and reports what no call may do: to panic, to exit the
// goroutine, to return a nil context.
type probe struct {
	reporter

	hook hooks.Hook
}

func (p *probe) start(ctx context.Context, op hooks.Op) context.Context {
	p.Helper()
	var got context.Context
	returned := p.call(func() {
		got = p.hook.Start(ctx, op) //nolint:fatcontext // called once
	}, "Start with %+v", op)
	if got != nil {
		return got
	}
	if returned {
		p.Errorf("Start with %+v returned a nil context", op)
	}
	return ctx
}

func (p *probe) end(ctx context.Context, op hooks.Op, res hooks.Result) {
	p.Helper()
	p.call(func() { p.hook.End(ctx, op, res) }, "End with %+v, %+v", op, res)
}

func (p *probe) event(ctx context.Context, e hooks.Event) {
	p.Helper()
	p.call(func() { p.hook.Event(ctx, e) }, "Event with %+v", e)
}

func (p *probe) attach(a hooks.Attacher, pipeline string, layers []hooks.LayerInfo) {
	p.Helper()
	p.call(func() { a.Attach(pipeline, layers) }, "Attach to %q with %d layers", pipeline, len(layers))
}

func (p *probe) call(f func(), format string, args ...any) (returned bool) {
	p.Helper()
	defer func() {
		if returned {
			return
		}
		what := fmt.Sprintf(format, args...)
		if v := recover(); v != nil {
			p.Errorf("%s panicked: %v", what, v)
		} else {
			p.Errorf("%s called runtime.Goexit", what)
		}
	}()
	f()
	return true
}
