package stoic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// scripted is a hook made of functions, any of which may be nil.
type scripted struct {
	start func(context.Context, hooks.Op) context.Context
	end   func(context.Context, hooks.Op, hooks.Result)
	event func(context.Context, hooks.Event)
}

func (s *scripted) Start(ctx context.Context, op hooks.Op) context.Context {
	if s.start == nil {
		return ctx
	}
	return s.start(ctx, op)
}

func (s *scripted) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	if s.end != nil {
		s.end(ctx, op, res)
	}
}

func (s *scripted) Event(ctx context.Context, e hooks.Event) {
	if s.event != nil {
		s.event(ctx, e)
	}
}

type pathKey struct{}

// tracing is a hook that keeps in the context where it is, as a tracer keeps its span.
func tracing(name string, j *journal) *scripted {
	path := func(ctx context.Context) string {
		s, _ := ctx.Value(pathKey{}).(string)
		return s
	}
	return &scripted{
		start: func(ctx context.Context, op hooks.Op) context.Context {
			here := fmt.Sprintf("%s/%s-%v-%d", path(ctx), name, op.Kind, op.Attempt)
			return context.WithValue(ctx, pathKey{}, here)
		},
		end:   func(ctx context.Context, op hooks.Op, res hooks.Result) { j.add("end " + path(ctx)) },
		event: func(ctx context.Context, e hooks.Event) { j.add(e.Kind.String() + " " + path(ctx)) },
	}
}

func TestContextOfStartIsUsedInside(t *testing.T) {
	var j journal
	p := stoic.MustNew("payments", stoic.Observe(tracing("a", &j)), attempts(2, 0))
	_ = p.Do(t.Context(), func(ctx context.Context) error {
		j.add("fn " + ctx.Value(pathKey{}).(string))
		return errBoom
	})
	j.want(t,
		"fn /a-call-1/a-attempt-1", "end /a-call-1/a-attempt-1", "retry /a-call-1",
		"fn /a-call-1/a-attempt-2", "end /a-call-1/a-attempt-2", "gave_up /a-call-1",
		"end /a-call-1")
}

func TestTwoObserveLayers(t *testing.T) {
	var j journal
	p := stoic.MustNew("payments", stoic.Observe(tracing("a", &j)), stoic.Observe(tracing("b", &j)), attempts(1, 0))
	_ = p.Do(t.Context(), func(ctx context.Context) error {
		j.add("fn " + ctx.Value(pathKey{}).(string))
		return errBoom
	})
	j.want(t,
		"fn /a-call-1/b-call-1/a-attempt-1/b-attempt-1",
		"end /a-call-1/b-call-1/a-attempt-1/b-attempt-1", // b, the inner one, ends first
		"end /a-call-1/b-call-1/a-attempt-1",
		"gave_up /a-call-1/b-call-1", "gave_up /a-call-1/b-call-1",
		"end /a-call-1/b-call-1", "end /a-call-1")
}

func TestStartThatReturnsNilKeepsTheContext(t *testing.T) {
	ctx := t.Context()
	seen := 0
	h := &scripted{
		start: func(context.Context, hooks.Op) context.Context { return nil },
		end: func(got context.Context, _ hooks.Op, _ hooks.Result) {
			seen++
			if got != ctx {
				t.Errorf("End gets %v, want the context that came in", got)
			}
		},
	}
	err := stoic.MustNew("payments", stoic.Observe(h), attempts(1, 0)).Do(ctx, func(got context.Context) error {
		if got != ctx {
			t.Errorf("the operation gets %v, want the context that came in", got)
		}
		return nil
	})
	if err != nil || seen != 2 {
		t.Errorf("%v, %d ends, want nil and 2", err, seen)
	}
}

// The outcome is judged by the caller's context, not by the one that a hook made.
func TestOutcomeIsThatOfTheCaller(t *testing.T) {
	var got []hooks.Outcome
	h := &scripted{
		start: func(ctx context.Context, _ hooks.Op) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		},
		end: func(_ context.Context, _ hooks.Op, res hooks.Result) { got = append(got, res.Outcome) },
	}
	_ = stoic.MustNew("payments", stoic.Observe(h)).Do(t.Context(), fail)
	if len(got) != 1 || got[0] != hooks.Failed {
		t.Errorf("outcomes %v, want failed", got)
	}
}
