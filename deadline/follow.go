package deadline

import (
	"context"

	"github.com/stoic-go/stoic/internal/lazyctx"
)

var _ lazyctx.Context = (*lazy)(nil)

// Around is for package stoichttp, as Follow is; see lazyctx.Context.
func (c *lazy) Around() context.Context {
	around, _ := c.around(func(*lazy) bool { return true })
	return around
}

// Follow registers cancel as if it were the real context of one inside c.
func (c *lazy) Follow(cancel context.CancelFunc) (forget func(), waitedOn context.Context) {
	kid := &lazy{parent: c, made: realContext{cancel: cancel}}
	kid.state.Store(forced)
	around, _ := kid.around(func(outer *lazy) bool { return outer.adopt(kid) })
	if outer, ok := around.(*lazy); ok {
		waitedOn = outer
	}
	return kid.leave, waitedOn
}
