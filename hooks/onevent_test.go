package hooks_test

import (
	"context"
	"testing"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestOnEvent(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	want := hooks.Event{Kind: hooks.Retry, Pipeline: "payments", Attempt: 1}
	calls := 0
	h := hooks.OnEvent(func(ctx context.Context, e hooks.Event) {
		calls++
		if e != want {
			t.Errorf("event: got %+v, want %+v", e, want)
		}
		if got := ctx.Value(key{}); got != "value" {
			t.Errorf("value of the context: got %v", got)
		}
	})

	if got := h.Start(ctx, call); got != ctx {
		t.Errorf("Start returned %v, want the context it was given", got)
	}
	h.End(ctx, call, hooks.Result{Outcome: hooks.Succeeded})
	if calls != 0 {
		t.Errorf("called %d times by Start and End, want 0", calls)
	}
	h.Event(ctx, want)
	if calls != 1 {
		t.Errorf("called %d times, want 1", calls)
	}
}

func TestOnEventNil(t *testing.T) {
	if got := hooks.OnEvent(nil); got != nil {
		t.Errorf("got %v, want nil", got)
	}
}

func TestOnEventConformance(t *testing.T) {
	hookstest.TestHook(t, func() hooks.Hook {
		return hooks.OnEvent(func(context.Context, hooks.Event) {})
	})
}
