package breaker_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

// onChange is a hook that calls f for each state change, and nothing else.
func onChange(f func(e hooks.Event)) hooks.Hook {
	return hooks.OnEvent(func(_ context.Context, e hooks.Event) {
		if e.Kind == hooks.StateChange {
			f(e)
		}
	})
}

// hookedRig is a rig whose recorder is told before hook is.
func hookedRig(t *testing.T, hook hooks.Hook, opts ...breaker.Option) *rig {
	t.Helper()
	r := newRig(t, opts...)
	r.p = stoic.MustNew("pay", stoic.Observe(r.rec), stoic.Observe(hook), r.b)
	return r
}

func TestC51_HookCallsTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			r      *rig
			states []breaker.State
			inner  []error
		)
		hook := onChange(func(hooks.Event) {
			states = append(states, r.b.State())
			if c := r.b.Counts(); c != (breaker.Counts{}) {
				t.Errorf("counts from the hook: got %+v, want those of the new state", c)
			}
			inner = append(inner, r.p.Do(context.Background(), succeed))
		})
		r = hookedRig(t, hook, inARow(1, time.Second, 2)...)
		r.trip(time.Second)
		r.feed(1, succeed)
		r.wantState(breaker.Closed) // with the success that the hook made
		want := []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}
		if !slices.Equal(states, want) {
			t.Errorf("states from the hook: got %v, want %v", states, want)
		}
		if !errors.Is(inner[0], breaker.ErrOpen) || inner[1] != nil || inner[2] != nil {
			t.Errorf("calls from the hook: got %v", inner)
		}
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

func TestC51_HookForcesTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r = hookedRig(t, onChange(func(e hooks.Event) {
			if e.To == "half-open" {
				r.b.Auto()
			}
		}), inARow(1, time.Second, 1)...)
		r.trip(time.Second)
		r.feed(1, fail) // a probe of a life that has ended
		r.wantState(breaker.Closed)
		r.wantCounts(0, 0, 0)
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

func TestC51_SlowHookStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = 300 * time.Millisecond
		slept := 0
		r := hookedRig(t, onChange(func(hooks.Event) {
			slept++
			time.Sleep(slow)
		}), inARow(1, 100*time.Millisecond, 1)...)
		begin := time.Now()
		h := r.hold()
		h.how <- fail // opens, and its goroutine is in the hook now
		synctest.Wait()
		r.wantRejected()
		r.b.State()
		r.b.Counts()
		if took := time.Since(begin); took != 0 {
			t.Fatalf("the others were delayed by %v", took)
		}
		time.Sleep(100*time.Millisecond + 1)
		r.feed(1, succeed) // half-open and closed while the first event is being told
		r.wantState(breaker.Closed)
		if took := time.Since(begin); took != 100*time.Millisecond+1 {
			t.Fatalf("the others were delayed by %v", took-100*time.Millisecond-1)
		}
		r.wantChanges("closed->open")
		<-h.end
		if took := time.Since(begin); took != 3*slow {
			t.Errorf("the call in the hook took %v, want %v: it tells all three", took, 3*slow)
		}
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

// While one call is telling, the changes of others go to their own hooks all the same,
// with their own context.
func TestEventGoesToTheHooksOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("db", inARow(1, 100*time.Millisecond, 1)...)
		var recA, recB hookstest.Recorder
		a := &rig{t: t, b: b, rec: &recA}
		a.p = stoic.MustNew("a", stoic.Observe(&recA), stoic.Observe(onChange(func(hooks.Event) { time.Sleep(time.Second) })), b)
		z := &rig{t: t, b: b, rec: &recB}
		z.p = stoic.MustNew("z", stoic.Observe(&recB), b)
		h := a.hold()
		h.how <- fail
		synctest.Wait()
		time.Sleep(100*time.Millisecond + 1)
		if err := z.do(stoic.WithOperation(t.Context(), "probe"), succeed); err != nil {
			t.Fatal(err)
		}
		z.wantChanges()
		<-h.end
		a.wantChanges("closed->open")
		z.wantChanges("open->half-open", "half-open->closed")
		for _, e := range recB.Events(hooks.StateChange) {
			if e.Pipeline != "z" || e.Operation != "probe" {
				t.Errorf("got %+v, want the pipeline and the operation of the probe", e)
			}
		}
	})
}

func TestC51_PanickingHook(t *testing.T) {
	for _, at := range []string{"open", "half-open", "closed"} {
		t.Run("to "+at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := hookedRig(t, onChange(func(e hooks.Event) {
					if e.To == at {
						panic("hook")
					}
				}), inARow(1, time.Second, 1)...)
				call := func(fn stoic.Func) any {
					return run(func() error { return r.do(context.Background(), fn) }).value
				}
				panicked := map[string]any{"open": call(fail)}
				r.wantState(breaker.Open)
				r.wantRejected()
				time.Sleep(time.Second + 1)
				panicked["half-open"] = call(succeed)
				if at == "half-open" { // the probe was not sent, and gave back its place
					r.wantState(breaker.HalfOpen)
					r.wantOps(1)
					r.feed(1, succeed)
				}
				r.wantState(breaker.Closed)
				panicked["closed"] = panicked["half-open"]
				if panicked[at] != "hook" {
					t.Errorf("the caller got %v, want the panic of the hook", panicked[at])
				}
				r.feed(1, succeed)
				r.wantChanges("closed->open", "open->half-open", "half-open->closed")
			})
		})
	}
}

// Several changes wait behind a slow hook, and it panics: the next call tells the rest.
func TestC51_PanickingHookLeavesTheRestToTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		r := hookedRig(t, onChange(func(hooks.Event) {
			time.Sleep(time.Second)
			if first {
				first = false
				panic("hook")
			}
		}), inARow(1, 100*time.Millisecond, 1)...)
		h := r.hold()
		h.how <- fail
		synctest.Wait()
		time.Sleep(100*time.Millisecond + 1)
		r.feed(1, succeed)
		if e := <-h.end; e.value != "hook" {
			t.Fatalf("got %+v, want the panic", e)
		}
		r.wantChanges("closed->open")
		r.feed(1, succeed)
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

// A hook that panics at the rejection takes nothing: the breaker probes and closes.
func TestPanickingRejectHookTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := hooks.OnEvent(func(_ context.Context, e hooks.Event) {
			if e.Kind == hooks.Reject {
				panic("reject hook")
			}
		})
		r := hookedRig(t, hook, inARow(1, time.Second, 1)...)
		reject := func() {
			t.Helper()
			e := run(func() error { return r.do(context.Background(), succeed) })
			if e.value != "reject hook" {
				t.Errorf("got %+v, want the panic of the hook", e)
			}
		}
		r.feed(1, fail)
		reject()
		time.Sleep(time.Second + 1)
		probe := r.hold()
		reject()
		probe.finish(succeed)
		r.wantState(breaker.Closed)
		r.b.ForceOpen()
		reject()
		r.b.Auto()
		r.feed(1, succeed)
	})
}

// Each rejection is one event, with the rejection as its error.
func TestRejectEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.feed(1, fail)
		want := []error{r.rejected()}
		time.Sleep(time.Second + 1)
		probe := r.hold()
		want = append(want, r.rejected())
		probe.finish(succeed)
		got := r.rec.Events(hooks.Reject)
		if len(got) != 2 {
			t.Fatalf("got %v, want two", got)
		}
		for i, reason := range []string{"circuit_open", "half_open_limit"} {
			//nolint:errorlint // the very same error is meant
			if e := got[i]; e.Err != want[i] || e.Reason != reason || e.Policy != stoic.KindBreaker || e.Name != "db" || e.Attempt != 1 {
				t.Errorf("got %+v, want %v and %v", e, reason, want[i])
			}
		}
	})
}
