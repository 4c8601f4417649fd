package stoichttp

import (
	"context"
	"maps"
	"net/http"

	"github.com/stoic-go/stoic"
)

const idempotencyHeader = "Idempotency-Key"

// mark says in the context of the call whether it may be repeated.
func (c *call) mark() {
	values, declared := c.req.Header[idempotencyHeader]
	if declared && len(values) > 0 && values[0] != "" {
		c.key = values[0]
		return
	}
	if key := stoic.IdempotencyKey(c.Context); key != "" {
		c.key, c.setsKey = key, !declared
		return
	}
	// net/http has it that a header without values declares the request to be
	// idempotent, and is not sent.
	c.unsafe = !idempotent(c.req.Method) && (!declared || len(values) > 0)
}

// idempotent reports whether requests with this method may be repeated: RFC 9110,
// section 9.2.2. A method that is not known may not.
func idempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	default:
		return false
	}
}

// rewindable reports whether the body can be sent again.
func rewindable(req *http.Request) bool { return !hasBody(req) || req.GetBody != nil }

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// request is the caller's with the context of an attempt. The first sends the caller's
// body, and each further one a fresh one: a RoundTripper may still read the body after it
// returned.
func (c *call) request(ctx context.Context, first bool) (*http.Request, error) {
	body := c.req.Body
	if !first && hasBody(c.req) {
		fresh, err := c.req.GetBody()
		if err != nil {
			return nil, err
		}
		body = fresh
	}
	req := c.req.WithContext(ctx)
	req.Body = body
	if c.setsKey || !c.trusted {
		req.Header = maps.Clone(req.Header)
	}
	if c.setsKey {
		if req.Header == nil {
			req.Header = make(http.Header, 1)
		}
		req.Header.Set(idempotencyHeader, c.key)
	}
	return req, nil
}
