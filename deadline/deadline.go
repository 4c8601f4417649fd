package deadline

import (
	"context"
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
}

var (
	_ stoic.Policy    = (*Deadline)(nil)
	_ stoic.Describer = (*Deadline)(nil)
	_ stoic.Validator = (*Deadline)(nil)
)

// New makes a deadline of d, counted from the moment a call enters the layer. Zero
// and negative are refused by stoic.New.
func New(d time.Duration) *Deadline { return &Deadline{limit: d, made: true} }

// Run is called by the stack.
func (d *Deadline) Run(ctx context.Context, next stoic.Next) error {
	at, own := time.Now().Add(d.limit), true
	if outer, ok := ctx.Deadline(); ok && !at.Before(outer) {
		at, own = outer, false // equal: it is the caller's
	}
	c := newLazy(ctx, at)
	defer c.end()
	err := next.Do(c)
	if err == nil || !own {
		return err
	}
	return d.exceeded(ctx, c, next, err)
}

// exceeded wraps err if this layer's time ran out.
func (d *Deadline) exceeded(ctx context.Context, c *lazy, next stoic.Next, err error) error {
	if !c.expired() || stoic.VerdictOf(ctx, err) == stoic.Success {
		return err
	}
	err = &ExceededError{Pipeline: next.Pipeline(), Limit: d.limit, Err: err}
	next.Emit(ctx, hooks.Event{
		Kind: hooks.DeadlineExceeded, Policy: stoic.KindDeadline, Attempt: next.Attempt(), Delay: d.limit, Err: err,
	})
	return err
}

// Describe implements stoic.Describer.
func (d *Deadline) Describe() stoic.Description {
	return stoic.Description{
		Kind:   stoic.KindDeadline,
		Params: []stoic.Param{{Name: "limit", Value: d.limit}},
	}
}

// Validate implements stoic.Validator.
func (d *Deadline) Validate() error {
	switch {
	case !d.made:
		return &stoic.InvalidError{Field: "Deadline{}", Reason: "must be made by deadline.New"}
	case d.limit <= 0:
		return &stoic.InvalidError{Field: "New", Value: d.limit, Reason: "must be positive; leave the layer out for no limit"}
	default:
		return nil
	}
}
