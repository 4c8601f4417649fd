package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

// fiveAttempts is R(5) of the cases.
func fiveAttempts() *retry.Retry {
	return retry.New(retry.MaxAttempts(5), retry.NoJitter(100*time.Millisecond, 10*time.Second))
}

func TestC44_OpenBreakerIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(3, time.Minute, 1)...)
		r.p = stoic.MustNew("pay", fiveAttempts(), r.b)

		start := time.Now()
		err := r.do(t.Context(), fail)
		if took := time.Since(start); took > 700*time.Millisecond {
			t.Errorf("first call took %v, want at most 700ms", took)
		}
		for _, target := range []error{breaker.ErrOpen, errDown, gobreaker.ErrOpenState} {
			if !errors.Is(err, target) {
				t.Errorf("first call: %v does not match %v", err, target)
			}
		}
		r.wantOps(3)

		start = time.Now()
		err = r.do(t.Context(), fail)
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, gobreaker.ErrOpenState) || time.Since(start) != 0 {
			t.Errorf("second call: got %v after %v, want a rejection at once", err, time.Since(start))
		}
		r.wantOps(3)

		time.Sleep(time.Minute + 1)
		probe := r.hold()
		start = time.Now()
		err = r.do(t.Context(), fail)
		if !errors.Is(err, breaker.ErrOpen) || !errors.Is(err, gobreaker.ErrTooManyRequests) || time.Since(start) != 0 {
			t.Errorf("third call: got %v after %v, want a rejection at once", err, time.Since(start))
		}
		r.wantOps(4) // the probe
		probe.finish(succeed)
	})
}

func TestC45_InsideOrOutsideTheRetry(t *testing.T) {
	inside := func(b *breaker.Breaker) []stoic.Policy { return []stoic.Policy{fiveAttempts(), b} }
	outside := func(b *breaker.Breaker) []stoic.Policy { return []stoic.Policy{b, fiveAttempts()} }
	tests := map[string]struct {
		layers func(*breaker.Breaker) []stoic.Policy
		heals  bool    // the fifth attempt of each call succeeds
		ops    []int64 // after each call
		want   breaker.State
	}{
		"inside a: always fails":       {inside, false, []int64{3, 3}, breaker.Open},
		"inside b: fails four times":   {inside, true, []int64{3, 3}, breaker.Open},
		"outside a: always fails":      {outside, false, []int64{5, 10, 15, 15}, breaker.Open},
		"outside b: fails four times":  {outside, true, []int64{5, 10, 15, 20, 25, 30}, breaker.Closed},
		"outside a: two calls are two": {outside, false, []int64{5, 10}, breaker.Closed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New("db", inARow(3, time.Hour, 1)...)
				r := &rig{t: t, b: b, p: stoic.MustNew("pay", tt.layers(b)...)}
				for _, want := range tt.ops {
					attempts := 0
					_ = r.do(t.Context(), func(context.Context) error {
						attempts++
						if tt.heals && attempts == 5 {
							return nil
						}
						return errDown
					})
					r.wantOps(want)
				}
				r.wantState(tt.want)
			})
		})
	}
}

// A context that is done does nothing, whatever the state.
func TestDoneContextDoesNothing(t *testing.T) {
	states := map[string]func(r *rig){
		"closed":    func(*rig) {},
		"open":      func(r *rig) { r.feed(1, fail) },
		"half-open": func(r *rig) { r.trip(time.Second) },
		"forced":    func(r *rig) { r.b.ForceOpen() },
	}
	for name, prepare := range states {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1)...)
				prepare(r)
				state, counts, seen, ops := r.b.State(), r.b.Counts(), len(r.rec.All()), r.ops.Load()
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(errDown)
				err := r.do(ctx, succeed)
				if !errors.Is(err, context.Canceled) || !errors.Is(err, errDown) || errors.Is(err, breaker.ErrOpen) {
					t.Errorf("got %v, want canceled and its cause", err)
				}
				r.wantState(state)
				r.wantOps(ops)
				if r.b.Counts() != counts || len(r.rec.All()) != seen {
					t.Errorf("counts %+v, hook %v", r.b.Counts(), r.rec.Strings())
				}
			})
		})
	}
}

// The same value in two pipelines is one breaker; a change is reported to the hooks of
// the pipeline whose call caused it.
func TestSharedBreakerIsOneState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("db", inARow(2, time.Second, 1)...)
		var recA, recB hookstest.Recorder
		a := &rig{t: t, b: b, rec: &recA, p: stoic.MustNew("a", stoic.Observe(&recA), b)}
		z := &rig{t: t, b: b, rec: &recB, p: stoic.MustNew("z", stoic.Observe(&recB), b)}
		a.feed(1, fail)
		z.feed(1, fail)
		if r := a.rejected(); r.Pipeline != "a" {
			t.Errorf("pipeline of the rejection: got %q, want a", r.Pipeline)
		}
		time.Sleep(time.Second + 1)
		probe := a.hold()
		z.wantRejected()
		probe.finish(succeed)
		a.wantChanges("open->half-open", "half-open->closed")
		z.wantChanges("closed->open")
		for _, e := range recB.Events(hooks.StateChange) {
			if e.Pipeline != "z" || e.Operation != "z" {
				t.Errorf("event: %+v", e)
			}
		}
	})
}

// The call that finds a hung probe causes the change: its hooks are told.
func TestHungProbeIsReportedByTheCallThatFindsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("db", inARow(1, time.Second, 1)...)
		var recA, recB hookstest.Recorder
		a := &rig{t: t, b: b, rec: &recA, p: stoic.MustNew("a", stoic.Observe(&recA), b)}
		z := &rig{t: t, b: b, rec: &recB, p: stoic.MustNew("z", stoic.Observe(&recB), b)}
		a.trip(time.Second)
		hung := a.hold()
		time.Sleep(30*time.Second + 1)
		z.wantRejected()
		hung.finish(fail)
		a.wantChanges("closed->open", "open->half-open")
		z.wantChanges("half-open->open")
	})
}

func TestSameBreakerTwiceInOneStackIsInvalid(t *testing.T) {
	b := breaker.New("db")
	if _, err := stoic.New("pay", b, retry.New(), b); !errors.Is(err, stoic.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// The events and the rejection carry the attempt that they are about.
func TestAttemptOfTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(2, time.Minute, 1)...)
		r.p = stoic.MustNew("pay", stoic.Observe(r.rec), fiveAttempts(), r.b)
		_ = r.do(stoic.WithOperation(t.Context(), "charge"), fail)
		got := r.rec.Events(hooks.StateChange, hooks.Reject)
		if len(got) != 2 || got[0].Attempt != 2 || got[1].Attempt != 3 || got[0].Operation != "charge" {
			t.Errorf("got %+v, want the change in attempt 2 and the rejection of attempt 3", got)
		}
	})
}
