package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
)

func TestForceOpenRefusesAndRecordsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(3, time.Second, 1)...)
		r.feed(2, fail)
		r.b.ForceOpen()
		r.wantState(breaker.Open)
		r.wantCounts(0, 0, 0)
		time.Sleep(1000 * time.Hour)
		r.wantState(breaker.Open)
		rejection := r.rejected()
		if after, ok := rejection.RetryAfter(); ok {
			t.Errorf("RetryAfter: got %v, want none: nobody knows", after)
		}
		r.wantOps(2)
		r.b.Auto()
		r.wantState(breaker.Closed)
		r.wantCounts(0, 0, 0)
		r.feed(2, fail)
		r.wantState(breaker.Closed) // anew: the two before do not count
		r.feed(1, fail)
		r.wantState(breaker.Open)
	})
}

func TestForceClosedPassesAndRecordsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Hour, 1)...)
		r.feed(1, fail)
		r.b.ForceClosed()
		r.wantState(breaker.Closed)
		r.feed(100, fail)
		r.wantOps(101)
		r.wantState(breaker.Closed)
		r.wantCounts(0, 0, 0)
		if e := run(func() error { return r.do(context.Background(), explode) }); e.value != "explode" {
			t.Errorf("got %+v, want the panic", e)
		}
		r.wantCounts(0, 0, 0)
		r.wantChanges("closed->open", "open->closed")
		r.b.Auto()
		r.wantCounts(0, 0, 0)
		r.feed(1, fail)
		r.wantState(breaker.Open)

		r = newRig(t, inARow(3, time.Hour, 1)...)
		r.b.ForceClosed()
		r.feed(10, succeed)
		r.feed(2, fail)
		r.wantCounts(0, 0, 0)
	})
}

func TestCallsBeforeAForceDoNotCountAfterwards(t *testing.T) {
	force := map[string]func(*breaker.Breaker){
		"Auto alone":           (*breaker.Breaker).Auto,
		"ForceOpen, Auto":      func(b *breaker.Breaker) { b.ForceOpen(); b.Auto() },
		"ForceClosed, Auto":    func(b *breaker.Breaker) { b.ForceClosed(); b.Auto() },
		"ForceClosed and back": func(b *breaker.Breaker) { b.ForceClosed(); b.ForceOpen(); b.Auto() },
	}
	for name, f := range force {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 2)...)
				a, b, c := r.hold(), r.hold(), r.hold()
				f(r.b)
				a.finish(succeed)
				b.finish(fail)
				c.finish(explode)
				r.wantState(breaker.Closed)
				r.wantCounts(0, 0, 0)

				r.trip(time.Second)
				first, second := r.hold(), r.hold()
				f(r.b)
				r.wantState(breaker.Closed)
				first.finish(succeed)
				second.finish(fail)
				r.wantState(breaker.Closed)
				r.wantCounts(0, 0, 0)
			})
		})
	}
}

// A call that was admitted before ForceClosed does not count while forced either, and
// a forced call not after Auto.
func TestForcedCallsDoNotCountAfterAuto(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.b.ForceClosed()
		h := r.hold()
		r.b.Auto()
		h.finish(fail)
		r.wantState(breaker.Closed)
		r.wantCounts(0, 0, 0)
	})
}

func TestForcedChangesAreReportedWithTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.b.ForceOpen()
		r.b.ForceOpen() // no change
		r.b.Auto()
		r.b.ForceClosed() // no change
		r.b.ForceOpen()
		r.wantChanges()
		r.wantRejected()
		r.wantChanges("closed->open", "open->closed", "closed->open")
		for _, e := range r.rec.Events(hooks.StateChange) {
			if e.Reason != "forced" || e.Name != "db" || e.Attempt != 1 || e.Pipeline != "pay" {
				t.Errorf("got %+v, want reason forced", e)
			}
		}
		r.b.Auto()
		r.feed(1, fail)
		r.wantChanges("closed->open", "open->closed", "closed->open", "open->closed", "closed->open")
		if last := r.rec.Events(hooks.StateChange)[4]; last.Reason != "" {
			t.Errorf("got reason %q, want none: a call caused it", last.Reason)
		}
	})
}

// Forcing the state that the breaker is in is no change, and neither is what the old
// life does afterwards.
func TestForceFromEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.feed(1, fail)
		r.b.ForceOpen()
		r.wantRejected()
		r.wantChanges("closed->open")
		r.b.Auto()
		r.feed(1, succeed)
		r.wantChanges("closed->open", "open->closed")

		r.trip(time.Second) // half-open by the clock, not reported
		r.b.ForceClosed()
		r.feed(1, succeed)
		r.wantChanges("closed->open", "open->closed", "closed->open", "open->closed")

		r.b.Auto()
		r.trip(time.Second)
		probe := r.hold() // half-open, reported
		r.b.ForceOpen()
		probe.finish(succeed)
		r.wantRejected()
		r.wantChanges("closed->open", "open->closed", "closed->open", "open->closed",
			"closed->open", "open->half-open", "half-open->open")
	})
}

// A hook that panics when the forced change is told stops that call and nothing else.
func TestPanickingHookOfAForcedChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hookedRig(t, onChange(func(hooks.Event) { panic("hook") }), inARow(1, time.Second, 1)...)
		r.b.ForceOpen()
		if e := run(func() error { return r.do(context.Background(), succeed) }); e.value != "hook" {
			t.Fatalf("got %+v, want the panic", e)
		}
		r.wantRejected()
		r.wantChanges("closed->open")
	})
}

// Forcing a breaker that stoic.New would refuse does nothing.
func TestForceOfAnInvalidBreaker(t *testing.T) {
	for name, b := range map[string]*breaker.Breaker{"zero value": {}, "no name": breaker.New("")} {
		b.ForceOpen()
		b.ForceClosed()
		b.Auto()
		if got := b.State(); got != breaker.Closed {
			t.Errorf("%s: state %v", name, got)
		}
		if err := b.Run(t.Context(), stoic.Next{}); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%s: Run: got %v, want ErrInvalid", name, err)
		}
	}
}
