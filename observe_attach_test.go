package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestObserveNothing(t *testing.T) {
	var rec hookstest.Recorder
	p := stoic.MustNew("payments", stoic.Observe(nil), stoic.Observe(&rec), stoic.Observe(nil), attempts(1, 0), stoic.Observe(hooks.OnEvent(nil)))
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	if got := len(rec.All()); got != 4 {
		t.Errorf("%d entries, want 4", got)
	}
}

func TestObserveRefusesATypedNil(t *testing.T) {
	for _, h := range []hooks.Hook{(*hookstest.Recorder)(nil), (*scripted)(nil)} {
		if _, err := stoic.New("payments", stoic.Observe(h)); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%T: got %v, want ErrInvalid", h, err)
		}
	}
}

// attached is a hook that notes what it is attached to.
type attached struct {
	hooks.Nop
	journal
}

func (a *attached) Attach(pipeline string, layers []hooks.LayerInfo) {
	words := []string{pipeline}
	for i, l := range layers {
		words = append(words, fmt.Sprintf("%s(%s)", l.Kind, l.Name))
		layers[i].Kind = "changed" // its own copy
	}
	a.add(strings.Join(words, " "))
}

func TestAttachIsCalledOnceForEachPipeline(t *testing.T) {
	first, second := &attached{}, &attached{}
	inner := stoic.MustNew("inner", attempts(2, 0), stoic.Observe(second), breaker.New("db"))
	second.want(t, "inner retry() observe() breaker(db)")

	p := stoic.MustNew("outer", stoic.Observe(first), stoic.PolicyFunc("own", next), inner, opaque{})
	const layers = "outer observe() func(own) retry() observe() breaker(db) opaque()"
	first.want(t, layers)
	second.want(t, "inner retry() observe() breaker(db)", layers)

	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	first.want(t, layers)

	if _, err := stoic.New("invalid", stoic.Observe(first), nil); err == nil {
		t.Error("want an error")
	}
	first.want(t, layers)
}

// opaque is a layer that says nothing about itself.
type opaque struct{}

func (opaque) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
