// Stack is the code of the README as a program: a full stack around a real HTTP
// dependency. The server here is local, and answers every third request with a 503.
//
//	go run ./examples/stack
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// README: begin

var payments = stoic.MustNew("payments",
	stoic.Observe(hooks.Slog(nil)), // give-ups and breaker changes go to the log
	deadline.New(2*time.Second),    // the whole call, waits included
	budget.New(),                   // retries: 10 % of the calls, and one a second
	retry.New(),                    // three attempts, with jitter
	breaker.New("payments"),        // sees every attempt; opens when many fail
	ratelimit.New(ratelimit.Per(100, time.Second), 20), // our quota; each attempt spends it
	deadline.New(500*time.Millisecond),                 // each attempt
)

func send(req *http.Request) (*http.Response, error) { // for requests without a body
	return stoic.Get(req.Context(), payments, func(ctx context.Context) (*http.Response, error) {
		resp, err := http.DefaultClient.Do(req.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 500 {
			return nil, fmt.Errorf("payments: %s", resp.Status) // now it is a failure, for every layer
		}
		body, err := io.ReadAll(resp.Body) // in here: the body dies with the attempt's context
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, err
	})
}

// README: end

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

// run makes five calls. The caller sees no failure.
func run(w io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var requests atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "paid")
	})}
	defer server.Close()
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed

	for n := range 5 {
		req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s/orders/%d", listener.Addr(), n), http.NoBody)
		if err != nil {
			return err
		}
		resp, err := send(req)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "order %d: %s, %s\n", n, resp.Status, body)
	}
	fmt.Fprintf(w, "5 calls, %d requests\n", requests.Load())
	return nil
}
