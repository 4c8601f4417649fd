package lab

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/labhook"
)

// errEnded is what an operation returns when the run is over. Nobody counts it.
var errEnded = errors.New("lab: the run is over")

// WaitMode is how the modelled operation waits for its answer.
type WaitMode uint8

// The modes.
const (
	// DeadlineOnly reads ctx.Deadline and never asks for ctx.Done: it costs the least, and
	// is right where nothing but deadlines ends an attempt.
	DeadlineOnly WaitMode = iota

	// OnDone waits on ctx.Done as well, for stacks with a layer that cancels attempts.
	OnDone
)

// Call is one logical request on its way through a stack, for a Scenario with an Op of
// its own. Request n of a seed draws the same random numbers whatever the stack does.
type Call struct{ c *call }

// call is the context of a request.
type call struct {
	context.Context //nolint:containedctx // it is a context; it ends with the run

	w        *world
	number   uint64
	process  int
	start    time.Duration
	attempts int
	work     rand.Rand // what the dependency does
	jitter   rand.Rand // what the stack does
	pcg      [2]rand.PCG
}

// newCall begins request number n at the instant now. mu is held.
func (w *world) newCall(now time.Duration, n uint64, process int) *call {
	c := &call{Context: w.ctx, w: w, number: n, process: process, start: now}
	c.pcg[0].Seed(w.seed, mix(2*n))
	c.pcg[1].Seed(w.seed, mix(2*n+1))
	c.work, c.jitter = *rand.New(&c.pcg[0]), *rand.New(&c.pcg[1])
	w.event(now, c)
	w.rec.begin(c)
	return c
}

// mix spreads consecutive numbers over all bits (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Value answers for the lab's hook without another context around this one.
func (c *call) Value(key any) any {
	if key == (labhook.Key{}) {
		return c
	}
	return c.Context.Value(key)
}

var _ labhook.Hook = (*call)(nil)

// callOf is the call that ctx belongs to, or nil outside one.
func callOf(ctx context.Context) *call {
	c, _ := labhook.From(ctx).(*call)
	return c
}

// Number counts the requests of the run, from 0 in the order in which they start.
func (c Call) Number() uint64 { return c.c.number }

// Process is the client process that the request belongs to, from 0.
func (c Call) Process() int { return c.c.process }

// Now is the time since the run began.
func (c Call) Now() time.Duration { return c.c.w.now() }

// Draw returns a time that belongs to this request.
func (c Call) Draw(d Dist) time.Duration {
	c.c.w.mu.Lock()
	defer c.c.w.mu.Unlock()
	return d.Draw(&c.c.work)
}

// Float64 returns a number in [0, 1) that belongs to this request.
func (c Call) Float64() float64 {
	c.c.w.mu.Lock()
	defer c.c.w.mu.Unlock()
	return c.c.work.Float64()
}

// Sleep waits for d of virtual time. It returns an error early when ctx is done, and
// when the run is over. An Op waits by it, and not by package time, or the run is
// repeatable only by luck.
func (c Call) Sleep(ctx context.Context, d time.Duration) error { return c.c.Sleep(ctx, d) }

// Rand implements labhook.Hook for the jitter of a retry.
func (c *call) Rand() float64 {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.jitter.Float64()
}

// Sleep waits for d of virtual time. It returns an error early when ctx is done, and
// when the run is over.
func (c *call) Sleep(ctx context.Context, d time.Duration) error {
	return c.w.pause(ctx, c, d)
}

// pause is the sleep of policies and operations. c may be nil.
func (w *world) pause(ctx context.Context, c *call, d time.Duration) error {
	now := w.now()
	if w.over(now) {
		return errEnded
	}
	if d <= 0 {
		return ctx.Err()
	}
	until := now + min(d, longest)
	expires := false
	if at, ok := ctx.Deadline(); ok && w.since(at) < until {
		until, expires = max(w.since(at), now), true
	}
	w.mu.Lock()
	w.event(now, c)
	t := w.reserve(until)
	w.mu.Unlock()
	err := w.wait(ctx, c, now, t)
	if err == nil && expires {
		return context.DeadlineExceeded
	}
	return err
}

// wait waits until the reserved instant t. It returns an error when the run is over, and
// early when ctx is done if somebody has to hear of that.
func (w *world) wait(ctx context.Context, c *call, now, t time.Duration) error {
	var err error
	woke := t
	if w.sc.Wait == OnDone {
		woke, err = w.waitDone(ctx, now, t)
	} else if !w.sleep(now, t) {
		err = errEnded
	}
	if w.over(woke) {
		return errEnded
	}
	w.mu.Lock()
	w.release(woke)
	w.event(woke, c)
	w.mu.Unlock()
	return err
}

// waitDone is kernel.sleep that ends with ctx. Whatever it is that ended ctx, others may
// have been woken at that instant too, so the call goes on at an instant of its own.
func (w *world) waitDone(ctx context.Context, now, t time.Duration) (woke time.Duration, err error) {
	timer := time.NewTimer(min(t, w.end) - now)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.woke(t)
		return t, w.ended(ctx, t)
	case <-ctx.Done():
	}
	now = w.now()
	if w.over(now) {
		return now, errEnded
	}
	if t-now > time.Microsecond { // else it is the deadline, and t is the instant for that
		w.mu.Lock()
		w.release(t)
		t = w.reserve(now + 1)
		w.mu.Unlock()
	}
	w.sleep(now, t)
	return t, w.ended(ctx, t)
}

// ended is ctx.Err, but for a deadline it goes by the time: at that very instant the
// runtime ends the context a little sooner or later than it wakes who waits.
func (w *world) ended(ctx context.Context, now time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && w.since(deadline) <= now {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// since is a moment of the bubble's clock in the time of the run.
func (k *kernel) since(t time.Time) time.Duration { return t.Sub(k.origin) }

// attempt is the operation inside the stack: it goes to the modelled server.
func (c *call) attempt(ctx context.Context) error {
	w := c.w
	now := w.now()
	if w.over(now) {
		return errEnded
	}
	deadline := never
	if at, ok := ctx.Deadline(); ok {
		deadline = w.since(at)
	}
	w.mu.Lock()
	w.event(now, c)
	w.rec.attempt(c)
	arrival := now + w.sc.Server.Hop.Draw(&c.work)
	if !w.sc.Server.Hop.isFixed() {
		// Calls overtake each other on the network, so this one goes to the server when its
		// time has come.
		if arrival >= deadline {
			w.late.add(lateCall{at: arrival, deadline: deadline, r: &c.work})
			return w.answer(ctx, c, now, never, deadline, nil)
		}
		t := w.reserve(arrival)
		w.mu.Unlock()
		if err := w.wait(ctx, c, now, t); err != nil {
			return err
		}
		w.mu.Lock()
		now, arrival = t, t
		w.serveLate(now)
	}
	answered, err := w.serve(arrival, deadline, &c.work)
	if answered != never {
		answered += w.sc.Server.Hop.Draw(&c.work)
	}
	return w.answer(ctx, c, now, answered, deadline, err)
}

// answer waits for the answer or the deadline, whichever is first. mu is held, and
// released.
func (w *world) answer(ctx context.Context, c *call, now, answered, deadline time.Duration, err error) error {
	until := min(answered, deadline)
	if until <= now {
		w.mu.Unlock()
	} else {
		t := w.reserve(until)
		w.mu.Unlock()
		if failed := w.wait(ctx, c, now, t); failed != nil {
			return failed
		}
	}
	if answered <= deadline {
		return err
	}
	return context.DeadlineExceeded
}

// serve hands a call that arrives at the given moment to the server. mu is held.
func (w *world) serve(at, deadline time.Duration, r *rand.Rand) (answered time.Duration, err error) {
	w.rec.arrival(at)
	return w.server.serve(at, deadline, r)
}

// lateCall is on the network when its caller has given up already.
type lateCall struct {
	at, deadline time.Duration
	r            *rand.Rand
}

// lateCalls are in the order in which they arrive.
type lateCalls []lateCall

func (l *lateCalls) add(c lateCall) {
	s := append(*l, c)
	for i := len(s) - 1; i > 0 && s[i].at < s[i-1].at; i-- {
		s[i], s[i-1] = s[i-1], s[i]
	}
	*l = s
}

// serveLate brings those to the server that have arrived by now. mu is held.
func (w *world) serveLate(now time.Duration) {
	for len(w.late) > 0 && w.late[0].at <= now {
		l := w.late[0]
		w.late = w.late[1:]
		_, _ = w.serve(l.at, l.deadline, l.r)
	}
}

// custom is the operation inside the stack where the scenario has one of its own.
func (c *call) custom(ctx context.Context) error {
	w := c.w
	now := w.now()
	if w.over(now) {
		return errEnded
	}
	w.mu.Lock()
	w.event(now, c)
	w.rec.attempt(c)
	w.rec.arrival(now)
	w.mu.Unlock()
	return w.sc.Op(ctx, Call{c: c})
}

var _ stoic.Func = (*call)(nil).attempt
