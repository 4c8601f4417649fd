package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
)

func TestC22_HalfOpenAdmitsExactlyP(t *testing.T) {
	tests := map[string]func(r *rig, first, second *held){
		"a: both succeed": func(r *rig, first, second *held) {
			first.finish(succeed)
			r.wantState(breaker.HalfOpen)
			second.finish(succeed)
			r.wantState(breaker.Closed)
			r.wantChanges("closed->open", "open->half-open", "half-open->closed")
		},
		"b: the first fails": func(r *rig, first, second *held) {
			first.finish(fail)
			r.wantState(breaker.Open)
			time.Sleep(time.Second)
			second.finish(succeed)
			r.wantState(breaker.Open)
			r.wantCounts(0, 0, 0)
			time.Sleep(time.Nanosecond)
			r.wantState(breaker.HalfOpen)
			r.wantChanges("closed->open", "open->half-open", "half-open->open")
		},
		"c: only one has succeeded": func(r *rig, first, second *held) {
			first.finish(succeed)
			r.wantState(breaker.HalfOpen)
			r.wantCounts(1, 0, 0)
			r.wantRejected() // two in all, not two at a time
			second.finish(fail)
			r.wantState(breaker.Open)
		},
	}
	for name, then := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 2)...)
				r.trip(time.Second)
				start := time.Now()
				admitted := callAtOnce(t, r.p, 50)
				if len(admitted) != 2 || !time.Now().Equal(start) {
					t.Fatalf("admitted %d of 50 after %v, want 2 at once", len(admitted), time.Since(start))
				}
				then(r, admitted[0], admitted[1])
			})
		})
	}
}

// callAtOnce makes n calls from n goroutines. It returns those that were admitted; the
// others must have been rejected.
func callAtOnce(t *testing.T, p *stoic.Pipeline, n int) []*held {
	t.Helper()
	calls := make([]*held, n)
	for i := range calls {
		calls[i] = start(t, p)
	}
	synctest.Wait()
	var admitted []*held
	for _, h := range calls {
		if h.entered.Load() {
			admitted = append(admitted, h)
		} else if e := <-h.end; !errors.Is(e.err, breaker.ErrOpen) {
			t.Errorf("not admitted, and not rejected: %+v", e)
		}
	}
	return admitted
}

func TestC23_NeutralProbeFreesItsPlace(t *testing.T) {
	notFound := func(context.Context) error { return errNotFound }
	tests := map[string]func(r *rig){
		"caller cancelled": func(r *rig) { r.hold().giveUp() },
		"judged neutral":   func(r *rig) { r.feed(1, notFound) },
		"rejected further in": func(r *rig) {
			err := r.do(context.Background(), func(context.Context) error {
				return &stoic.Rejection{Policy: "other", Reason: "no", Err: errDown}
			})
			if !errors.Is(err, stoic.ErrRejected) {
				r.t.Fatalf("got %v", err)
			}
		},
	}
	for name, neutral := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1, breaker.Judge(notFoundIsNeutral))...)
				r.trip(time.Second)
				r.ops.Store(0)
				neutral(r)
				r.wantState(breaker.HalfOpen)
				r.wantCounts(0, 0, 0)
				probe := r.hold()
				if after, ok := r.rejected().RetryAfter(); ok || after < 0 {
					t.Errorf("RetryAfter with the probe out: got %v, %v, want none", after, ok)
				}
				probe.finish(succeed)
				r.wantState(breaker.Closed)
				r.wantOps(2)
			})
		})
	}
}

func TestC24_HungProbeWithADeadlineInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const d = 200 * time.Millisecond
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.p = stoic.MustNew("pay", r.b, deadline.New(d))
		r.trip(time.Second)
		start := time.Now()
		if err := r.do(t.Context(), block); !errors.Is(err, deadline.ErrExceeded) || time.Since(start) != d {
			t.Fatalf("got %v after %v", err, time.Since(start))
		}
		r.wantState(breaker.Open)
		time.Sleep(time.Second)
		r.wantRejected()
		time.Sleep(time.Nanosecond)
		r.feed(1, succeed) // at d + 1 s + 1 ns
		if got := time.Since(start); got != d+time.Second+1 {
			t.Fatalf("the new probe at %v, want %v", got, d+time.Second+1)
		}
		r.wantState(breaker.Closed)
	})
}

func TestC24_HungProbeLosesItsPlace(t *testing.T) {
	for name, late := range map[string]stoic.Func{"late success": succeed, "late failure": fail} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1, breaker.ProbeTimeout(time.Minute))...)
				r.trip(time.Second)
				hung := r.hold()
				time.Sleep(time.Minute)
				if _, ok := r.rejected().RetryAfter(); ok { // exactly ProbeTimeout is not over it
					t.Fatal("RetryAfter with the probe out: want none")
				}
				time.Sleep(time.Nanosecond)
				if after, _ := r.rejected().RetryAfter(); after != time.Second+1 {
					t.Fatalf("RetryAfter of the call that found it: got %v, want 1s + 1ns", after)
				}
				r.wantState(breaker.Open)
				time.Sleep(time.Second + 1)
				probe := r.hold()
				hung.finish(late)
				r.wantState(breaker.HalfOpen)
				r.wantCounts(0, 0, 0)
				r.wantRejected() // the place is still the new probe's
				probe.finish(succeed)
				r.wantState(breaker.Closed)
				r.wantChanges("closed->open", "open->half-open", "half-open->open", "open->half-open", "half-open->closed")
			})
		})
	}
}

func TestC24_TwoSuccessesAndOneHungProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 3)...)
		r.trip(time.Second)
		hung := r.hold()
		r.feed(2, succeed)
		r.wantState(breaker.HalfOpen)
		time.Sleep(30 * time.Second) // the default
		r.wantRejected()
		r.wantState(breaker.HalfOpen)
		time.Sleep(time.Nanosecond)
		r.wantRejected()
		r.wantState(breaker.Open)
		time.Sleep(time.Second + 1)
		r.feed(2, succeed)
		hung.finish(succeed) // would be the third
		r.wantState(breaker.HalfOpen)
		r.wantCounts(2, 0, 0)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
	})
}
