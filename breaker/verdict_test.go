package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

func notFoundIsNeutral(err error) stoic.Verdict {
	if errors.Is(err, errNotFound) {
		return stoic.Neutral
	}
	return stoic.Failure
}

func TestJudgeDecides(t *testing.T) {
	tests := map[string]struct {
		verdict stoic.Verdict
		want    breaker.Counts
	}{
		"success":                     {stoic.Success, breaker.Counts{Successes: 1}},
		"failure":                     {stoic.Failure, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
		"neutral":                     {stoic.Neutral, breaker.Counts{}},
		"the zero verdict, a failure": {0, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
		"an unknown one, a failure":   {77, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, breaker.Judge(func(error) stoic.Verdict { return tt.verdict }))
			if err := r.do(t.Context(), fail); !errors.Is(err, errDown) {
				t.Errorf("got %v, want the error of the operation", err)
			}
			if got := r.b.Counts(); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestJudgeIsAskedOnlyAboutFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []error
		b := breaker.New("db", breaker.Judge(func(err error) stoic.Verdict {
			asked = append(asked, err)
			return stoic.Failure
		}))
		r := &rig{t: t, b: b, p: stoic.MustNew("pay", b,
			stoic.Benign(func(err error) bool { return errors.Is(err, errNotFound) }))}
		r.feed(1, succeed)
		r.feed(1, func(context.Context) error { return errNotFound })
		r.hold().giveUp()
		_ = r.do(t.Context(), func(context.Context) error { return &stoic.Rejection{Err: errDown} })
		if len(asked) != 0 {
			t.Errorf("asked about %v", asked)
		}
		r.feed(1, fail)
		if len(asked) != 1 || !errors.Is(asked[0], errDown) {
			t.Errorf("asked about %v, want the failure, once", asked)
		}
		r.wantCounts(2, 1, 1)
	})
}

func TestJudgedSuccessCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1, breaker.Judge(func(err error) stoic.Verdict {
			if errors.Is(err, errNotFound) {
				return stoic.Success
			}
			return stoic.Failure
		}))...)
		r.trip(time.Second)
		r.feed(1, func(context.Context) error { return errNotFound })
		r.wantState(breaker.Closed)
	})
}

// A benign error is a success: it ends a streak, closes, and reaches the caller as it is.
func TestBenignErrorIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("db", inARow(2, time.Second, 1)...)
		r := &rig{t: t, b: b, p: stoic.MustNew("pay", b,
			stoic.Benign(func(err error) bool { return errors.Is(err, errNotFound) }))}
		notFound := func(context.Context) error { return errNotFound }
		r.feed(1, fail)
		r.feed(1, notFound)
		r.wantCounts(1, 1, 0)
		r.trip(time.Second)
		//nolint:errorlint // the very same error is meant
		if err := r.do(t.Context(), notFound); err != errNotFound {
			t.Errorf("got %#v, want the error unchanged", err)
		}
		r.wantState(breaker.Closed)
	})
}

// A local rejection from further in says nothing about the dependency.
func TestInnerRejectionIsNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := breaker.New("inner")
		inner.ForceOpen()
		r := newRig(t, inARow(2, time.Second, 1)...)
		p := r.p
		r.feed(1, fail)
		r.p = stoic.MustNew("pay", r.b, inner)
		for range 10 {
			if err := r.do(t.Context(), succeed); !errors.Is(err, breaker.ErrOpen) {
				t.Fatalf("got %v", err)
			}
		}
		r.wantCounts(0, 1, 1)
		r.p = p
		r.feed(1, fail)
		r.wantState(breaker.Open)
	})
}

func TestSlowCall(t *testing.T) {
	const limit = 100 * time.Millisecond
	after := func(d time.Duration, err error) stoic.Func {
		return func(context.Context) error {
			time.Sleep(d)
			return err
		}
	}
	tests := map[string]struct {
		op   stoic.Func
		err  error
		want breaker.Counts
	}{
		"exactly the limit is not slow": {after(limit, nil), nil, breaker.Counts{Successes: 1}},
		"slower is a failure":           {after(limit+1, nil), nil, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
		"a failure is one failure":      {after(limit+1, errDown), errDown, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
		"neutral stays neutral":         {after(limit+1, errNotFound), errNotFound, breaker.Counts{}},
		"an error judged a success":     {after(limit, errAnswer), errAnswer, breaker.Counts{Successes: 1}},
		"judged a success, but slower":  {after(limit+1, errAnswer), errAnswer, breaker.Counts{Failures: 1, ConsecutiveFailures: 1}},
	}
	judge := func(err error) stoic.Verdict {
		if errors.Is(err, errAnswer) {
			return stoic.Success
		}
		return notFoundIsNeutral(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, breaker.SlowCall(limit), breaker.Judge(judge))
				//nolint:errorlint // the caller gets the very same result
				if err := r.do(t.Context(), tt.op); err != tt.err {
					t.Errorf("got %v, want %v", err, tt.err)
				}
				if got := r.b.Counts(); got != tt.want {
					t.Errorf("got %+v, want %+v", got, tt.want)
				}
			})
		})
	}
}

var errAnswer = errors.New("an answer")

func TestSlowProbeOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1, breaker.SlowCall(time.Second))...)
		r.trip(time.Second)
		probe := r.hold()
		time.Sleep(time.Second + 1)
		if e := probe.finish(succeed); e.err != nil {
			t.Errorf("got %v, want the result", e.err)
		}
		r.wantState(breaker.Open)
	})
}
