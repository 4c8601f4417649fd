// Package deadline bounds the time of what is inside it.
//
// Outside a retry it bounds the whole call, waits included; inside, each attempt.
// Use both:
//
//	deadline (total) → budget → retry → breaker → ratelimit → deadline (attempt)
//
// It never lengthens the caller's deadline. It is cooperative: the operation gets a
// context, and is waited for; there is no goroutine, and never more than one attempt
// of a call at a time. A result that is in hand is returned, also when the time is
// up.
//
// When its own time ran out, the error is an [*ExceededError]: it matches
// [ErrExceeded], context.DeadlineExceeded and the operation's error. The caller's
// own deadline passes through unchanged, and a cancel is never [ErrExceeded], also
// when the time ran out as well.
//
// # The context
//
// The context that it makes is lazy: it costs one allocation, and has no timer and no
// place in the tree of contexts until somebody calls Done. Nested deadlines then
// share one timer. context.Cause, context.AfterFunc and derived contexts work as
// with context.WithDeadline. When the layer returns, its context is done.
//
// What nobody looked at in time, it cannot know: if the parent and the time ended
// before anybody called Err or Done, the reason is the parent's, whichever was first;
// and if the layer returned before, it is context.Canceled.
package deadline
