package stoichttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

// A client whose calls run through a stack. The server is busy twice.
func Example() {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		body, _ := io.ReadAll(r.Body)
		fmt.Printf("request %d: %s (key %s)\n", n, body, r.Header.Get("Idempotency-Key"))
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "done")
	}))
	defer server.Close()

	payments := stoic.MustNew("payments",
		deadline.New(10*time.Second), // the whole call, waits and the reading of the body included
		budget.New(),
		retry.New(retry.FullJitter(time.Millisecond, 10*time.Millisecond)),
		breaker.New("payments"),
		deadline.New(2*time.Second), // each attempt
	)
	client := &http.Client{Transport: stoichttp.NewTransport(nil, payments)}

	// A POST is sent again only with a key by which the server knows it again.
	ctx := stoic.WithIdempotencyKey(context.Background(), "order-7")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("one book"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)
	// Output:
	// request 1: one book (key order-7)
	// request 2: one book (key order-7)
	// request 3: one book (key order-7)
	// 200 done <nil>
}

// What is worth a retry can be changed: here a 500, but not a 429.
func ExampleNewTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()

	p := stoic.MustNew("reports", retry.New(retry.MaxAttempts(4), retry.Constant(time.Millisecond)))
	attempts := 0
	base := counted{http.DefaultTransport, &attempts}
	tr := stoichttp.NewTransport(base, p, stoichttp.RetryStatus(500, 502, 503, 504))
	if err := tr.Validate(); err != nil { // at start-up
		fmt.Println(err)
		return
	}
	resp, err := (&http.Client{Transport: tr}).Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println("attempts:", attempts)
	fmt.Println("status:  ", resp.StatusCode) // the last answer, with a nil error
	// Output:
	// attempts: 4
	// status:   500
}

type counted struct {
	http.RoundTripper
	n *int
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	*c.n++
	return c.RoundTripper.RoundTrip(req)
}

// A server that lets two requests in at once, and then one a second.
func ExampleLimit() {
	door := stoic.MustNew("door", ratelimit.New(ratelimit.Per(1, time.Second), 2))
	handler := stoichttp.Limit(door, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "welcome")
	}))
	for range 3 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Printf("%d %q %q\n", w.Code, w.Body, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 "welcome" ""
	// 200 "welcome" ""
	// 429 "Too Many Requests\n" "1"
}

// A handler that calls a dependency, and tells its own client what its stack said.
func ExampleWriteError() {
	db := breaker.New("db")
	db.ForceOpen()
	orders := stoic.MustNew("orders", db)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := orders.Do(r.Context(), func(context.Context) error { return nil })
		if err != nil {
			stoichttp.WriteError(w, err)
			return
		}
		_, _ = io.WriteString(w, "done")
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	// Output:
	// 503 Service Unavailable
}

// A stack around a whole http.Client sees errors that a transport does not, such as too
// many redirects.
func ExamplePermanent() {
	calls := 0
	p := stoic.MustNew("crawler", retry.New(retry.If(func(err error) bool {
		return !stoichttp.Permanent(err) && !errors.Is(err, stoic.ErrRejected)
	})))
	err := p.Do(context.Background(), func(ctx context.Context) error {
		calls++
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "gopher://example.test/", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	fmt.Println(calls, err)
	// Output:
	// 1 Get "gopher://example.test/": unsupported protocol scheme "gopher"
}
