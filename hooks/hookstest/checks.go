package hookstest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

func checks() []check {
	return []check{
		{"derived context", checkDerived},
		{"done context", checkDone},
		{"all values", checkValues},
		{"nesting", checkNesting},
		{"late event", checkLate},
		{"concurrency", checkConcurrency},
		{"attach", checkAttach},
	}
}

// unknown is a kind or an outcome that some later version may have.
const unknown = 200

// patience is how long a context may take to follow its parent.
const patience = 5 * time.Second

var errProbe = errors.New("hookstest: the operation failed")

type contextKey struct{}

func call() hooks.Op {
	return hooks.Op{Kind: hooks.KindCall, Pipeline: "payments", Operation: "charge", Attempt: 1}
}

func attempt(n int) hooks.Op {
	return hooks.Op{Kind: hooks.KindAttempt, Pipeline: "payments", Operation: "charge", Attempt: n}
}

func retried(n int) hooks.Event {
	return hooks.Event{
		Kind: hooks.Retry, Pipeline: "payments", Operation: "charge", Policy: "retry",
		Attempt: n, Delay: time.Second, Err: errProbe,
	}
}

func checkDerived(p *probe) {
	for _, op := range []hooks.Op{call(), attempt(1), attempt(2), {}, {Kind: unknown}} {
		deadline := time.Now().Add(time.Hour)
		parent, stop := context.WithDeadline(context.WithValue(context.Background(), contextKey{}, op), deadline)
		parent, cancel := context.WithCancelCause(parent)

		got := p.start(parent, op)
		if v := got.Value(contextKey{}); v != op {
			p.Errorf("Start with %+v: a value of the context it was given is %v in the one it returned", op, v)
		}
		if d, ok := got.Deadline(); !ok || d.After(deadline) {
			p.Errorf("Start with %+v: the deadline %v became %v, %t", op, deadline, d, ok)
		}
		if err := got.Err(); err != nil {
			p.Errorf("Start with %+v returned a context that is done: %v", op, err)
		}
		cancel(errProbe)
		p.follows(got, op)

		p.end(got, op, hooks.Result{Outcome: hooks.Canceled, Err: errProbe, Duration: time.Second})
		stop()
	}
}

// follows checks that the cancellation of its parent reaches ctx.
func (p *probe) follows(ctx context.Context, op hooks.Op) {
	p.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-ctx.Done():
	case <-timeout.C:
		p.Errorf("Start with %+v returned a context that is not canceled with the one it was given", op)
		return
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errProbe) {
		p.Errorf("Start with %+v: the cause %v became %v", op, errProbe, cause)
	}
}

func checkDone(p *probe) {
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(errProbe)
	expired, stop := context.WithDeadline(context.Background(), time.Now().Add(-time.Hour))
	defer stop()
	for _, ctx := range []context.Context{canceled, expired} {
		started := p.start(ctx, call())
		if started.Err() == nil {
			p.Errorf("Start with a context that is done returned one that is not")
		}
		p.event(started, retried(1))
		p.end(started, call(), hooks.Result{Outcome: hooks.Canceled, Err: ctx.Err()})
	}
}

func checkValues(p *probe) {
	for kind := range hooks.Waited + 2 {
		if kind > hooks.Waited {
			kind = unknown
		}
		full := retried(2)
		full.Kind, full.Name, full.Reason, full.From, full.To = kind, "api", hooks.StopMaxAttempts, "closed", "open"
		ctx := p.start(context.Background(), call())
		p.event(ctx, hooks.Event{Kind: kind})
		p.event(ctx, full)
		p.end(ctx, call(), hooks.Result{Outcome: hooks.Succeeded})
	}
	for outcome := range hooks.Exited + 2 {
		if outcome > hooks.Exited {
			outcome = unknown
		}
		for _, op := range []hooks.Op{call(), attempt(1), attempt(2), {}, {Kind: unknown}} {
			for _, res := range []hooks.Result{
				{},
				{Err: errProbe, Duration: time.Second},
				{Panic: 1},
			} {
				res.Outcome = outcome
				p.end(p.start(context.Background(), op), op, res)
			}
		}
	}
}

// checkNesting makes a call with two attempts, the first with a call inside.
func checkNesting(p *probe) {
	outer := p.start(context.WithValue(context.Background(), contextKey{}, "outer"), call())

	first := p.start(outer, attempt(1))
	if v := first.Value(contextKey{}); v != "outer" {
		p.Errorf("Start of an attempt: a value of the context of its call is %v", v)
	}
	inner := p.start(first, call())
	p.end(inner, call(), hooks.Result{Outcome: hooks.Failed, Err: errProbe})
	p.end(first, attempt(1), hooks.Result{Outcome: hooks.Failed, Err: errProbe})
	p.event(outer, retried(1))

	second := p.start(outer, attempt(2))
	p.end(second, attempt(2), hooks.Result{Outcome: hooks.Succeeded})
	p.end(outer, call(), hooks.Result{Outcome: hooks.Succeeded})
}

// checkLate delivers the event of a breaker after the end of the call that
// caused it, which happens when another call delivers it.
func checkLate(p *probe) {
	ctx := p.start(context.Background(), call())
	p.end(ctx, call(), hooks.Result{Outcome: hooks.Failed, Err: errProbe})
	p.event(ctx, hooks.Event{
		Kind: hooks.StateChange, Pipeline: "payments", Operation: "charge", Policy: "breaker", Name: "api",
		From: "closed", To: "open",
	})
}

func checkConcurrency(p *probe) {
	const callers, rounds = 8, 20
	for range rounds {
		var started, ended sync.WaitGroup
		started.Add(callers)
		for range callers {
			ended.Go(func() {
				arrive := sync.OnceFunc(started.Done)
				defer arrive() // also when Start exits the goroutine
				ctx := p.start(context.Background(), call())
				arrive()
				started.Wait() // so that all calls are open at once
				first := p.start(ctx, attempt(1))
				p.end(first, attempt(1), hooks.Result{Outcome: hooks.Failed, Err: errProbe})
				p.event(ctx, retried(1))
				p.end(ctx, call(), hooks.Result{Outcome: hooks.Failed, Err: errProbe})
			})
		}
		ended.Wait()
	}
}

func checkAttach(p *probe) {
	a, ok := p.hook.(hooks.Attacher)
	if !ok {
		return
	}
	layers := []hooks.LayerInfo{{Kind: "observe"}, {Kind: "retry"}, {Kind: "breaker", Name: "api"}}
	want := slices.Clone(layers)

	p.attach(a, "empty", nil)
	p.attach(a, "payments", layers)
	p.attach(a, "payments", layers) // two pipelines may have one name

	ctx := p.start(context.Background(), call())
	var running sync.WaitGroup
	running.Go(func() { p.attach(a, "orders", layers) })
	p.event(ctx, retried(1))
	p.end(ctx, call(), hooks.Result{Outcome: hooks.Succeeded})
	running.Wait()

	if !slices.Equal(layers, want) {
		p.Errorf("Attach changed the layers to %+v", layers)
	}
}
