package hooks

import "context"

// OnEvent returns a [Hook] that calls f for each event and ignores the begin and
// the end of calls and attempts. f must be safe for concurrent use.
//
// OnEvent(nil) is nil, as [Join] of nothing is: a stack with it has no hook and
// pays for none.
func OnEvent(f func(ctx context.Context, e Event)) Hook {
	if f == nil {
		return nil
	}
	return onEvent(f)
}

type onEvent func(context.Context, Event)

func (onEvent) Start(ctx context.Context, _ Op) context.Context { return ctx }
func (onEvent) End(context.Context, Op, Result)                 {}
func (f onEvent) Event(ctx context.Context, e Event)            { f(ctx, e) }
