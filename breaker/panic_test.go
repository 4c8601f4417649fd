package breaker_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
)

// errBroken makes the Judge of brokenJudge panic.
var errBroken = errors.New("broken")

func brokenJudge(err error) stoic.Verdict {
	if errors.Is(err, errBroken) {
		panic(errBroken)
	}
	return stoic.Failure
}

func exitJudge(err error) stoic.Verdict {
	if errors.Is(err, errBroken) {
		runtime.Goexit()
	}
	return stoic.Failure
}

// abrupt are the ways to end a call without an error.
var abrupt = map[string]struct {
	op    stoic.Func
	judge func(error) stoic.Verdict
	want  ending
}{
	"panic":             {func(context.Context) error { panic(errDown) }, brokenJudge, ending{value: errDown}},
	"Goexit":            {func(context.Context) error { runtime.Goexit(); return nil }, brokenJudge, ending{exited: true}},
	"panic in Judge":    {func(context.Context) error { return errBroken }, brokenJudge, ending{value: errBroken}},
	"Goexit in Judge":   {func(context.Context) error { return errBroken }, exitJudge, ending{exited: true}},
	"panic of a string": {func(context.Context) error { panic("text") }, brokenJudge, ending{value: "text"}},
}

func TestAbruptEndInClosedIsAFailure(t *testing.T) {
	for name, tt := range abrupt {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(2, time.Second, 1, breaker.Judge(tt.judge))...)
				call := func() {
					t.Helper()
					if e := run(func() error { return r.do(context.Background(), tt.op) }); e != tt.want {
						t.Errorf("got %+v, want %+v", e, tt.want)
					}
				}
				call()
				r.wantState(breaker.Closed)
				r.wantCounts(0, 1, 1)
				call()
				r.wantState(breaker.Open)
				r.wantChanges("closed->open")
				if err := r.rec.Check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestC79_AbruptEndOfAProbeIsAFailure(t *testing.T) {
	for name, tt := range abrupt {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, inARow(1, time.Second, 1, breaker.Judge(tt.judge))...)
				r.trip(time.Second)
				if e := run(func() error { return r.do(context.Background(), tt.op) }); e != tt.want {
					t.Errorf("got %+v, want %+v", e, tt.want)
				}
				if err := r.rec.Check(); err != nil {
					t.Errorf("the call has not ended for the hook: %v", err)
				}
				r.wantState(breaker.Open)
				r.wantRejected()
				time.Sleep(time.Second + 1)
				r.feed(1, succeed)
				r.wantState(breaker.Closed)
				r.wantChanges("closed->open", "open->half-open", "half-open->open", "open->half-open", "half-open->closed")
			})
		})
	}
}

// One of two probes ends abruptly while the other is out: nothing stays taken.
func TestC79_AbruptEndBesideAnotherProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 2)...)
		r.trip(time.Second)
		other, exits := r.hold(), r.hold()
		if e := exits.finish(func(context.Context) error { runtime.Goexit(); return nil }); !e.exited {
			t.Errorf("got %+v, want an exit", e)
		}
		r.wantState(breaker.Open)
		time.Sleep(time.Second + 1)
		first, second := r.hold(), r.hold()
		other.finish(succeed)
		first.finish(succeed)
		r.wantState(breaker.HalfOpen)
		second.finish(succeed)
		r.wantState(breaker.Closed)
	})
}

// A Goexit in a hook during admission frees the probe too.
func TestGoexitInAHookFreesTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exit := true
		r := hookedRig(t, onChange(func(hooks.Event) {
			if exit {
				runtime.Goexit()
			}
		}), inARow(1, time.Second, 1)...)
		if e := run(func() error { return r.do(context.Background(), fail) }); !e.exited {
			t.Fatalf("got %+v, want an exit", e)
		}
		r.wantState(breaker.Open)
		time.Sleep(time.Second + 1)
		if e := run(func() error { return r.do(context.Background(), succeed) }); !e.exited {
			t.Fatalf("got %+v, want an exit", e)
		}
		exit = false
		r.wantState(breaker.HalfOpen)
		r.feed(1, succeed)
		r.wantState(breaker.Closed)
	})
}

// There is no recover on the way: where the panic is caught, the function that panicked
// is still on the stack.
func TestPanicKeepsItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Second, 1)...)
		r.p = stoic.MustNew("pay", r.b) // an Observe layer would recover and panic anew
		for _, state := range []breaker.State{breaker.Closed, breaker.HalfOpen} {
			r.wantState(state)
			if stack := stackOfPanic(func() { _ = r.do(t.Context(), explode) }); !strings.Contains(stack, "breaker_test.explode") {
				t.Errorf("%v: the function that panicked is not on the stack:\n%s", state, stack)
			}
			time.Sleep(time.Second + 1)
		}
	})
}

func explode(context.Context) error { panic("explode") }

func stackOfPanic(f func()) (stack string) {
	defer func() {
		if recover() != nil {
			stack = string(debug.Stack())
		}
	}()
	f()
	return ""
}
