package stoichttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func TestC04_MaxAttemptsCountsTheFirstCall(t *testing.T) {
	for _, fails := range []string{"status", "error"} {
		t.Run(fails, func(t *testing.T) {
			for _, attempts := range []int{4, 1} {
				synctest.Test(t, func(t *testing.T) {
					base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
						switch {
						case n == 5:
							return answer(200, "fine"), nil
						case fails == "error":
							return nil, io.ErrUnexpectedEOF
						default:
							return answer(503, "busy"), nil
						}
					})
					resp, err := transport(t, base, plain(t, retries(attempts))).RoundTrip(request(t, "GET", ""))
					if fails == "error" {
						wantError(t, resp, err, io.ErrUnexpectedEOF)
					} else {
						wantAnswer(t, resp, err, 503, "busy")
					}
					equal(t, "sent", base.sent(), attempts)
				})
			}
		})
	}
}

func TestC69_OnlySafeRequestsAreRetried(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("connection refused"))}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	withKey := func(req *http.Request) *http.Request {
		req.Header.Set("Idempotency-Key", "k-1")
		return req
	}
	withContextKey := func(req *http.Request) *http.Request {
		return req.WithContext(stoic.WithIdempotencyKey(req.Context(), "k-1"))
	}
	withBoth := func(req *http.Request) *http.Request {
		return withKey(req.WithContext(stoic.WithIdempotencyKey(req.Context(), "k-2")))
	}
	declared := func(req *http.Request) *http.Request {
		req.Header["Idempotency-Key"] = nil
		return req
	}
	emptyKey := func(req *http.Request) *http.Request {
		req.Header.Set("Idempotency-Key", "")
		return req
	}
	marked := func(req *http.Request) *http.Request {
		return req.WithContext(stoic.WithNonIdempotent(req.Context()))
	}
	tests := []struct {
		name, method string
		change       func(*http.Request) *http.Request
		err          error // nil: 503
		want         int
		key          string
	}{
		{name: "GET", method: "GET", want: 3},
		{name: "no method", method: "", want: 3},
		{name: "HEAD", method: "HEAD", want: 3},
		{name: "OPTIONS", method: "OPTIONS", want: 3},
		{name: "TRACE", method: "TRACE", want: 3},
		{name: "PUT", method: "PUT", want: 3},
		{name: "DELETE", method: "DELETE", want: 3},
		{name: "POST", method: "POST", want: 1},
		{name: "PATCH", method: "PATCH", want: 1},
		{name: "unknown method", method: "get", want: 1},
		{name: "GET that the caller marked", method: "GET", change: marked, want: 1},
		{name: "GET that the caller marked, with a key", method: "GET", change: func(req *http.Request) *http.Request { return withKey(marked(req)) }, want: 3, key: "k-1"},
		{name: "POST with the header", method: "POST", change: withKey, want: 3, key: "k-1"},
		{name: "PATCH with the header", method: "PATCH", change: withKey, want: 3, key: "k-1"},
		{name: "POST with a key in the context", method: "POST", change: withContextKey, want: 3, key: "k-1"},
		{name: "POST with both", method: "POST", change: withBoth, want: 3, key: "k-1"},
		{name: "POST with an empty key", method: "POST", change: emptyKey, want: 1},
		{name: "POST declared as for net/http", method: "POST", change: declared, want: 3},
		{name: "GET with a key in the context", method: "GET", change: withContextKey, want: 3, key: "k-1"},
		{name: "POST, connection refused", method: "POST", err: refused, want: 3},
		{name: "POST, connection reset", method: "POST", err: reset, want: 1},
		{name: "PUT, connection reset", method: "PUT", err: reset, want: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newFake(func(int, *http.Request) (*http.Response, error) {
					if tt.err != nil {
						return nil, tt.err
					}
					return answer(503, "busy"), nil
				})
				req := request(t, "GET", "order")
				req.Method = tt.method
				if tt.change != nil {
					req = tt.change(req)
				}
				resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
				if tt.err != nil {
					wantError(t, resp, err, tt.err)
				} else {
					wantAnswer(t, resp, err, 503, "busy")
				}
				equal(t, "sent", base.sent(), tt.want)
				for i, sent := range base.requests {
					equal(t, "key", sent.Header.Get("Idempotency-Key"), tt.key)
					equal(t, "key in the context", stoic.IdempotencyKey(sent.Context()), tt.key)
					equal(t, "body", base.bodies[i], "order")
				}
			})
		})
	}
}

func TestIdempotencyKeyIsAddedToARequestWithoutHeaders(t *testing.T) {
	base := statuses(200)
	req := request(t, "POST", "")
	req = req.WithContext(stoic.WithIdempotencyKey(req.Context(), "k"))
	req.Header = nil
	resp, err := transport(t, base, plain(t)).RoundTrip(req)
	wantAnswer(t, resp, err, 200, "text")
	if got := base.requests[0].Header.Values("Idempotency-Key"); !slices.Equal(got, []string{"k"}) || req.Header != nil {
		t.Errorf("sent key %q, and the caller's header is %v", got, req.Header)
	}
}

func TestStatusesAreClassified(t *testing.T) {
	special := stoichttp.FailIf(func(resp *http.Response) bool { return resp.Header.Get("X-Fail") != "" })
	tests := []struct {
		name    string
		code    int
		opts    []stoichttp.Option
		header  []string
		failure bool
		sent    int
	}{
		{name: "200", code: 200, sent: 1},
		{name: "304", code: 304, sent: 1},
		{name: "400", code: 400, sent: 1},
		{name: "404", code: 404, sent: 1},
		{name: "408", code: 408, sent: 1},
		{name: "429", code: 429, failure: true, sent: 3},
		{name: "499", code: 499, sent: 1},
		{name: "500", code: 500, failure: true, sent: 1},
		{name: "501", code: 501, failure: true, sent: 1},
		{name: "502", code: 502, failure: true, sent: 3},
		{name: "503", code: 503, failure: true, sent: 3},
		{name: "504", code: 504, failure: true, sent: 3},
		{name: "505", code: 505, failure: true, sent: 1},
		{name: "599", code: 599, failure: true, sent: 1},
		{name: "500, asked for", code: 500, opts: []stoichttp.Option{stoichttp.RetryStatus(500)}, failure: true, sent: 3},
		{name: "503, not asked for", code: 503, opts: []stoichttp.Option{stoichttp.RetryStatus(500)}, failure: true, sent: 1},
		{name: "408, asked for", code: 408, opts: []stoichttp.Option{stoichttp.RetryStatus(408)}, failure: true, sent: 3},
		{name: "none asked for", code: 503, opts: []stoichttp.Option{stoichttp.RetryStatus()}, failure: true, sent: 1},
		{name: "429, none asked for", code: 429, opts: []stoichttp.Option{stoichttp.RetryStatus()}, failure: true, sent: 1},
		{name: "FailIf accepts 503", code: 503, opts: []stoichttp.Option{special}, sent: 1},
		{name: "FailIf objects to 503", code: 503, opts: []stoichttp.Option{special}, header: []string{"X-Fail", "1"}, failure: true, sent: 3},
		{name: "FailIf objects to 200", code: 200, opts: []stoichttp.Option{special}, header: []string{"X-Fail", "1"}, failure: true, sent: 1},
		{
			name: "FailIf goes before RetryStatus", code: 408,
			opts: []stoichttp.Option{special, stoichttp.RetryStatus(408)}, sent: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newFake(func(int, *http.Request) (*http.Response, error) {
					return answer(tt.code, "text", tt.header...), nil
				})
				b := breaker.New("b")
				resp, err := transport(t, base, plain(t, retries(3), b), tt.opts...).RoundTrip(request(t, "GET", ""))
				wantAnswer(t, resp, err, tt.code, "text")
				equal(t, "sent", base.sent(), tt.sent)
				equal(t, "failure for the breaker", b.Counts().Failures > 0, tt.failure)
			})
		})
	}
}

// What is worth a retry holds with any If that accepts it, and with the strict classifier.
func TestClassificationHoldsWithAnyIf(t *testing.T) {
	tests := []struct {
		name string
		opt  retry.Option
		code int
		sent int
	}{
		{"everything, 500", retry.If(func(error) bool { return true }), 500, 1},
		{"everything, 503", retry.If(func(error) bool { return true }), 503, 3},
		{"transient, 503", retry.If(retry.Transient), 503, 3},
		{"transient, 500", retry.If(retry.Transient), 500, 1},
		{"nothing, 503", retry.If(func(error) bool { return false }), 503, 1},
		{"by StatusError", retry.If(func(err error) bool {
			status, ok := errors.AsType[*stoichttp.StatusError](err)
			return ok && status.Code == 502
		}), 503, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(tt.code)
				resp, err := transport(t, base, plain(t, retries(3, tt.opt))).RoundTrip(request(t, "GET", ""))
				wantAnswer(t, resp, err, tt.code, "text")
				equal(t, "sent", base.sent(), tt.sent)
			})
		})
	}
}

func TestC30_ServerErrorIsAFailureForTheBreaker(t *testing.T) {
	judge := breaker.Judge(func(err error) stoic.Verdict {
		if errors.Is(err, io.EOF) {
			return stoic.Success
		}
		return stoic.Failure
	})
	eofIsFine := stoic.Benign(func(err error) bool { return errors.Is(err, io.EOF) })
	tests := []struct {
		name   string
		code   int
		opts   []breaker.Option
		layers []stoic.Policy
		opens  bool
	}{
		{name: "500", code: 500, opens: true},
		{name: "503", code: 503, opens: true},
		{name: "404", code: 404},
		{name: "500 with a judge of transport errors", code: 500, opts: []breaker.Option{judge}, opens: true},
		{name: "500 with benign transport errors", code: 500, layers: []stoic.Policy{eofIsFine}, opens: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := statuses(tt.code)
			b := breaker.New("api", append(tt.opts, breaker.ConsecutiveFailures(3))...)
			tr := transport(t, base, plain(t, append([]stoic.Policy{b}, tt.layers...)...))
			for range 3 {
				resp, err := tr.RoundTrip(request(t, "GET", ""))
				wantAnswer(t, resp, err, tt.code, "text")
			}
			resp, err := tr.RoundTrip(request(t, "GET", ""))
			if !tt.opens {
				wantAnswer(t, resp, err, tt.code, "text")
				equal(t, "sent", base.sent(), 4)
				return
			}
			wantError(t, resp, err, breaker.ErrOpen, stoic.ErrRejected)
			equal(t, "sent", base.sent(), 3)
		})
	}
}

func TestStatusErrorReads(t *testing.T) {
	var seen []error
	spy := stoic.PolicyFunc("spy", func(ctx context.Context, next stoic.Next) error {
		err := next.Do(ctx)
		seen = append(seen, err)
		return err
	})
	base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
		return []*http.Response{
			answer(503, "", "Retry-After", "3"), answer(500, ""), answer(599, ""),
		}[n-1], nil
	})
	tr := transport(t, base, plain(t, spy))
	want := []string{
		"the server answered 503 Service Unavailable (retry after 3s)",
		"the server answered 500 Internal Server Error",
		"the server answered 599",
	}
	types := []string{"503", "500", "599"}
	for i := range want {
		resp, err := tr.RoundTrip(request(t, "GET", ""))
		wantAnswer(t, resp, err, []int{503, 500, 599}[i], "")
		equal(t, "text", seen[i].Error(), want[i])
		status, ok := errors.AsType[*stoichttp.StatusError](seen[i])
		if !ok {
			t.Fatalf("the layers see %T", seen[i])
		}
		equal(t, "type", status.ErrorType(), types[i])
		equal(t, "code", status.StatusCode(), status.Code)
	}
}
