package deadline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// lazy is a context with a deadline that costs one allocation until somebody calls
// Done, or sees it end. Then it makes a real one, and from there on everything goes
// to that: what Err has said stays so, and package context must find its own type by
// Value, or every derived context costs a goroutine. The real one is that of
// context.WithDeadline, with its timer, so a deadline that somebody waits on costs that and
// a seventh more: this struct, its lock at Done and the calls in between. (A timer of a pool
// would save more than that, but must not be used both in and outside a synctest bubble.)
//
// Until then Err looks at the parent and the clock, and the layer's return is a
// flag. So a lazy context knows only what somebody looked for: if the parent and the
// time ended before anybody looked, the reason is the parent's; if the layer returned
// before anybody looked, it is Canceled.
type lazy struct {
	parent context.Context //nolint:containedctx // it is a context
	at     time.Time       // never after the parent's deadline

	made realContext // what everything goes to in the state forced, and not before

	// The contexts whose real one skips this one; see adopt. Mostly there is one, and a
	// map for the others keeps the lazy context small.
	kid  *lazy
	more map[*lazy]struct{}

	mu    sync.Mutex
	state atomic.Uint32 // written under mu
	own   bool          // at is earlier than the parent's: the parent will not end by then
	kept  bool          // it adopted a kid; written under mu, and not in the state forced
	late  bool          // the time was up when the layer returned; set before the state ended
}

// The states of a lazy context. Once it is forced it stays so.
const (
	untouched uint32 = iota // nobody waited on it, nor saw it over
	ended                   // the layer returned, and there was no real context
	forced                  // there is a real context
)

type realContext struct {
	context.Context //nolint:containedctx // it is a context
	cancel          context.CancelFunc
}

func newLazy(parent context.Context, at time.Time, own bool) *lazy {
	return &lazy{parent: parent, at: at, own: own}
}

func (c *lazy) Deadline() (time.Time, bool) { return c.at, true }

func (c *lazy) Done() <-chan struct{} { return c.force().Done() }

func (c *lazy) Err() error {
	switch c.state.Load() {
	case forced:
		return c.made.Err()
	case ended:
		if c.late {
			return context.DeadlineExceeded
		}
		return context.Canceled
	}
	over := c.look()
	if over == nil {
		return nil
	}
	return c.settle(over).Err()
}

// Value asks a context that is over for the real one: context.Cause must find the
// cause that belongs to what Err says.
func (c *lazy) Value(key any) any {
	if c.unused() {
		return c.parent.Value(key)
	}
	return c.force().Value(key)
}

// String names the context as those of package context do: with no more of the
// parent than its name, which may have fields that change.
func (c *lazy) String() string {
	parent := fmt.Sprintf("%T", c.parent)
	if s, ok := c.parent.(fmt.Stringer); ok {
		parent = s.String()
	}
	return fmt.Sprintf("%s.WithDeadline(%s [%s])", parent, c.at, time.Until(c.at))
}

// look returns nil while the context is live, and else one that a real context can
// derive from to be over for the same reason. Lazy contexts around it that nobody
// waits on are skipped: their deadline is not earlier, so what counts is whether
// their layer has returned, and who is around them.
func (c *lazy) look() *overContext {
	parent, timed := c.around((*lazy).unused)
	if err := parent.Err(); err != nil {
		return &overContext{Context: parent, err: err}
	}
	if timed && !time.Now().Before(c.at) {
		return &overContext{Context: context.WithoutCancel(parent), err: context.DeadlineExceeded}
	}
	return nil
}

// around returns the nearest context around c that skip refuses or that is not
// lazy, and whether c must keep the time: its deadline is earlier than that one's.
func (c *lazy) around(skip func(*lazy) bool) (parent context.Context, timed bool) {
	parent, timed = c.parent, c.own
	for {
		outer, ok := parent.(*lazy)
		if !ok || !skip(outer) {
			return parent, timed
		}
		parent, timed = outer.parent, timed || outer.own //nolint:fatcontext // it goes outwards
	}
}

func (c *lazy) unused() bool { return c.state.Load() == untouched }

// expired reports whether the time is up and nothing else ended the context before.
// The clock counts even if the timer has not fired yet: an operation may go by
// Deadline and give up first.
//
// The layer asks right before it returns. What Err would say then is noted, and no real
// context made for it: mostly nobody asks again.
func (c *lazy) expired() bool {
	if c.unused() {
		if parent, timed := c.around((*lazy).unused); timed && parent.Err() == nil {
			c.late = !time.Now().Before(c.at)
			return c.late
		}
	}
	err := c.Err()
	return (err == nil || errors.Is(err, context.DeadlineExceeded)) && !time.Now().Before(c.at)
}

// force returns the real context, and makes it if there is none.
func (c *lazy) force() *realContext { return c.settle(nil) }

// settle returns the real context. If there is none, it makes one that is over as
// the given context is; with nil, one that is as the layer is.
func (c *lazy) settle(over *overContext) *realContext {
	if c.state.Load() == forced {
		return &c.made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.made
	switch state := c.state.Load(); {
	case state == forced:
		return r
	case state == ended && c.late:
		r.Context, r.cancel = context.WithCancel(&overContext{Context: context.WithoutCancel(c.parent), err: context.DeadlineExceeded})
	case state == ended:
		r.Context, r.cancel = context.WithCancel(context.WithoutCancel(c.parent))
		r.cancel()
	case over != nil:
		r.Context, r.cancel = context.WithCancel(over)
	default:
		r.Context, r.cancel = c.derive()
	}
	c.state.Store(forced)
	return r
}

// derive makes a live context that ends with the parent or when the time is up. Who
// keeps the time matters: the caller's deadline may have a cause. mu is held; locks
// are taken from the inner to the outer.
func (c *lazy) derive() (context.Context, context.CancelFunc) {
	if _, nested := c.parent.(*lazy); !nested && c.own { // mostly; what is below would do the same
		return context.WithDeadline(c.parent, c.at)
	}
	parent, timed := c.around(func(outer *lazy) bool { return outer.adopt(c) })
	if timed {
		return context.WithDeadline(parent, c.at)
	}
	return context.WithCancel(parent)
}

// adopt registers kid to be ended with c, unless c has a real context or is over.
// A lazy context around another one has no earlier deadline, so while nobody waits
// on it, it can be skipped, and one timer serves both. Normally its kids end before
// it, but middleware may run what is inside it detached.
func (c *lazy) adopt(kid *lazy) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unused() {
		return false
	}
	c.kept = true
	switch {
	case c.kid == nil:
		c.kid = kid
	case c.more == nil:
		c.more = map[*lazy]struct{}{kid: {}}
	default:
		c.more[kid] = struct{}{}
	}
	return true
}

func (c *lazy) forget(kid *lazy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kid == kid {
		c.kid = nil
		return
	}
	delete(c.more, kid)
}

// end makes the context done. The layer calls it when it returns, panics or exits.
func (c *lazy) end() {
	if c.state.Load() == forced && !c.kept {
		c.cancel() // nobody else ends with it
		return
	}
	c.mu.Lock()
	isForced := c.state.Load() == forced
	if !isForced {
		c.state.Store(ended)
	}
	kid, more := c.kid, c.more
	c.kid, c.more = nil, nil
	c.mu.Unlock()

	if kid != nil {
		kid.force().cancel() // force waits for a Done that is just making it
	}
	if len(more) > 0 { // a range over no map costs as much as the rest
		for kid := range more {
			kid.force().cancel()
		}
	}
	if isForced {
		c.cancel()
	}
}

// cancel ends the real context, which the lazy ones around it need not do then.
func (c *lazy) cancel() {
	c.made.cancel()
	c.leave()
}

// leave is for a context whose real one ends without those around it.
func (c *lazy) leave() {
	for outer, ok := c.parent.(*lazy); ok; outer, ok = outer.parent.(*lazy) {
		outer.forget(c)
	}
}

// overContext is done with err, also where the context that it stands for has not
// closed its Done yet. Its cause is that of Context, or err.
type overContext struct {
	context.Context //nolint:containedctx // it is a context
	err             error
}

func (c *overContext) Err() error { return c.err }

func (c *overContext) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
