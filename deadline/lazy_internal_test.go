package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
)

type key struct{}

// nest runs fn under deadlines of these lengths, outermost first, and gives it their
// contexts in the same order.
func nest(parent context.Context, t *testing.T, limits []time.Duration, fn func(contexts []*lazy)) {
	t.Helper()
	var layers []stoic.Policy
	var contexts []*lazy
	for _, limit := range limits {
		layers = append(layers, New(limit), stoic.PolicyFunc("keep", func(ctx context.Context, next stoic.Next) error {
			contexts = append(contexts, ctx.(*lazy))
			return next.Do(ctx)
		}))
	}
	p := stoic.MustNew("p", layers...)
	if err := p.Do(parent, func(context.Context) error { fn(contexts); return nil }); err != nil {
		t.Error(err)
	}
}

func TestNoTimerUntilDone(t *testing.T) {
	tests := []struct {
		name string
		use  func(ctx context.Context)
		real bool
	}{
		{"nothing", func(context.Context) {}, false},
		{"Err", func(ctx context.Context) { _ = ctx.Err() }, false},
		{"Cause", func(ctx context.Context) { _ = context.Cause(ctx) }, false},
		{"Value", func(ctx context.Context) { _ = ctx.Value(key{}) }, false},
		{"Deadline", func(ctx context.Context) { _, _ = ctx.Deadline() }, false},
		{"WithValue", func(ctx context.Context) { _ = context.WithValue(ctx, key{}, 1).Err() }, false},
		{"WithoutCancel", func(ctx context.Context) { _ = context.WithoutCancel(ctx).Done() }, false},
		{"Done", func(ctx context.Context) { _ = ctx.Done() }, true},
		{"WithCancel", func(ctx context.Context) {
			_, cancel := context.WithCancel(ctx)
			cancel()
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var kept *lazy
			nest(t.Context(), t, []time.Duration{time.Second}, func(contexts []*lazy) {
				kept = contexts[0]
				tt.use(kept)
				if got := kept.state.Load() == forced; got != tt.real {
					t.Errorf("a real context: %v, want %v", got, tt.real)
				}
			})
			if got := kept.state.Load() == forced; got != tt.real {
				t.Errorf("a real context after the return: %v, want %v", got, tt.real)
			}
		})
	}
}

func TestNestedDeadlinesShareOneTimer(t *testing.T) {
	for _, limits := range [][]time.Duration{
		{2 * time.Second, time.Second},
		{time.Second, 2 * time.Second},
		{3 * time.Second, 2 * time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var all []*lazy
			nest(t.Context(), t, limits, func(contexts []*lazy) {
				all = contexts
				inner := contexts[len(contexts)-1]
				<-inner.Done()
				if err := inner.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Err() = %v", err)
				}
				for i, outer := range contexts[:len(contexts)-1] {
					if outer.state.Load() == forced {
						t.Errorf("%v: deadline %d has a timer of its own", limits, i)
					}
					if kids := kidsOf(outer); len(kids) != 1 || kids[0] != inner {
						t.Errorf("%v: deadline %d has %d kids, want the innermost", limits, i, len(kids))
					}
				}
			})
			for i, c := range all {
				if kids := kidsOf(c); len(kids) != 0 {
					t.Errorf("%v: deadline %d keeps %d kids", limits, i, len(kids))
				}
			}
		})
	}
}

// Attempts register with the deadlines around the retry; each leaves when it is over.
func TestKidsAreForgotten(t *testing.T) {
	outer := newLazy(t.Context(), time.Now().Add(2*time.Hour), true)
	defer outer.end()
	middle := newLazy(outer, time.Now().Add(time.Hour), true)
	defer middle.end()
	var others []*lazy
	for i := range 1003 {
		kid := newLazy(middle, time.Now().Add(time.Minute), true)
		_ = kid.Done()
		if i%500 == 1 {
			others = append(others, kid)
			continue
		}
		kid.end()
	}
	if len(kidsOf(outer)) != len(others) || len(kidsOf(middle)) != len(others) {
		t.Errorf("%d and %d kids, want %d", len(kidsOf(outer)), len(kidsOf(middle)), len(others))
	}
	for _, kid := range others {
		if kid.Err() != nil {
			t.Error("ended with another one")
		}
	}
}

// A context whose real one skips this one ends with it also when somebody waits on this
// one later.
func TestKidsEndWithOneThatIsWaitedOnLater(t *testing.T) {
	outer := newLazy(t.Context(), time.Now().Add(2*time.Hour), true)
	inner := newLazy(outer, time.Now().Add(time.Hour), true)
	done := inner.Done()
	_ = outer.Done()
	outer.end() // the inner layer is left behind
	select {
	case <-done:
	default:
		t.Error("Done is open")
	}
	if err := inner.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("Err() = %v, want Canceled", err)
	}
}

// A deadline that is the caller's needs no timer: package context has one already.
func TestCallersDeadlineNeedsNoTimer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	nest(ctx, t, []time.Duration{2 * time.Hour, 3 * time.Hour}, func(contexts []*lazy) {
		inner := contexts[1]
		if _, timed := inner.around((*lazy).unused); timed {
			t.Error("keeps the time, although the caller does")
		}
	})
}

// Nor is it this context's to say that the time is up: who keeps it has the cause.
func TestCallersDeadlineIsKeptByTheCaller(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller's")
	looks, waits := newLazy(parent, time.Now(), false), newLazy(parent, time.Now(), false)
	if err := looks.Err(); err != nil {
		t.Errorf("Err() = %v, want nil until the caller's context ends", err)
	}
	_ = waits.Done()
	if err := waits.Err(); err != nil {
		t.Errorf("Err() = %v, want nil until the caller's context ends", err)
	}
	cancel(cause)
	for _, c := range []*lazy{looks, waits} {
		if err := c.Err(); !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(c), cause) {
			t.Errorf("Err() = %v, Cause = %v", err, context.Cause(c))
		}
	}
}

// The timer may fire a little late: the clock counts.
func TestExpiredBeforeTheTimerFires(t *testing.T) {
	c := newLazy(t.Context(), time.Now().Add(time.Hour), true)
	defer c.end()
	_ = c.Done()
	if c.expired() {
		t.Error("expired an hour early")
	}
	c.at = time.Now()
	if c.Err() != nil || !c.expired() {
		t.Errorf("Err() = %v and expired = %v, want nil and true", c.Err(), c.expired())
	}
}

// Middleware that is detached may enter a layer when the one around it has ended.
func TestInnerMadeAfterTheOuterHasEnded(t *testing.T) {
	for _, waited := range []bool{false, true} {
		for _, between := range []bool{false, true} {
			outer := newLazy(t.Context(), time.Now().Add(2*time.Hour), true)
			if waited {
				_ = outer.Done()
			}
			parent := outer
			if between {
				parent = newLazy(outer, time.Now().Add(time.Hour), true)
			}
			outer.end()
			looks, waits := newLazy(parent, time.Now().Add(time.Minute), true), newLazy(parent, time.Now().Add(time.Minute), true)
			if err := looks.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("Err() = %v, want Canceled", err)
			}
			select {
			case <-waits.Done():
			default:
				t.Error("Done is open")
			}
		}
	}
}

// What Err saw first is the reason, also if the parent ends at that moment.
func TestParentEndsWhileErrLooks(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	c := newLazy(parent, time.Now(), true)
	over := c.look()
	cancel(errors.New("the caller's"))
	if err := c.settle(over).Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Err() = %v, want DeadlineExceeded", err)
	}
	if cause := context.Cause(c); !errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("Cause = %v, want DeadlineExceeded", cause)
	}
}

// kidsOf lists the contexts that end with c. Nobody else uses c, or its lock is held.
func kidsOf(c *lazy) []*lazy {
	var kids []*lazy
	if c.kid != nil {
		kids = append(kids, c.kid)
	}
	for kid := range c.more {
		kids = append(kids, kid)
	}
	return kids
}
