package stoic_test

import (
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
)

// layerNotes is a hook that keeps what it is attached to.
type layerNotes struct {
	hooks.Nop
	layers []hooks.LayerInfo
	taken  bool // the slice that it was given is overwritten
}

func (n *layerNotes) Attach(_ string, layers []hooks.LayerInfo) {
	n.layers = append(n.layers, layers...)
	if n.taken {
		clear(layers)
	}
}

// wantPolicies compares what a hook was given with the layers themselves.
func wantPolicies(t *testing.T, got []hooks.LayerInfo, want ...stoic.Policy) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d layers, want %d", len(got), len(want))
	}
	for i, l := range got {
		if l.Policy != any(want[i]) {
			t.Errorf("layer %d: %s is %T %p, want the layer itself: %T %p", i+1, l.Kind, l.Policy, l.Policy, want[i], want[i])
		}
	}
}

func TestAttachGivesTheLayersThemselves(t *testing.T) {
	notes := &layerNotes{taken: true}
	other := &layerNotes{}
	var (
		outer    = stoic.Observe(notes)
		inner    = stoic.Observe(other)
		shared   = budget.New()
		view     = shared.WithdrawOnly()
		resend   = attempts(3, 0)
		circuit  = breaker.New("db")
		limiter  = ratelimit.New(1, 1)
		limit    = deadline.New(time.Second)
		function = stoic.PolicyFunc("own", next)
	)
	nested := stoic.MustNew("nested", circuit, limiter)
	stoic.MustNew("outer", outer, limit, view, resend, function, inner, nested, opaque{})
	want := []stoic.Policy{outer, limit, view, resend, function, inner, circuit, limiter, opaque{}}
	wantPolicies(t, notes.layers, want...)
	wantPolicies(t, other.layers, want...) // whatever the first one did to its slice

	// What it is for: to ask the layer.
	if got := notes.layers[6].Policy.(interface{ State() breaker.State }).State(); got != breaker.Closed {
		t.Errorf("the breaker is %v, want closed", got)
	}
	circuit.ForceOpen()
	if got := notes.layers[6].Policy.(interface{ State() breaker.State }).State(); got != breaker.Open {
		t.Errorf("the breaker is %v, want open", got)
	}
	if _, err := shared.Reserve(); err != nil {
		t.Fatal(err)
	}
	if got := notes.layers[2].Policy.(interface{ Utilization() float64 }).Utilization(); got != 0.1 { // one of 10
		t.Errorf("the budget's utilization is %v, want 0.1", got)
	}
}

// A value that two pipelines share is the same in both.
func TestAttachGivesTheSameLayerTwice(t *testing.T) {
	notes := &layerNotes{}
	circuit := breaker.New("db")
	observe := stoic.Observe(notes)
	stoic.MustNew("reads", observe, circuit)
	stoic.MustNew("writes", observe, circuit)
	wantPolicies(t, notes.layers, observe, circuit, observe, circuit)
}
