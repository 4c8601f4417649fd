package bounds

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
	"github.com/stoic-go/stoic/retry"
)

func TestOK(t *testing.T) {
	tests := []struct {
		bound Bound
		want  bool
	}{
		{Bound{Got: 1.09, Limit: 1.10}, true},
		{Bound{Got: 1.10, Limit: 1.10}, true},
		{Bound{Got: 1.11, Limit: 1.10}, false},
		{Bound{Got: 0.99, Limit: 1, Below: true}, true},
		{Bound{Got: 1, Limit: 1, Below: true}, false},
		{Bound{Got: 1.5, Free: true}, true},
	}
	var all []Bound
	for _, tt := range tests {
		if got := tt.bound.OK(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.bound, got, tt.want)
		}
		all = append(all, tt.bound)
	}
	if got := Missed(all); got != 2 {
		t.Errorf("%d missed, want 2", got)
	}
	var b bytes.Buffer
	if err := Text(&b, all); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "NOT ") != 2 || strings.Count(b.String(), "ok ") != 3 {
		t.Errorf("got\n%s", b.String())
	}
}

// Whatever the times are, each bound can be measured, and what is counted and not timed
// holds.
func TestMeasure(t *testing.T) {
	all, err := measureAll(measure.Config{Rounds: 2, Slice: 200 * time.Microsecond}, 200_000, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, b := range all {
		if b.Unit == "allocations" || b.Unit == "KiB" {
			counted++
			if !b.OK() {
				t.Errorf("%s: %v, want at most %v", b.What, b.Got, b.Limit)
			}
		}
		if b.Limit < 0 || b.What == "" {
			t.Errorf("%+v", b)
		}
	}
	free := slices.DeleteFunc(slices.Clone(all), func(b Bound) bool { return !b.Free })
	if counted != 5 || len(all) != 41 || len(free) != 6 {
		t.Errorf("%d bounds, %d of them counted, %d free", len(all), counted, len(free))
	}
}

// A stack that keeps something of every call is found.
func TestHeapGrowthFindsALeak(t *testing.T) {
	var kept [][]byte
	leaks := stoic.PolicyFunc("leak", func(ctx context.Context, next stoic.Next) error {
		kept = append(kept, make([]byte, 100))
		return next.Do(ctx)
	})
	if got := heapGrowth(stoic.MustNew("p", oneAtATime(), leaks), 10_000); got < 500_000 {
		t.Errorf("%v bytes of 1000000 found", got)
	}
	if len(kept) == 0 {
		t.Error("no call was made")
	}
}

// oneAtATime lets one call in.
func oneAtATime() stoic.Policy {
	turn := make(chan struct{}, 1)
	return stoic.PolicyFunc("turn", func(ctx context.Context, next stoic.Next) error {
		turn <- struct{}{}
		defer func() { <-turn }()
		return next.Do(ctx)
	})
}

// The stack that the memory is measured of sees every kind of call.
func TestMemoryStackIsMixed(t *testing.T) {
	p := memoryStack()
	for _, tt := range []struct {
		name string
		op   peers.Op
		fail bool
	}{
		{"success", func(context.Context) error { return nil }, false},
		{"failure", func(context.Context) error { return peers.ErrDown }, true},
	} {
		if err := p.Do(t.Context(), tt.op); (err != nil) != tt.fail {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// However long nobody has called, the window is brought up to date at once: a slot at a
// time would take hours.
func TestWindowsAfterALongIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("p", budget.New(budget.Window(10*time.Millisecond)), retry.New(),
			breaker.New("b", breaker.FailureRate(0.5, 50, 10*time.Millisecond)))
		for range 20 {
			if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * 365 * 24 * time.Hour)
		}
	})
}
