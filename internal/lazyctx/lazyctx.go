// Package lazyctx lets an adapter end something of its own with the contexts of the
// deadlines in a stack. To wait on them instead would cost a timer for each.
package lazyctx

import "context"

// A Context is that of a deadline. It ends when its layer returns, when its time is up,
// and with the context around it.
type Context interface {
	context.Context

	// Around is the nearest context around it that is not one of these.
	Around() context.Context

	// Follow makes that cancel is called when its layer returns, or that of one of these
	// around it, until forget is called. cancel must not block, and must be safe for
	// concurrent use; it may be called more than once.
	//
	// One that somebody waits on already, or that is over, cannot be followed, and those
	// around it are not. It is returned, for the caller to wait on; nil if all are followed.
	Follow(cancel context.CancelFunc) (forget func(), waitedOn context.Context)
}
