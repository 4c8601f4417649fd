package stoichttp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic/internal/lazyctx"
)

// attempt is one sending of the request, and the context that it is sent with.
//
// The stack ends the context of an attempt when its layers return, which is when the
// headers are in; the body of the response is read after that. So the base gets another
// one. It has the values of the attempt's context and its deadline, ends with the
// caller's, and with the attempt's until the headers are in. Then it lives until the
// body is read to its end or closed.
//
// It costs nothing until somebody calls Done or Err. Then it makes a real context, which
// package context must find by Value, or every derived context costs a goroutine.
type attempt struct {
	outer  context.Context //nolint:containedctx // the one that the stack made
	caller context.Context //nolint:containedctx // that of the caller's request

	req  *http.Request // what is sent
	resp *http.Response
	body body
	kept bool // the call holds it, or it is finished

	real atomic.Pointer[realContext]

	mu    sync.Mutex
	in    bool // the headers are
	ended bool
}

// realContext is a context with what ends it, and what makes it independent of the
// attempt's: of the deadlines that it follows, and of a context that it waits on. Those
// two may be nil.
type realContext struct {
	context.Context //nolint:containedctx // it is a context
	end             context.CancelFunc
	forget          func()
	detach          func() bool
}

// Deadline is that of the attempt.
func (a *attempt) Deadline() (time.Time, bool) { return a.outer.Deadline() }

func (a *attempt) Done() <-chan struct{} { return a.force().Done() }

func (a *attempt) Err() error { return a.force().Err() }

func (a *attempt) Value(key any) any {
	if r := a.real.Load(); r != nil {
		if own, ok := r.Value(key).(context.Context); ok && own.Done() == r.Done() {
			return own // package context asks for its own type
		}
	}
	return a.outer.Value(key)
}

// force returns the real context, and makes it if there is none.
func (a *attempt) force() *realContext {
	if r := a.real.Load(); r != nil {
		return r
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.real.Load(); r != nil {
		return r
	}
	r := a.derive()
	if a.ended {
		r.end()
	}
	a.real.Store(r)
	return r
}

// derive makes the real context. mu is held.
//
// The contexts of deadlines are followed, not waited on: then none of them needs a timer
// of its own.
func (a *attempt) derive() *realContext {
	if a.in || a.ended {
		return a.endingWith(a.caller)
	}
	if deadlines, ok := a.outer.(lazyctx.Context); ok {
		r := a.endingWith(deadlines.Around())
		forget, waitedOn := deadlines.Follow(r.end)
		r.forget = forget
		if waitedOn == nil {
			return r
		}
		r.leave() // somebody waits on one of them anyway
		r.end()
	}
	return a.endingWith(a.outer)
}

// endingWith makes a context that ends with the caller's, when the attempt's time is up,
// and with outer.
func (a *attempt) endingWith(outer context.Context) *realContext {
	r := new(realContext)
	at, limited := a.outer.Deadline()
	callers, ok := a.caller.Deadline()
	earlier := limited && (!ok || at.Before(callers))
	if outer.Done() == a.caller.Done() { // no layer has made one that ends before the caller's
		if earlier {
			r.Context, r.end = context.WithDeadline(a.caller, at)
		} else {
			r.Context, r.end = context.WithCancel(a.caller)
		}
		return r
	}
	ctx, cancel := context.WithCancelCause(a.caller)
	r.Context, r.end = ctx, func() { cancel(nil) }
	if earlier {
		timed, stop := context.WithDeadline(ctx, at)
		r.Context, r.end = timed, func() {
			stop()
			cancel(nil)
		}
	}
	r.detach = context.AfterFunc(outer, func() {
		if limited && errors.Is(outer.Err(), context.DeadlineExceeded) && !time.Now().Before(at) {
			return // the real one has the same deadline, and says that it was one
		}
		cancel(context.Cause(outer))
	})
	return r
}

// leave makes r independent of the attempt's context.
func (r *realContext) leave() {
	if r.forget != nil {
		r.forget()
	}
	if r.detach != nil {
		r.detach()
	}
}

// headersAreIn makes the context independent of the attempt's.
func (a *attempt) headersAreIn() {
	a.mu.Lock()
	a.in = true
	r := a.real.Load()
	a.mu.Unlock()
	if r != nil {
		r.leave()
	}
}

// end makes the context done, and frees what it holds.
func (a *attempt) end() {
	a.mu.Lock()
	a.ended = true
	r := a.real.Load()
	a.mu.Unlock()
	if r != nil {
		r.end()
	}
}

// isEnded reports whether the attempt ended by itself: not its deadline, nor the
// caller.
func (a *attempt) isEnded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// late reports whether the time of the attempt is up, so that what is left of the body
// of its response cannot be read.
func (a *attempt) late() bool {
	at, limited := a.Deadline()
	return limited && a.resp.Body != http.NoBody && !time.Now().Before(at)
}

// own makes the response one whose body ends the context. orig is the request that the
// caller sent, and that the response names as net/http does.
func (a *attempt) own(resp *http.Response, orig *http.Request) {
	a.resp = resp
	if resp.Request == nil || resp.Request == a.req {
		resp.Request = orig
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		resp.Body = http.NoBody
		a.end()
		return
	}
	a.body.attempt, a.body.rc = a, resp.Body
	resp.Body = &a.body
	if w, ok := a.body.rc.(writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &upgraded{body: &a.body, writer: w}
	}
}

// finish is the end of an attempt without a response.
func (a *attempt) finish(resp *http.Response) {
	a.kept = true
	a.end()
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close() // nobody to tell
	}
}

// abandon is the end of an attempt that nobody keeps, if it is one.
func (a *attempt) abandon() {
	if a.kept {
		return
	}
	if a.resp != nil {
		a.close()
		return
	}
	a.end()
	closeBody(a.req) // the base may not have come to it
}

// close closes the response.
func (a *attempt) close() { _ = a.resp.Body.Close() } // nobody to tell
