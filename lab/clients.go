package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoic-go/stoic/internal/settings"
)

// Clients are those who call. Exactly one of Rate, Load, Burst and Loop says when.
type Clients struct {
	// Processes is how many processes there are [1]. Each has a stack of its own, with its
	// own breaker and budget, unless Shared.
	Processes int
	Shared    bool

	// Rate is how many requests start in a second, in all processes together, whatever
	// becomes of the earlier ones: an open loop.
	Rate float64

	// Load is a rate that changes.
	Load []LoadPoint

	// Even spaces the requests of Rate and Load evenly. Without it they are a Poisson
	// process, as those of many independent users are.
	Even bool

	// Burst is how many requests start at 0, all at once, dealt out to the processes.
	Burst int

	// Loop is how many users make one request after the other: a closed loop. Before each
	// one a user thinks.
	Loop  int
	Think Dist

	// Requests is how many requests each user of a Loop makes [no limit].
	Requests int
}

func (c *Clients) check(p *settings.Problems) {
	p.Check("Processes", c.Processes >= 1 && c.Processes <= 100_000, "Clients.Processes", c.Processes, "must be from 1 to 100000")
	p.Check("Rate", c.Rate >= 0 && c.Rate <= 1e6, "Clients.Rate", c.Rate, "must be from 0 to 1000000 requests a second")
	p.Check("Burst", c.Burst >= 0 && c.Burst <= 1e6, "Clients.Burst", c.Burst, "must be from 0 to 1000000")
	p.Check("Loop", c.Loop >= 0 && c.Loop <= 100_000, "Clients.Loop", c.Loop, "must be from 0 to 100000")
	p.Check("Requests", c.Requests >= 0, "Clients.Requests", c.Requests, "must not be negative; 0 is no limit")
	c.Think.check(p, "Clients.Think")
	kinds := 0
	for _, used := range []bool{c.Rate != 0, len(c.Load) > 0, c.Burst != 0, c.Loop != 0} {
		if used {
			kinds++
		}
	}
	p.Check("kind", kinds == 1, "Clients", fmt.Sprintf("%d of Rate, Load, Burst and Loop", kinds), "exactly one of the four must be set")
	p.Check("Requests of", c.Loop > 0 || c.Requests == 0, "Clients.Requests", c.Requests, "is for a Loop")
	p.Check("Think of", c.Loop > 0 || c.Think == Dist{}, "Clients.Think", c.Think, "is for a Loop")
	before := time.Duration(0)
	for i, point := range c.Load {
		field := fmt.Sprintf("Clients.Load[%d]", i)
		p.Check(field+".At", point.At >= before && point.At <= longest, field+".At", point.At, "must not be before the point before it, nor after "+longest.String())
		p.Check(field+".Rate", point.Rate >= 0 && point.Rate <= 1e6, field+".Rate", point.Rate, "must be from 0 to 1000000 requests a second")
		before = point.At
	}
}

// An Env is what a [Stack] is made in: one process of the run.
type Env struct {
	// Process is the number of the process, from 0.
	Process int

	w *world
	r *rand.Rand
}

// Rand returns a number in [0, 1) from the run's seed, for policies that need chance.
// Those of this module draw by themselves.
func (e *Env) Rand() float64 {
	e.w.mu.Lock()
	defer e.w.mu.Unlock()
	return e.r.Float64()
}

// Now is the time since the run began.
func (e *Env) Now() time.Duration { return e.w.now() }

// Sleep waits for d, for policies that wait: by it, and not by package time, or the run
// is repeatable only by luck. ctx is that of the call. It returns an error early when ctx
// is done, and when the run is over.
func (e *Env) Sleep(ctx context.Context, d time.Duration) error {
	return e.w.pause(ctx, callOf(ctx), d)
}

// do runs a request through the stack of its process.
func (w *world) do(c *call) {
	op := c.attempt
	if w.sc.Op != nil {
		op = c.custom
	}
	process := c.process
	if w.sc.Clients.Shared {
		process = 0
	}
	result := outcomeOf(w.processes[process].Do(c, op))
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over(now) {
		w.event(now, c)
		w.rec.finish(c, now, result)
	}
}

// worker runs the requests of an open loop, one at a time. Goroutines that have run a
// call have the stack for the next one already, so idle ones are used again.
type worker struct{ work chan *call }

func (w *world) startWorker(first *call) {
	worker := &worker{work: make(chan *call, 1)}
	worker.work <- first
	w.group.Go(func() {
		guard(func() {
			for c := range worker.work {
				w.do(c)
				if !w.idled(worker) {
					return
				}
			}
		}, w.fail)
	})
}

// idled makes a worker wait for more, if there may be any.
func (w *world) idled(worker *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.generating {
		return false
	}
	w.idle = append(w.idle, worker)
	return true
}

// generate starts the requests of an open loop. After it has handed one over it touches
// nothing that others see: from then on that request is the chain of the instant.
func (w *world) generate(next func() time.Duration) {
	defer w.generated()
	at := next()
	if at >= w.sc.Duration {
		return
	}
	w.mu.Lock()
	t := w.reserve(at)
	w.mu.Unlock()
	now := w.now()
	for n := uint64(0); ; n++ {
		if !w.sleep(now, t) || t >= w.sc.Duration {
			return
		}
		at = next()
		w.mu.Lock()
		w.release(t)
		now = t
		c := w.newCall(now, n, w.processOf(n))
		last := at >= w.sc.Duration
		if !last {
			t = w.reserve(max(at, now+1))
		}
		worker := w.takeIdle()
		w.mu.Unlock()
		if worker != nil {
			worker.work <- c
		} else {
			w.startWorker(c)
		}
		if last {
			return
		}
	}
}

// processOf gives request n of an open loop to a process: any, and of a burst the same
// number to each.
func (w *world) processOf(n uint64) int {
	if w.sc.Clients.Burst > 0 {
		return int(n) % w.sc.Clients.Processes
	}
	return w.rand.IntN(w.sc.Clients.Processes)
}

func (w *world) takeIdle() *worker {
	n := len(w.idle)
	if n == 0 {
		return nil
	}
	worker := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return worker
}

// generated ends the workers: those that are idle at once, the others with their call.
func (w *world) generated() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.generating = false
	for _, worker := range w.idle {
		close(worker.work)
	}
	w.idle = nil
}

// burst is the schedule of n requests at 0.
func burst(n int) func() time.Duration {
	return func() time.Duration {
		n--
		if n < 0 {
			return never
		}
		return 0
	}
}

// loop is one user of a closed loop, whose first request starts at the reserved instant.
func (w *world) loop(user int, r *rand.Rand, first time.Duration) {
	now, t := time.Duration(0), first
	for n := uint64(0); w.sc.Clients.Requests == 0 || n < uint64(w.sc.Clients.Requests); n++ {
		if !w.sleep(now, t) || t >= w.sc.Duration {
			return
		}
		w.mu.Lock()
		w.release(t)
		c := w.newCall(t, uint64(user)<<32|n, user%w.sc.Clients.Processes)
		w.mu.Unlock()
		w.do(c)
		now = w.now()
		if w.over(now) {
			return
		}
		think := w.sc.Clients.Think.Draw(r)
		w.mu.Lock()
		t = w.reserve(now + max(think, 1))
		w.mu.Unlock()
	}
}
