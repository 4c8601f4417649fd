package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/stoic-go/stoic"
)

// ErrStalled matches a run whose virtual time did not move: something in it waits for
// the world outside (a socket, a file, a lock held across a wait), or never waits at all.
var ErrStalled = errors.New("lab: virtual time does not move")

// A Stack makes the stack of one client process. It is called inside the run, once for
// each process, or once if they are Shared, so that all its clocks are virtual: make the
// policies in it, not around it.
type Stack func(env *Env) *stoic.Pipeline

// Run lives through the scenario with the stack and returns what came out. It works the
// same in a test, an example, a benchmark and a program, and takes as much real time as
// computing needs: about a second for 200 000 attempts.
//
// An error says what is wrong: a bad value in the scenario or the stack
// (stoic.ErrInvalid), a panic, a deadlock, a goroutine left behind, or virtual time that
// stands still because something waits for the real world. Run cannot stop what does not
// return: after ErrStalled its goroutines remain.
func Run(sc Scenario, stack Stack) (*Result, error) {
	return RunContext(context.Background(), sc, stack)
}

// RunContext is [Run] that ends with an error when ctx is done.
func RunContext(ctx context.Context, sc Scenario, stack Stack) (*Result, error) {
	if err := sc.Validate(); err != nil {
		return nil, err
	}
	if stack == nil {
		return nil, &stoic.InvalidError{Pipeline: "lab", Field: "stack", Value: "nil", Reason: "needs a function that makes a stack"}
	}
	w := &world{sc: sc.withDefaults(), seed: sc.Seed, stack: stack, started: make(chan *kernel, 1)}
	done := make(chan error, 1)
	go func() { done <- enter(w.run) }()
	err := w.watch(ctx, done)
	switch {
	case err != nil:
		return nil, w.explain(err)
	case w.failure != nil:
		return nil, w.explain(w.failure)
	default:
		return w.res, nil
	}
}

// RunSeeds runs the scenario once for each seed, as many at a time as there are
// processors, and returns the results in that order. It stops at the first error.
func RunSeeds(sc Scenario, stack Stack, seeds ...uint64) ([]*Result, error) {
	results := make([]*Result, len(seeds))
	errs := make([]error, len(seeds))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var group sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, seed := range seeds {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			sc := sc
			sc.Seed = seed
			if results[i], errs[i] = RunContext(ctx, sc, stack); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return results, nil
}

// world is one run.
type world struct {
	*kernel

	sc      Scenario
	seed    uint64
	stack   Stack
	started chan *kernel    // told to the watchdog
	ctx     context.Context //nolint:containedctx // of the run, made in the bubble
	rand    *rand.Rand      // of the generator

	processes  []*stoic.Pipeline
	server     *server
	late       lateCalls
	rec        *recorder
	group      sync.WaitGroup
	idle       []*worker
	generating bool
	failure    error
	res        *Result
}

// run is the whole run, inside the bubble.
func (w *world) run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w.ctx = ctx
	w.kernel = newKernel(w.sc.Duration+w.sc.Drain, w.sc.grain, stop)
	w.started <- w.kernel
	w.rand = w.stream(1)
	w.server = newServer(w.sc.Server, newFaults(w.sc.Faults))
	w.rec = newRecorder(w.sc.Window)
	if err := w.makeStacks(); err != nil {
		w.failure = err
		return
	}
	atEnd := time.AfterFunc(w.end, func() { w.woke(w.end) }) // for those who wait on Done only
	defer atEnd.Stop()
	w.startClients()
	w.group.Wait()
	w.res = w.result()
}

// stream is a source of random numbers of its own; those of requests have other numbers.
func (w *world) stream(n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(^w.seed, mix(n)))
}

func (w *world) makeStacks() error {
	n := w.sc.Clients.Processes
	if w.sc.Clients.Shared {
		n = 1
	}
	for i := range n {
		p := w.stack(&Env{Process: i, w: w, r: w.stream(1000 + uint64(i))})
		if p == nil {
			return &stoic.InvalidError{Pipeline: "lab", Field: "stack", Value: "nil", Reason: "the function returned no pipeline"}
		}
		hook := &watcher{w: w}
		watched, err := stoic.New(p.Name(), stoic.Observe(hook), p)
		if err != nil {
			return err
		}
		if !hook.needed {
			watched = p
		}
		w.processes = append(w.processes, watched)
	}
	return nil
}

// startClients starts everybody who makes requests. What they do first is reserved
// before anybody runs.
func (w *world) startClients() {
	clients := &w.sc.Clients
	if clients.Loop == 0 {
		next := burst(clients.Burst)
		if clients.Burst == 0 {
			next = newArrivals(clients, w.stream(2)).next
		}
		w.generating = true
		w.group.Go(func() { guard(func() { w.generate(next) }, w.fail) })
		return
	}
	type user struct {
		r     *rand.Rand
		first time.Duration
	}
	users := make([]user, clients.Loop)
	for i := range users {
		users[i].r = w.stream(1_000_000 + uint64(i))
		users[i].first = w.reserve(max(1, clients.Think.Draw(users[i].r)))
	}
	for i, u := range users {
		w.group.Go(func() { guard(func() { w.loop(i, u.r, u.first) }, w.fail) })
	}
}

// fail ends the run because of a panic or the like.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = err
	}
	w.abort()
}

// explain names the scenario.
func (w *world) explain(err error) error {
	if w.sc.Name == "" {
		return err
	}
	return fmt.Errorf("scenario %q: %w", w.sc.Name, err)
}
