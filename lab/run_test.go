package lab_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// tiny is a scenario that takes no time.
func tiny() lab.Scenario {
	return lab.Scenario{Name: "tiny", Duration: 100 * time.Millisecond, Clients: lab.Clients{Burst: 5}}
}

func TestRunSaysInWordsWhatWentWrong(t *testing.T) {
	layer := func(run func(ctx context.Context, next stoic.Next) error) lab.Stack {
		return func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", stoic.PolicyFunc("f", run)) }
	}
	op := func(f func(ctx context.Context) error) lab.Scenario {
		sc := tiny()
		sc.Op = func(ctx context.Context, _ lab.Call) error { return f(ctx) }
		return sc
	}
	for _, tt := range []struct {
		name  string
		sc    lab.Scenario
		stack lab.Stack
		want  error
		text  string
	}{
		{"panic in the stack function", tiny(), func(*lab.Env) *stoic.Pipeline { panic("no stack") }, lab.ErrPanic, "no stack"},
		{"invalid stack", tiny(), func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", retry.New(retry.MaxAttempts(0))) }, lab.ErrPanic, "MaxAttempts(0)"},
		{"nil stack", tiny(), func(*lab.Env) *stoic.Pipeline { return nil }, stoic.ErrInvalid, "returned no pipeline"},
		{"no stack function", tiny(), nil, stoic.ErrInvalid, "stack(nil)"},
		{"zero pipeline", tiny(), func(*lab.Env) *stoic.Pipeline { return &stoic.Pipeline{} }, stoic.ErrInvalid, "not made by New"},
		{"Goexit in the stack function", tiny(), func(*lab.Env) *stoic.Pipeline { runtime.Goexit(); return nil }, lab.ErrGoexit, "ended before"},
		{"panic in a layer", tiny(), layer(func(context.Context, stoic.Next) error { panic("bad layer") }), lab.ErrPanic, "bad layer"},
		{"panic in the operation", op(func(context.Context) error { panic("bad op") }), bare, lab.ErrPanic, "bad op"},
		{"Goexit in the operation", op(func(context.Context) error { runtime.Goexit(); return nil }), bare, lab.ErrGoexit, "ended before"},
		{"panic in an error", op(func(context.Context) error { return badError{} }), bare, lab.ErrPanic, "bad Is"},
		{"deadlock", op(func(context.Context) error { <-make(chan int); return nil }), bare, lab.ErrDeadlock, "never comes"},
		{"leak", op(func(context.Context) error { go func() { <-make(chan int) }(); return nil }), bare, lab.ErrLeak, "blocked goroutines remain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := lab.Run(tt.sc, tt.stack)
			if res != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v and error %v, want %v with %q", res, err, tt.want, tt.text)
			}
			if res, err := lab.Run(tiny(), bare); err != nil || res.OK != 5 {
				t.Errorf("the next run: %v, %v, want five that are ok", res, err)
			}
		})
	}
}

// badError panics when it is asked.
type badError struct{}

func (badError) Error() string { return "bad" }
func (badError) Is(error) bool { panic("bad Is") }

func TestRunInsideABubbleIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if res, err := lab.Run(tiny(), bare); res != nil || !errors.Is(err, lab.ErrNested) {
			t.Errorf("got %v, %v, want ErrNested", res, err)
		}
	})
	var inner error
	sc := tiny()
	sc.Op = func(context.Context, lab.Call) error {
		_, inner = lab.Run(tiny(), bare)
		return inner
	}
	sc.Clients.Burst = 1
	if _, err := lab.Run(sc, bare); err != nil || !errors.Is(inner, lab.ErrNested) {
		t.Errorf("outer %v, inner %v, want ErrNested inside", err, inner)
	}
}

func TestRealIOIsReportedAndNotWaitedForEver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	stacks := map[string]lab.Stack{
		"in the operation": bare,
		"in the stack function": func(*lab.Env) *stoic.Pipeline {
			_, _ = l.Accept()
			return stoic.MustNew("p")
		},
	}
	for name, stack := range stacks {
		t.Run(name, func(t *testing.T) {
			sc := tiny()
			sc.Stall = 100 * time.Millisecond
			sc.Op = func(context.Context, lab.Call) error {
				_, err := l.Accept()
				return err
			}
			if res, err := lab.Run(sc, stack); res != nil || !errors.Is(err, lab.ErrStalled) || !strings.Contains(err.Error(), "real I/O") {
				t.Errorf("got %v, %v, want ErrStalled", res, err)
			}
		})
	}
}

func TestLoopWithoutAWaitIsReported(t *testing.T) {
	sc := tiny()
	sc.Stall = 100 * time.Millisecond
	sc.Op = func(context.Context, lab.Call) error { return errors.New("down") }
	forever := func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("p", retry.New(retry.Unlimited(), retry.Constant(0)))
	}
	if res, err := lab.Run(sc, forever); res != nil || !errors.Is(err, lab.ErrStalled) {
		t.Errorf("got %v, %v, want ErrStalled", res, err)
	}
}

func TestCallsThatDoNotReturnAtTheEndAreReported(t *testing.T) {
	sc := tiny()
	sc.Stall = 100 * time.Millisecond
	var stop atomic.Bool
	defer stop.Store(true)
	sc.Op = func(context.Context, lab.Call) error {
		for !stop.Load() {
			time.Sleep(time.Hour)
		}
		return nil
	}
	if res, err := lab.Run(sc, bare); res != nil || !errors.Is(err, lab.ErrStalled) || !strings.Contains(err.Error(), "have not returned") {
		t.Errorf("got %v, %v, want ErrStalled at the end", res, err)
	}
}

// A run ends at Duration and Drain, whatever its calls wait for.
func TestRunEndsWithCallsInFlight(t *testing.T) {
	for name, wait := range map[string]lab.WaitMode{"deadline only": lab.DeadlineOnly, "on done": lab.OnDone} {
		t.Run(name, func(t *testing.T) {
			sc := lab.Scenario{
				Duration: 10 * time.Second, Drain: 5 * time.Second, Wait: wait, Clients: lab.Clients{Rate: 100},
				Faults: []lab.Fault{{Kind: lab.BlackHole, From: 5 * time.Second, To: time.Minute}},
			}
			unlimited := func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", retry.New(retry.Unlimited())) }
			for stackName, stack := range map[string]lab.Stack{"bare": bare, "retry for ever": unlimited} {
				res := run(t, sc, stack)
				if res.InFlight == 0 || res.InFlight != res.Between(5*time.Second, 10*time.Second).Requests || res.Length != 15*time.Second {
					t.Errorf("%s: %d in flight after %v, want all from 5s on, at 15s", stackName, res.InFlight, res.Length)
				}
			}
			sc.Op = func(ctx context.Context, c lab.Call) error {
				<-ctx.Done()
				if c.Now() != 15*time.Second {
					t.Errorf("the context is done after %v, want 15s", c.Now())
				}
				return ctx.Err()
			}
			sc.Faults = nil
			if res := run(t, sc, bare); res.InFlight != res.Requests {
				t.Errorf("%d of %d in flight, want all", res.InFlight, res.Requests)
			}
		})
	}
}

func TestRunContextStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	sc := lab.Scenario{Duration: 1000 * time.Hour, Window: time.Hour, Clients: lab.Clients{Rate: 1000}, Stall: time.Second}
	sc.Progress = func(at time.Duration) {
		if at > 0 {
			cancel(why)
		}
	}
	if res, err := lab.RunContext(ctx, sc, bare); res != nil || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want the cause", res, err)
	}
}

func TestRunSeedsKeepsTheOrderAndTheErrors(t *testing.T) {
	sc := lab.Scenario{Duration: time.Second, Clients: lab.Clients{Rate: 50}}
	results, err := lab.RunSeeds(sc, bare, 3, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, seed := range []uint64{3, 1, 2} {
		sc.Seed = seed
		if one := run(t, sc, bare); results[i].Seed != seed || results[i].Requests != one.Requests {
			t.Errorf("result %d: seed %d with %d requests, want %d with %d", i, results[i].Seed, results[i].Requests, seed, one.Requests)
		}
	}
	boom := func(env *lab.Env) *stoic.Pipeline { panic("boom") }
	if results, err := lab.RunSeeds(sc, boom, 1, 2, 3); results != nil || !errors.Is(err, lab.ErrPanic) {
		t.Errorf("got %v, %v, want the panic", results, err)
	}
}
