package stoichttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// TestC67_ABaseThatSetsHeadersChangesOnlyItsAttempt: it must not, and many do.
func TestC67_ABaseThatSetsHeadersChangesOnlyItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newFake(func(n int, req *http.Request) (*http.Response, error) {
			req.Header.Add("X-Attempt", "one more")
			req.Header.Del("Accept")
			return answer([]int{503, 503, 200}[n-1], "text"), nil
		})
		tr := transport(t, base, plain(t, retry.New(retry.Constant(0))))
		req := request(t, "GET", "")
		req.Header.Set("Accept", "text/plain")
		resp, err := tr.RoundTrip(req)
		wantAnswer(t, resp, err, 200, "text")
		if got := len(req.Header); got != 1 || req.Header.Get("Accept") != "text/plain" {
			t.Errorf("the caller's headers are %v", req.Header)
		}
		for i, sent := range base.requests {
			if got := len(sent.Header["X-Attempt"]); got != 1 {
				t.Errorf("attempt %d was sent with %d values, want 1", i+1, got)
			}
		}
	})
}

// A layer may hang values on the context, and even take the deadline and the cancel off it,
// but what is inside it must be able to know the call.
func TestContextThatDoesNotDerive(t *testing.T) {
	with := func(change func(context.Context) context.Context) stoic.Policy {
		return stoic.Middleware("changes", func(next stoic.Func) stoic.Func {
			return func(ctx context.Context) error { return next(change(ctx)) }
		})
	}
	synctest.Test(t, func(t *testing.T) {
		base := statuses(200)
		tr := transport(t, base, plain(t, with(context.WithoutCancel)))
		resp, err := tr.RoundTrip(request(t, "GET", ""))
		wantAnswer(t, resp, err, 200, "text")

		body := track("order")
		req := request(t, "POST", "")
		req.Body = body
		tr = transport(t, base, plain(t, retry.New(), with(func(context.Context) context.Context { return context.Background() })))
		_, err = tr.RoundTrip(req)
		if err == nil || !strings.Contains(err.Error(), "does not derive from its own") {
			t.Errorf("got %v", err)
		}
		if base.sent() != 1 || body.closed.Load() != 1 {
			t.Errorf("%d sent, body closed %d times; want 1 and 1", base.sent(), body.closed.Load())
		}
	})
}
