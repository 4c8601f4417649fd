package stoichttp

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/stoic-go/stoic"
)

// Transport is an [http.RoundTripper] that sends each request through a stack. Make it
// with [NewTransport]. It is immutable and safe for concurrent use.
//
// It keeps the contract of a RoundTripper: the request is not changed, its body is
// always closed, also when nothing was sent, and a response always has a body to close.
// The body of the response must be read to its end or closed, as with any client: until
// then the context of its attempt lives.
type Transport struct {
	config
	base http.RoundTripper
	p    *stoic.Pipeline
	err  error
	made bool

	// A base may set no header, and those of net/http do not. Another one that does, as
	// many do, gets a map of its own: it changes neither the caller's nor another attempt's.
	trusted bool
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport sends requests through p to base; nil is [http.DefaultTransport]. Each
// attempt is one RoundTrip of base.
//
// It never fails and never panics: what is wrong with p or an option is returned by
// [Transport.Validate], and by each RoundTrip.
func NewTransport(base http.RoundTripper, p *stoic.Pipeline, opts ...Option) *Transport {
	t := &Transport{config: defaults(), base: base, p: p, made: true}
	if base == nil {
		t.base = http.DefaultTransport
	}
	for _, opt := range opts {
		if opt == nil {
			t.problems.Check("option", false, "Option", "nil", "must not be nil")
			continue
		}
		opt(&t.config)
	}
	_, t.trusted = t.base.(*http.Transport)
	if v := reflect.ValueOf(t.base); v.Kind() == reflect.Pointer && v.IsNil() {
		t.problems.Check("base", false, "NewTransport", fmt.Sprintf("%T", base), "the base is a nil pointer")
	}
	t.err = errors.Join(checkPipeline("NewTransport", p), t.problems.Err())
	return t
}

// checkPipeline refuses a pipeline that New has not made, for the constructor named
// field.
func checkPipeline(field string, p *stoic.Pipeline) error {
	if p == nil {
		return &stoic.InvalidError{Field: field, Value: "nil", Reason: "needs a pipeline"}
	}
	if p.Name() == "" { // New refuses that
		return &stoic.InvalidError{Field: field, Reason: "the pipeline was not made by New"}
	}
	return nil
}

// Validate returns what is wrong with the arguments of [NewTransport], as one error
// that matches stoic.ErrInvalid, or nil. Call it once at start-up.
func (t *Transport) Validate() error {
	if t == nil || !t.made {
		return &stoic.InvalidError{Field: "Transport", Reason: "was not made by NewTransport"}
	}
	return t.err
}

// CloseIdleConnections closes those of the base, if it can.
func (t *Transport) CloseIdleConnections() {
	if t.Validate() != nil {
		return
	}
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// RoundTrip sends req through the stack. When the stack stopped for any reason but the
// context of req, and a response is in hand that can still be read, the caller gets that
// response with a nil error: the last 503 when the attempts ran out, the 503 after which
// a breaker opened or the budget refused. Any other failure is the error of the stack.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.Validate(); err != nil {
		closeBody(req)
		return nil, err
	}
	c := &call{Context: req.Context(), Transport: t, req: req}
	defer c.leave()
	c.mark()
	return c.result(t.p.Do(c, runCall)) //nolint:contextcheck // c is the context of req
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // nobody to tell
	}
}
