package hooks

import "context"

// Nop is a [Hook] that does nothing. Embed it in a hook that needs only some of
// the methods:
//
//	type retryCounter struct {
//		hooks.Nop
//		n atomic.Int64
//	}
//
//	func (c *retryCounter) Event(_ context.Context, e hooks.Event) {
//		if e.Kind == hooks.Retry {
//			c.n.Add(1)
//		}
//	}
type Nop struct{}

var _ Hook = Nop{}

// Start returns ctx.
func (Nop) Start(ctx context.Context, _ Op) context.Context { return ctx }

// End does nothing.
func (Nop) End(context.Context, Op, Result) {}

// Event does nothing.
func (Nop) Event(context.Context, Event) {}
