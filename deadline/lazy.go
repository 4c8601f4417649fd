package deadline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// lazy is a context with a deadline that costs one allocation until somebody calls
// Done. Then it makes a real one, and from there on everything goes to that: package
// context must find its own type by Value, or every derived context costs a
// goroutine.
//
// Until then Err compares the clock. The first error that Err returns is kept, so
// that a cancel after the deadline, or the reverse, does not change it.
type lazy struct {
	parent context.Context //nolint:containedctx // it is a context
	at     time.Time       // never after the parent's deadline

	real atomic.Pointer[realContext]
	over atomic.Uint32 // one of the constants below; changes once, under mu

	mu   sync.Mutex
	kids map[*lazy]struct{} // contexts whose real one skips this one; see realParent
}

type realContext struct {
	context.Context //nolint:containedctx // it is a context
	cancel          context.CancelFunc
}

const (
	live      uint32 = iota
	timeUp           // Err returned DeadlineExceeded before there was a real context
	parentEnd        // Err returned the parent's
	ended            // the layer returned
)

func newLazy(parent context.Context, at time.Time) *lazy {
	return &lazy{parent: parent, at: at}
}

func (c *lazy) Deadline() (time.Time, bool) { return c.at, true }

// Value goes to the real context also when this one is over, so that context.Cause
// finds the cause that belongs to what Err says.
func (c *lazy) Value(key any) any {
	if c.over.Load() != live {
		return c.force().Value(key)
	}
	if r := c.real.Load(); r != nil {
		return r.Value(key)
	}
	return c.parent.Value(key)
}

func (c *lazy) Err() error {
	if r := c.real.Load(); r != nil {
		return r.Err()
	}
	state := c.state()
	if state == live && c.over.Load() == live {
		return nil
	}
	return c.settle(state)
}

// settle makes state the reason why the context is over, unless there is one.
func (c *lazy) settle(state uint32) error {
	c.mu.Lock()
	if c.real.Load() == nil && c.over.Load() == live {
		c.over.Store(state)
	}
	over := c.over.Load()
	c.mu.Unlock()

	switch over {
	case live: // there is a real context by now
		return c.real.Load().Err()
	case timeUp:
		return context.DeadlineExceeded
	case parentEnd:
		return c.parent.Err()
	default:
		return context.Canceled
	}
}

// expired reports whether the time is up and nothing else ended the context before.
// The clock counts even if the timer has not fired yet: an operation may go by
// Deadline and give up first.
func (c *lazy) expired() bool {
	switch c.Err() {
	case nil:
		return !time.Now().Before(c.at)
	case context.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// state is what the context is now, if nobody has seen it end before. Lazy
// contexts around it that nobody waits on are skipped: their deadline is not
// earlier, so what counts is whether their layer has returned, and who is around
// them.
func (c *lazy) state() uint32 {
	parent := c.parent
	for {
		outer, ok := parent.(*lazy)
		if !ok || outer.real.Load() != nil || outer.over.Load() != live {
			break
		}
		parent = outer.parent
	}
	switch {
	case parent.Err() != nil:
		return parentEnd
	case !time.Now().Before(c.at):
		return timeUp
	default:
		return live
	}
}

func (c *lazy) Done() <-chan struct{} { return c.force().Done() }

// force returns the real context, and makes it if there is none.
func (c *lazy) force() *realContext {
	if r := c.real.Load(); r != nil {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.real.Load(); r != nil {
		return r
	}
	r := c.makeReal()
	c.real.Store(r)
	return r
}

// String names the context as those of package context do.
func (c *lazy) String() string {
	return fmt.Sprintf("%v.WithDeadline(%s)", c.parent, c.at)
}

// makeReal agrees with what Err has said so far. mu is held.
func (c *lazy) makeReal() *realContext {
	var r realContext
	switch c.over.Load() {
	case timeUp: // also when the parent was cancelled since
		r.Context, r.cancel = context.WithDeadline(context.WithoutCancel(c.parent), c.at)
	case parentEnd:
		r.Context, r.cancel = context.WithCancel(c.parent)
	case ended:
		r.Context, r.cancel = context.WithCancel(context.WithoutCancel(c.parent))
		r.cancel()
	default:
		r.Context, r.cancel = context.WithDeadline(c.realParent(), c.at)
	}
	return &r
}

// realParent is the context that the real one derives from. A lazy context around
// this one has no earlier deadline, so while nobody waits on it, it can be skipped,
// and one timer serves both. It then ends its kids when its layer returns: normally
// they have ended before, but middleware may run what is inside it detached.
func (c *lazy) realParent() context.Context {
	parent := c.parent
	for {
		outer, ok := parent.(*lazy)
		if !ok || !outer.adopt(c) {
			return parent
		}
		parent = outer.parent
	}
}

// adopt registers kid to be ended with c, unless c has a real context or is over.
func (c *lazy) adopt(kid *lazy) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real.Load() != nil || c.over.Load() != live {
		return false
	}
	if c.kids == nil {
		c.kids = make(map[*lazy]struct{})
	}
	c.kids[kid] = struct{}{}
	return true
}

func (c *lazy) forget(kid *lazy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kids, kid)
}

// end makes the context done. The layer calls it when it returns, panics or exits.
func (c *lazy) end() {
	c.mu.Lock()
	r := c.real.Load()
	if r == nil && c.over.Load() == live {
		c.over.Store(ended)
	}
	kids := c.kids
	c.kids = nil
	c.mu.Unlock()

	for kid := range kids {
		kid.force().cancel() // force waits for a Done that is just making it
	}
	if r == nil {
		return
	}
	r.cancel()
	for outer, ok := c.parent.(*lazy); ok; outer, ok = outer.parent.(*lazy) {
		outer.forget(c)
	}
}
