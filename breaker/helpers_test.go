package breaker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

var (
	errDown     = errors.New("down")
	errNotFound = errors.New("not found")
)

func succeed(context.Context) error { return nil }
func fail(context.Context) error    { return errDown }

// rig is a breaker in a stack of its own, with a recorder around it.
type rig struct {
	t   *testing.T
	b   *breaker.Breaker
	p   *stoic.Pipeline
	rec *hookstest.Recorder
	ops atomic.Int64 // how often the operation was entered
}

func newRig(t *testing.T, opts ...breaker.Option) *rig {
	t.Helper()
	r := &rig{t: t, b: breaker.New("db", opts...), rec: &hookstest.Recorder{}}
	r.p = stoic.MustNew("pay", stoic.Observe(r.rec), r.b)
	return r
}

// inARow is B(n, open, p) of the cases, with more options.
func inARow(n int, open time.Duration, p int, more ...breaker.Option) []breaker.Option {
	return append([]breaker.Option{breaker.ConsecutiveFailures(n), breaker.OpenFor(open), breaker.Probes(p)}, more...)
}

func (r *rig) do(ctx context.Context, fn stoic.Func) error {
	return r.p.Do(ctx, r.counted(fn))
}

func (r *rig) counted(fn stoic.Func) stoic.Func {
	return func(ctx context.Context) error {
		r.ops.Add(1)
		return fn(ctx)
	}
}

// feed makes n calls that end with fn and must be admitted.
func (r *rig) feed(n int, fn stoic.Func) {
	r.t.Helper()
	for range n {
		if err := r.do(context.Background(), fn); errors.Is(err, stoic.ErrRejected) {
			r.t.Fatalf("rejected: %v", err)
		}
	}
}

// rejected makes a call that must be rejected, and returns the rejection.
func (r *rig) rejected() *stoic.Rejection {
	r.t.Helper()
	before := r.ops.Load()
	err := r.do(context.Background(), succeed)
	rejection, ok := errors.AsType[*stoic.Rejection](err)
	if !ok || !errors.Is(err, breaker.ErrOpen) || r.ops.Load() != before {
		r.t.Fatalf("got %v, want a rejection", err)
	}
	return rejection
}

func (r *rig) wantRejected() {
	r.t.Helper()
	_ = r.rejected()
}

// trip opens the breaker and sleeps until it is half-open.
func (r *rig) trip(open time.Duration) {
	r.t.Helper()
	for range 1000 {
		if r.b.State() == breaker.Open {
			time.Sleep(open + 1)
			r.wantState(breaker.HalfOpen)
			return
		}
		r.feed(1, fail)
	}
	r.t.Fatal("1000 failures did not open the breaker")
}

func (r *rig) wantState(want breaker.State) {
	r.t.Helper()
	if got := r.b.State(); got != want {
		r.t.Fatalf("state: got %v, want %v", got, want)
	}
}

func (r *rig) wantCounts(successes, failures, consecutive int) {
	r.t.Helper()
	got := r.b.Counts()
	want := breaker.Counts{Successes: successes, Failures: failures, ConsecutiveFailures: consecutive}
	if got != want {
		r.t.Fatalf("counts: got %+v, want %+v", got, want)
	}
}

func (r *rig) wantOps(want int64) {
	r.t.Helper()
	if got := r.ops.Load(); got != want {
		r.t.Fatalf("n(op): got %d, want %d", got, want)
	}
}

func (r *rig) wantChanges(want ...string) {
	r.t.Helper()
	if got := changes(r.rec); !slices.Equal(got, want) {
		r.t.Fatalf("state changes: got %q, want %q", got, want)
	}
}

// changes are the recorded state changes, such as "closed->open".
func changes(rec *hookstest.Recorder) []string {
	var all []string
	for _, e := range rec.Events(hooks.StateChange) {
		all = append(all, e.From+"->"+e.To)
	}
	return all
}

// ending is how a call ended: with an error, a panic, or by runtime.Goexit.
type ending struct {
	err    error
	value  any
	exited bool
}

// run runs call on a goroutine of its own and waits for its end.
func run(call func() error) ending {
	done := make(chan ending)
	go func() {
		e := ending{exited: true}
		defer func() {
			if v := recover(); v != nil {
				e = ending{value: v}
			}
			done <- e
		}()
		e = ending{err: call()}
	}()
	return <-done
}

// held is a call that is inside the operation until finish tells it how to end, or the
// test is over.
type held struct {
	cancel  context.CancelFunc
	entered atomic.Bool
	how     chan stoic.Func
	end     chan ending
}

// start starts a call on a goroutine of its own.
func start(t *testing.T, p *stoic.Pipeline) *held {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &held{cancel: cancel, how: make(chan stoic.Func), end: make(chan ending, 1)}
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	go func() {
		h.end <- run(func() error {
			return p.Do(ctx, func(ctx context.Context) error {
				h.entered.Store(true)
				select {
				case fn := <-h.how:
					return fn(ctx)
				case <-over:
					return nil
				}
			})
		})
	}()
	return h
}

// hold makes a call, in a synctest bubble, that is admitted and stays inside the
// operation.
func (r *rig) hold() *held {
	r.t.Helper()
	h := start(r.t, r.p)
	synctest.Wait()
	if !h.entered.Load() {
		r.t.Fatalf("not admitted: %v", (<-h.end).err)
	}
	r.ops.Add(1)
	return h
}

// finish lets the operation end with fn and waits for the end of the call.
func (h *held) finish(fn stoic.Func) ending {
	h.how <- fn
	e := <-h.end
	h.cancel()
	return e
}

// giveUp ends the call neutral: its caller cancels.
func (h *held) giveUp() ending {
	h.cancel()
	return h.finish(func(ctx context.Context) error { return ctx.Err() })
}
