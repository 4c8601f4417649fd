package stoichttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func megabyte() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 1<<16) }

func TestC61_BodyIsSentWholeOnEachAttempt(t *testing.T) {
	var (
		mu      sync.Mutex
		lengths []int64
		keys    []string
		third   []byte
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		lengths = append(lengths, r.ContentLength)
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(lengths) < 3 {
			_, _ = io.ReadFull(r.Body, make([]byte, 10))
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		third, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	base := server.Client().Transport.(*http.Transport)
	tr := transport(t, base, plain(t, retry.New(retry.MaxAttempts(6), retry.Constant(0))))

	req := requestTo(t, "POST", server.URL, string(megabyte()))
	req = req.WithContext(stoic.WithIdempotencyKey(req.Context(), "order-7"))
	resp, err := tr.RoundTrip(req)
	wantAnswer(t, resp, err, 200, "")

	mu.Lock()
	defer mu.Unlock()
	// An answer that comes while the body is on its way may be lost with its connection.
	// That is one attempt more, of the same kind.
	if len(lengths) < 3 || len(lengths) > 6 {
		t.Errorf("%d requests, want 3", len(lengths))
	}
	if !bytes.Equal(third, megabyte()) {
		t.Errorf("the last body has %d bytes, want the 1 MiB", len(third))
	}
	for i := range lengths {
		equal(t, "length", lengths[i], 1<<20)
		equal(t, "key", keys[i], "order-7")
	}
}

// With a fake transport, and so exactly.
func TestC61_GetBodyIsCalledOncePerResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503, 503, 200)
		req := request(t, "PUT", string(megabyte()))
		var got []*tracked
		first := track(string(megabyte()))
		req.Body = first
		req.GetBody = func() (io.ReadCloser, error) {
			got = append(got, track(string(megabyte())))
			return got[len(got)-1], nil
		}
		resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
		wantAnswer(t, resp, err, 200, "text")
		equal(t, "GetBody", len(got), 2)
		for i, body := range append(got, first) {
			equal(t, "closes", body.closed.Load(), 1)
			equal(t, "body", base.bodies[i] == string(megabyte()), true)
			equal(t, "length", base.requests[i].ContentLength, 1<<20)
		}
	})
}

func TestC62_BodyThatCannotBeReplayedIsSentOnce(t *testing.T) {
	noGetBody := func(req *http.Request) { req.GetBody = nil }
	t.Run("no GetBody, 503", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			base := statuses(503)
			req := request(t, "PUT", "once")
			noGetBody(req)
			resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
			wantAnswer(t, resp, err, 503, "text")
			equal(t, "sent", base.sent(), 1)
			equal(t, "took", time.Since(base.start), 0) // no wait for a retry that cannot be
		})
	})
	t.Run("no GetBody, error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			base := newFake(func(int, *http.Request) (*http.Response, error) { return nil, errBoom })
			req := request(t, "PUT", "once")
			noGetBody(req)
			resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
			wantError(t, resp, err, errBoom)
			equal(t, "sent", base.sent(), 1)
			equal(t, "took", time.Since(base.start), 0)
		})
	})
	// A layer that repeats without asking anybody.
	t.Run("no GetBody, and a layer that does not know", func(t *testing.T) {
		stubborn := stoic.PolicyFunc("stubborn", func(ctx context.Context, next stoic.Next) error {
			_ = next.Do(ctx)
			return next.Do(ctx)
		})
		base, b := statuses(503), breaker.New("b")
		req := request(t, "PUT", "once")
		noGetBody(req)
		resp, err := transport(t, base, plain(t, stubborn, b)).RoundTrip(req)
		wantAnswer(t, resp, err, 503, "text")
		equal(t, "sent", base.sent(), 1)
		equal(t, "failures", b.Counts().Failures, 1)
	})
	t.Run("GetBody fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			base := statuses(503)
			errGone := errors.New("the file is gone")
			req := request(t, "PUT", "once")
			asked := 0
			req.GetBody = func() (io.ReadCloser, error) {
				asked++
				return nil, errGone
			}
			// Neither the breaker's nor the budget's business: it is not the server's fault.
			b := breaker.New("b")
			spare := budget.New(budget.Ratio(0), budget.MinPerSecond(0.1), budget.Window(10*time.Second))
			tr := transport(t, base, plain(t, spare, retries(4, retry.If(func(error) bool { return true })), b))
			resp, err := tr.RoundTrip(req)
			wantError(t, resp, err, errGone)
			equal(t, "sent", base.sent(), 1)
			equal(t, "GetBody", asked, 1)
			equal(t, "failures", b.Counts().Failures, 1)
			if status, ok := errors.AsType[*stoichttp.StatusError](err); !ok || status.Code != 503 {
				t.Errorf("%v does not tell of the 503", err)
			}
			equal(t, "text", err.Error(), "pay: retry stopped after 1 attempt: stoichttp: the request body cannot be rewound: "+
				"the client did not send this call; last failure: the server answered 503 Service Unavailable")
			_, refused := spare.Reserve()
			equal(t, "the budget's token came back", refused, nil)
		})
	})
	for name, body := range map[string]io.ReadCloser{"GET with nil body": nil, "PUT with NoBody": http.NoBody} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(503)
				req := request(t, "PUT", "")
				if body == nil {
					req.Method = "GET"
				}
				req.Body, req.GetBody = body, nil
				resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
				wantAnswer(t, resp, err, 503, "text")
				equal(t, "sent", base.sent(), 3)
				for _, sent := range base.requests {
					equal(t, "body", sent.Body, body)
				}
			})
		})
	}
	t.Run("POST with NoBody and a key", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			base := statuses(503)
			req := request(t, "POST", "")
			req.Body, req.GetBody = http.NoBody, nil
			req.Header.Set("Idempotency-Key", "k")
			resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(req)
			wantAnswer(t, resp, err, 503, "text")
			equal(t, "sent", base.sent(), 3)
		})
	})
}

// A rejection before the first sending leaves the body to be sent.
func TestBodyIsNotUsedUpByARejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(200)
		req := request(t, "PUT", "once")
		req.GetBody = nil
		limiter := ratelimit.New(10, 1)
		p := plain(t, retries(3, retry.If(func(error) bool { return true })), limiter)
		if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		resp, err := transport(t, base, p).RoundTrip(req)
		wantAnswer(t, resp, err, 200, "text")
		equal(t, "sent", base.sent(), 1)
		equal(t, "body", base.bodies[0], "once")
	})
}

func TestRequestBodyIsAlwaysClosed(t *testing.T) {
	ok := plain(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	forced := breaker.New("b")
	forced.ForceOpen()
	exits := func(how string) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) {
			misbehave(how)
			return nil, nil
		})
	}
	tests := []struct {
		name string
		tr   *stoichttp.Transport
		ctx  context.Context
	}{
		{"sent", stoichttp.NewTransport(statuses(200), ok), t.Context()},
		{"context done", stoichttp.NewTransport(statuses(200), ok), canceled},
		{"rejected", stoichttp.NewTransport(statuses(200), plain(t, forced)), t.Context()},
		{"invalid pipeline", stoichttp.NewTransport(statuses(200), nil), t.Context()},
		{"invalid option", stoichttp.NewTransport(statuses(200), ok, nil), t.Context()},
		{"zero transport", new(stoichttp.Transport), t.Context()},
		{"nil transport", nil, t.Context()},
		{"panic in the base", stoichttp.NewTransport(exits("panic"), ok), t.Context()},
		{"Goexit in the base", stoichttp.NewTransport(exits("goexit"), ok), t.Context()},
		{"panic in the stack", stoichttp.NewTransport(statuses(200), plain(t, exiting("panic"))), t.Context()},
		{"Goexit in the stack", stoichttp.NewTransport(statuses(200), plain(t, exiting("goexit"))), t.Context()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := track("x")
			req := request(t, "PUT", "x").WithContext(tt.ctx)
			req.Body = body
			endOf(func() {
				if resp, err := tt.tr.RoundTrip(req); err == nil {
					_ = resp.Body.Close()
				}
			})
			equal(t, "closes", body.closed.Load(), 1)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func exiting(how string) stoic.Policy {
	return stoic.PolicyFunc(how, func(context.Context, stoic.Next) error {
		misbehave(how)
		return nil
	})
}

func TestC67_CallersRequestIsNotChanged(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(503)
	}))
	defer server.Close()
	tr := transport(t, server.Client().Transport, plain(t, retry.New(retry.Constant(0))))

	req := requestTo(t, "POST", server.URL+"/orders?q=1", "order")
	req = req.WithContext(stoic.WithIdempotencyKey(req.Context(), "k"))
	req.Header.Set("X-Custom", "1")
	body := req.Body
	getBody := 0
	inner := req.GetBody
	req.GetBody = func() (io.ReadCloser, error) {
		getBody++
		return inner()
	}
	before, header, url := *req, req.Header.Clone(), *req.URL

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // somebody else uses the same headers meanwhile
		other := http.Header{}
		for {
			select {
			case <-stop:
				return
			default:
				maps.Copy(other, req.Header)
			}
		}
	})
	resp, err := tr.RoundTrip(req)
	wantAnswer(t, resp, err, 503, "")
	close(stop)
	wg.Wait()

	if !maps.EqualFunc(req.Header, header, slices.Equal[[]string]) {
		t.Errorf("headers %v, want %v", req.Header, header)
	}
	equal(t, "URL", *req.URL, url)
	equal(t, "body", req.Body, body)
	equal(t, "context", req.Context(), before.Context())
	equal(t, "method", req.Method, before.Method)
	equal(t, "length", req.ContentLength, before.ContentLength)
	equal(t, "resends", getBody, 2)
	if _, err := req.GetBody(); err != nil || getBody != 3 {
		t.Errorf("GetBody is another one")
	}
	equal(t, "request of the response", resp.Request, req)
}

// A base may read the request body after it has returned: each attempt has its own.
func TestAttemptsDoNotShareABody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late []string
		done := make(chan string)
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			body := req.Body
			go func() {
				time.Sleep(time.Second)
				text, _ := io.ReadAll(body)
				_ = body.Close()
				done <- string(text)
			}()
			return answer(503, ""), nil
		})
		resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(request(t, "PUT", "order"))
		wantAnswer(t, resp, err, 503, "")
		for range 3 {
			late = append(late, <-done)
		}
		equal(t, "bodies", strings.Join(late, " "), "order order order")
	})
}
