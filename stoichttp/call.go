package stoichttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/keys"
	"github.com/stoic-go/stoic/retry"
)

// call is one RoundTrip: what its attempts share. It is the context of the call too, which
// spares the closure that would bind run to it, and the values that mark it.
//
// The stack calls run once for each attempt. A layer may do so concurrently, or still
// run it after the call is over, so there is a lock.
type call struct {
	context.Context //nolint:containedctx // it is a context
	*Transport
	req *http.Request // the caller's, never changed

	key     string // the idempotency key, or ""
	setsKey bool   // it is not in the header, and each attempt gets it there
	unsafe  bool   // the request must not be repeated when it may have been executed

	mu     sync.Mutex
	sends  int      // how often run got as far as to own a request body
	held   *attempt // the last one that has a response, until the next begins or the caller gets it
	over   bool     // RoundTrip has what it needs
	marked error    // what the stack was told of the last failure
	bare   error    // and what it was

	first attempt // spares an allocation
}

type callKey struct{}

func (c *call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case keys.Idempotency:
		if c.key != "" {
			return c.key
		}
	case keys.NonIdempotent:
		if c.unsafe {
			return true
		}
	}
	return c.Context.Value(key)
}

// runCall is the Func of the stack for every call.
func runCall(ctx context.Context) error {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return errLost
	}
	return c.run(ctx)
}

// run is one attempt.
func (c *call) run(ctx context.Context) error {
	a, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer a.abandon() // after a panic or a Goexit: of the base, of FailIf
	resp, err := c.base.RoundTrip(a.req)
	a.headersAreIn()
	if err != nil {
		a.finish(resp) // a base that returns both breaks its contract
		return c.failure(err)
	}
	if resp == nil {
		a.finish(nil)
		return retry.Permanent(fmt.Errorf("stoichttp: the base %T returned neither a response nor an error", c.base))
	}
	a.own(resp, c.req)
	if c.failed(resp) {
		err = c.answered(resp)
	}
	return c.hold(a, err)
}

// begin makes the next attempt: it gets rid of the response before it, and rewinds the
// body.
func (c *call) begin(ctx context.Context) (*attempt, error) {
	c.mu.Lock()
	switch {
	case c.over:
		c.mu.Unlock()
		return nil, errOver
	case c.sends > 0 && !rewindable(c.req):
		c.mu.Unlock()
		return nil, notSent("the request body cannot be sent again", errNoGetBody)
	}
	c.sends++
	a := &c.first
	if c.sends > 1 {
		a = new(attempt)
	}
	first, previous := c.sends == 1, c.held
	c.held = nil
	c.mu.Unlock()

	if previous != nil {
		previous.discard(c.drainBytes, c.drainTime)
	}
	a.outer, a.caller = ctx, c.req.Context()
	req, err := c.request(a, first) //nolint:contextcheck // an attempt is its own context, made of ctx
	if err != nil {
		return nil, notSent("the request body cannot be rewound", err)
	}
	a.req = req
	return a, nil
}

// failure is what the stack is told of an error of the base.
func (c *call) failure(err error) error {
	if !Permanent(err) && rewindable(c.req) {
		return err
	}
	return c.permanent(err)
}

// answered is what the stack is told of a response that is a failure.
func (c *call) answered(resp *http.Response) error {
	err := newStatusError(resp)
	if c.worthRetry(resp.StatusCode) && rewindable(c.req) {
		return err
	}
	return c.permanent(err)
}

// permanent marks err for the retries around. The caller of RoundTrip gets it without
// the mark: http.Client looks at the type of an error.
func (c *call) permanent(err error) error {
	marked := retry.Permanent(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked, c.bare = marked, err
	return marked
}

// hold keeps the attempt and its response, and returns err, which is nil for a success.
func (c *call) hold(a *attempt, err error) error {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return errOver // and run abandons the attempt
	}
	previous := c.held
	c.held, a.kept = a, true
	c.mu.Unlock()
	if previous != nil { // of an attempt that ran at the same time
		previous.close()
	}
	return err
}

// result is what RoundTrip returns, given the error of the stack.
func (c *call) result(err error) (*http.Response, error) {
	c.mu.Lock()
	a := c.held
	c.held, c.over = nil, true
	//nolint:errorlint // identity: a layer may have wrapped it, and then it stays as it is
	if err != nil && err == c.marked {
		err = c.bare
	}
	c.mu.Unlock()

	switch {
	case a == nil && err == nil:
		return nil, fmt.Errorf("%s: the stack returned neither a response nor an error", c.p.Name())
	case a == nil:
		return nil, err
	case err == nil:
		return a.resp, nil
	case stoppedBy(c.Context, err) || a.late():
		a.close()
		return nil, err
	default:
		return a.resp, nil
	}
}

func stoppedBy(ctx context.Context, err error) bool {
	done := ctx.Err()
	return done != nil && errors.Is(err, done)
}

// leave closes what nobody got: the request body when nothing was sent, and the response
// in hand after a panic.
func (c *call) leave() {
	c.mu.Lock()
	sent, a := c.sends > 0, c.held
	c.held, c.over = nil, true
	c.mu.Unlock()
	if a != nil {
		a.close()
	}
	if !sent {
		closeBody(c.req)
	}
}

var (
	errNoGetBody = errors.New("stoichttp: the request has a body and no GetBody")
	errLost      = retry.Permanent(errors.New("stoichttp: a layer of the stack runs what is inside it with a context that does not derive from its own"))
	errOver      = retry.Permanent(errors.New("stoichttp: an attempt was made after the call was over"))
)

// notSent is the error of an attempt that was not sent because of the request itself:
// it says nothing about the server, and trying again does not help.
func notSent(reason string, err error) error {
	return retry.Permanent(&stoic.Rejection{
		Policy: "stoichttp", Reason: reason, Err: err, Type: "request_body",
	})
}
