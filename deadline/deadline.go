package deadline

import (
	"context"
	"errors"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// Deadline is a policy that bounds the time of what is inside it. It keeps no
// state: one value serves any number of pipelines and goroutines. Make it with
// [New]; the zero value is refused by stoic.New.
type Deadline struct {
	limit time.Duration
	made  bool
	valid bool
}

var (
	_ stoic.Policy    = (*Deadline)(nil)
	_ stoic.Describer = (*Deadline)(nil)
	_ stoic.Validator = (*Deadline)(nil)
)

// New makes a deadline of d, counted from the moment a call enters the layer. Zero
// and negative are refused by stoic.New.
func New(d time.Duration) *Deadline {
	return &Deadline{limit: d, made: true, valid: d > 0}
}

// Run is called by the stack.
func (d *Deadline) Run(ctx context.Context, next stoic.Next) error {
	if !d.valid {
		return d.Validate() // a layer that stoic.New has not seen
	}
	at, own := d.at(ctx)
	c := newLazy(ctx, at, own)
	defer c.end()
	err := next.Do(c) //nolint:contextcheck // it derives from ctx
	if err == nil || !own {
		return err
	}
	return d.exceeded(ctx, c, next, err)
}

// at is when the time is up, and whether that is this layer's doing: a deadline around
// that is as early is the caller's.
func (d *Deadline) at(ctx context.Context) (at time.Time, own bool) {
	if outer, ok := ctx.(*lazy); ok && outer.own {
		// Its time has a monotonic reading, as that of any caller need not: what is left of
		// it costs half of what time.Now does.
		left := time.Until(outer.at)
		if d.limit >= left {
			return outer.at, false
		}
		return outer.at.Add(d.limit - left), true
	}
	at = time.Now().Add(d.limit)
	if outer, ok := ctx.Deadline(); ok && !at.Before(outer) {
		return outer, false
	}
	return at, true
}

// exceeded wraps err if this layer's time ran out. A caller who cancelled as well, in
// either order, gets err as it is.
func (d *Deadline) exceeded(ctx context.Context, c *lazy, next stoic.Next, err error) error {
	if !c.expired() || errors.Is(ctx.Err(), context.Canceled) || stoic.VerdictOf(ctx, err) == stoic.Success {
		return err
	}
	err = &ExceededError{Pipeline: next.Pipeline(), Limit: d.limit, Err: err}
	next.Emit(ctx, hooks.Event{
		Kind: hooks.DeadlineExceeded, Policy: stoic.KindDeadline, Attempt: next.Attempt(), Delay: d.limit, Err: err,
	})
	return err
}
