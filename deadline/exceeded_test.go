package deadline_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

func TestExceededMatchesItsReasonAndTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := observed(deadline.New(time.Second))
		err := p.Do(t.Context(), ignorant(2*time.Second, errDown))
		wantIs(t, err, deadline.ErrExceeded, context.DeadlineExceeded, errDown)
		wantNot(t, err, context.Canceled, stoic.ErrRejected)
		e := exceeded(t, err)
		if e.Pipeline != "payments" || e.Limit != time.Second || !same(e.Err, errDown) {
			t.Errorf("got %+v", e)
		}
		if got, want := err.Error(), "payments: deadline of 1s exceeded: down"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := e.ErrorType(); got != "deadline_exceeded" {
			t.Errorf("ErrorType is %q", got)
		}
		if timeout, ok := errors.AsType[net.Error](context.DeadlineExceeded); !ok || !timeout.Timeout() || !e.Timeout() {
			t.Error("Timeout is not true, as context.DeadlineExceeded has it")
		}
		want := []string{"start call payments #1", "deadline_exceeded deadline payments #1 1s", "end call payments #1 failed"}
		if got := events.Strings(); !slices.Equal(got, want) {
			t.Errorf("hooks heard\n got %q\nwant %q", got, want)
		}
		if got := events.Events()[0].Err; !same(got, err) {
			t.Errorf("the event has %v, want the error itself", got)
		}
	})
}

func TestExceededErrorHidesSecretsOfURLs(t *testing.T) {
	e := &deadline.ExceededError{Pipeline: "p", Limit: time.Second, Err: errors.New(`Get "https://u:pw@host/path?token=x": EOF`)}
	if got, want := e.Error(), `p: deadline of 1s exceeded: Get "https://host/path": EOF`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What the error is by what ended the call: whose deadline, a cancel, or both.
func TestWhoEndedTheCall(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name    string
		caller  time.Duration // its deadline; 0: none
		cancel  time.Duration // when it cancels; 0: never
		fn      stoic.Func
		exceeds bool
		same    error // the very value that must come back if it is not exceeded
	}{
		{"own", 0, 0, wait, true, nil},
		{"own, the caller's is later", 1001 * ms, 0, wait, true, nil},
		{"the caller's is equal", 1000 * ms, 0, wait, false, context.DeadlineExceeded},
		{"the caller's is earlier", 999 * ms, 0, wait, false, context.DeadlineExceeded},
		{"the caller's is earlier, late error", 999 * ms, 0, ignorant(2000*ms, errDown), false, errDown},
		{"both passed, own was earlier", 1500 * ms, 0, ignorant(2000*ms, errDown), true, nil},
		{"cancelled before", 0, 500 * ms, wait, false, context.Canceled},
		{"cancelled before, late error", 0, 500 * ms, ignorant(2000*ms, errDown), false, errDown},
		{"cancelled after, nobody looked", 0, 1500 * ms, ignorant(2000*ms, errDown), false, errDown},
		{"cancelled after, somebody waited", 0, 1500 * ms, waitThen(500*ms, errDown), false, errDown},
		{"cancelled at the same moment", 0, 1000 * ms, waitThen(0, errDown), false, errDown},
		{"cancelled after the return", 0, 1500 * ms, wait, true, nil},
		{"error before the time is up", 0, 0, ignorant(999*ms, errDown), false, errDown},
		{"error when the time is up", 0, 0, ignorant(1000*ms, errDown), true, nil},
		{"DeadlineExceeded of its own before", 0, 0, ignorant(10*ms, context.DeadlineExceeded), false, context.DeadlineExceeded},
		{"Canceled of its own after", 0, 0, ignorant(2000*ms, context.Canceled), true, nil},
		{"goes by Deadline and not by the timer", 0, 0, untilDeadline, true, nil},
		{"looked before it was up, and fails when it is", 0, 0, lookThen(1000*ms, errDown), true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.caller > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.caller)
					defer cancel()
				}
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				p, events := observed(deadline.New(1000 * ms))
				err := p.Do(ctx, func(ctx context.Context) error {
					err := tt.fn(ctx)
					synctest.Wait() // what is due at this moment happens
					return err
				})
				heard := len(events.Events())
				if tt.exceeds {
					wantIs(t, err, deadline.ErrExceeded, context.DeadlineExceeded)
					if heard != 1 {
						t.Errorf("%d events, want 1", heard)
					}
					return
				}
				if !same(err, tt.same) || heard != 0 {
					t.Errorf("got %v and %d events, want %v itself and none", err, heard, tt.same)
				}
			})
		})
	}
}

func waitThen(d time.Duration, err error) stoic.Func {
	return func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(d)
		return err
	}
}

func lookThen(d time.Duration, err error) stoic.Func {
	return func(ctx context.Context) error {
		_ = ctx.Done()
		time.Sleep(d)
		return err
	}
}

func untilDeadline(ctx context.Context) error {
	at, _ := ctx.Deadline()
	time.Sleep(time.Until(at))
	return errDown
}

func TestResultInHandIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, events := observed(deadline.New(time.Second))
		got, err := stoic.Get(t.Context(), p, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return 7, nil
		})
		if got != 7 || err != nil {
			t.Errorf("got %d, %v; want 7, nil", got, err)
		}
		if n := len(events.Events()); n != 0 {
			t.Errorf("%d events, want none", n)
		}
	})
}

func TestBenignErrorIsUnchangedWhenTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		benign := stoic.Benign(func(err error) bool { return errors.Is(err, errDown) })
		p, events := observed(deadline.New(time.Second), benign)
		if err := p.Do(t.Context(), waitThen(0, errDown)); !same(err, errDown) {
			t.Errorf("got %v, want the error itself", err)
		}
		if n := len(events.Events()); n != 0 {
			t.Errorf("%d events, want none", n)
		}
	})
}

// Each deadline answers for its own time.
func TestNestedDeadlines(t *testing.T) {
	tests := []struct {
		name         string
		outer, inner time.Duration
		fn           stoic.Func
		limits       []time.Duration // of the ExceededErrors, outermost first
	}{
		{"the inner is earlier", 2 * time.Second, time.Second, wait, []time.Duration{time.Second}},
		{"the outer is earlier", time.Second, 2 * time.Second, wait, []time.Duration{time.Second}},
		{"equal: it is the outer's", time.Second, time.Second, wait, []time.Duration{time.Second}},
		{"both", 2 * time.Second, time.Second, ignorant(3*time.Second, errDown), []time.Duration{2 * time.Second, time.Second}},
		{"neither", 2 * time.Second, time.Second, ignorant(time.Second-1, errDown), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, events := observed(deadline.New(tt.outer), deadline.New(tt.inner))
				err := p.Do(t.Context(), tt.fn)
				var got []time.Duration
				for e, ok := errors.AsType[*deadline.ExceededError](err); ok; e, ok = errors.AsType[*deadline.ExceededError](e.Err) {
					got = append(got, e.Limit)
				}
				if !slices.Equal(got, tt.limits) {
					t.Errorf("exceeded %v, want %v", got, tt.limits)
				}
				if n := len(events.Events()); n != len(tt.limits) {
					t.Errorf("%d events, want %d", n, len(tt.limits))
				}
			})
		})
	}
}

// An own deadline that has not passed is not exceeded, whatever the parent says.
func TestParentThatClaimsTheDeadlinePassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := newCustom(t.Context())
		p, _ := observed(deadline.New(time.Second))
		err := p.Do(parent, func(context.Context) error {
			parent.end(context.DeadlineExceeded)
			return errDown
		})
		if !same(err, errDown) {
			t.Errorf("got %v, want the error itself", err)
		}
	})
}
