package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

func TestC25_ResultOfACallAdmittedClosedIsIgnored(t *testing.T) {
	for name, late := range map[string]stoic.Func{
		"a: success": succeed,
		"b: failure": fail,
		"panic":      func(context.Context) error { panic("late") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1)...)
				a := r.hold()
				r.trip(time.Second)
				a.finish(late) // nobody has called yet: half-open by the clock only
				r.wantState(breaker.HalfOpen)

				b := newRig(t, inARow(1, time.Second, 2)...)
				a = b.hold()
				b.trip(time.Second)
				b.feed(1, succeed) // one of two: half-open
				a.finish(late)
				b.wantState(breaker.HalfOpen)
				b.wantCounts(1, 0, 0)
				b.feed(1, succeed) // the next call is a probe
				b.wantState(breaker.Closed)
				b.wantChanges("closed->open", "open->half-open", "half-open->closed")
			})
		})
	}
}

func TestC25_EndOfAnOldProbeFreesNoPlace(t *testing.T) {
	for name, late := range map[string]stoic.Func{"success": succeed, "failure": fail} {
		t.Run("c: "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1, breaker.ProbeTimeout(time.Second))...)
				r.trip(time.Second)
				p1 := r.hold()
				time.Sleep(time.Second + 1)
				r.wantRejected() // takes p1 for hung: open
				time.Sleep(time.Second + 1)
				p2 := r.hold()
				p1.finish(late)
				r.wantState(breaker.HalfOpen)
				r.wantCounts(0, 0, 0)
				r.wantRejected()
				p2.finish(succeed)
				r.wantState(breaker.Closed)
				r.wantCounts(0, 0, 0)
			})
		})
	}
}

// A neutral end of an old probe frees nothing either.
func TestC25_NeutralEndOfAnOldProbeFreesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 2)...)
		r.trip(time.Second)
		p1, p2 := r.hold(), r.hold()
		p2.finish(fail)
		time.Sleep(time.Second + 1)
		q1, q2 := r.hold(), r.hold()
		p1.giveUp()
		r.wantRejected()
		q1.finish(succeed)
		r.wantRejected()
		q2.finish(succeed)
		r.wantState(breaker.Closed)
	})
}

// A call that was admitted in an earlier closed period does not count in a later one.
func TestC25_ResultFromAnEarlierClosedPeriodIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(2, time.Second, 1)...)
		a, b := r.hold(), r.hold()
		r.trip(time.Second)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
		r.feed(1, fail)
		a.finish(succeed)
		r.wantCounts(0, 1, 1)
		b.finish(fail)
		r.wantState(breaker.Closed)
		r.wantCounts(0, 1, 1)
	})
}

func TestC26_LateFailuresNeitherExtendNorAnnounce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(5, 10*time.Second, 1)...)
		start := time.Now()
		at := func(d time.Duration) { time.Sleep(d - time.Since(start)) }
		var calls [6]*held
		for i := range calls {
			calls[i] = r.hold()
		}
		at(time.Second)
		for _, c := range calls[:5] {
			c.finish(fail)
		}
		r.wantState(breaker.Open)
		at(9 * time.Second)
		calls[5].finish(fail)
		r.wantChanges("closed->open")
		at(10*time.Second + 900*time.Millisecond)
		if after, _ := r.rejected().RetryAfter(); after != 100*time.Millisecond+1 {
			t.Errorf("RetryAfter: got %v, want 100ms + 1ns", after)
		}
		at(11 * time.Second)
		r.wantRejected()
		at(11*time.Second + 1)
		r.hold().finish(succeed)
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

func TestC29_ReadingTheStateIsFreeAndExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 2)...)
		r.feed(1, fail)
		time.Sleep(time.Second - 1)
		r.wantState(breaker.Open)
		time.Sleep(time.Nanosecond)
		r.wantState(breaker.Open) // strictly after
		time.Sleep(time.Nanosecond)
		r.wantState(breaker.HalfOpen)
		for range 1000 {
			go func() {
				r.b.State()
				r.b.Counts()
			}()
		}
		synctest.Wait()
		r.wantState(breaker.HalfOpen)
		r.wantChanges("closed->open") // half-open is reported with the call
		first, second := r.hold(), r.hold()
		r.wantChanges("closed->open", "open->half-open")
		first.finish(succeed)
		second.finish(succeed)
		r.wantChanges("closed->open", "open->half-open", "half-open->closed")
	})
}

// Open for a long time without calls or reads: the first call is a probe all the same.
func TestC29_NoReadIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.feed(1, fail)
		time.Sleep(1000 * time.Hour)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
	})
}
