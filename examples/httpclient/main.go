// Httpclient sends requests through stoichttp.Transport to a server that is busy now and
// then: what is retried and what is not, what the caller gets, and how the server sheds
// load at its own door. Each request is traced with a client span below the span of its
// attempt; one that is a resend says so in http.request.resend_count, which the transport
// knows from stoic.Attempt.
//
//	go run ./examples/httpclient
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "httpclient:", err)
		os.Exit(1)
	}
}

// run plays the script against a real server.
func run(ctx context.Context, w io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newServer()}
	defer server.Close()
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed

	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&printer{w: w}))
	client, err := newClient(http.DefaultTransport, tracers)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "A line for each span, then what the caller got.")
	for _, s := range script {
		fmt.Fprintf(w, "\n%s\n", s.what)
		fmt.Fprintf(w, "→ %s\n", s.play(ctx, client, "http://"+listener.Addr().String()))
	}
	return tracers.Shutdown(ctx)
}

// README: begin

// newClient makes a client whose requests go through a stack.
func newClient(base http.RoundTripper, tracers trace.TracerProvider) (*http.Client, error) {
	hook, err := otelhooks.New(otelhooks.WithTracerProvider(tracers))
	if err != nil {
		return nil, err
	}
	stack, err := stoic.New("orders",
		stoic.Observe(hook),
		deadline.New(5*time.Second), // the whole call, reading the body included
		retry.New(retry.Constant(20*time.Millisecond)),
		breaker.New("orders", breaker.ConsecutiveFailures(6)),
		deadline.New(time.Second), // each attempt
	)
	if err != nil {
		return nil, err
	}
	// What is the base of the transport runs once for each attempt.
	return &http.Client{Transport: stoichttp.NewTransport(newTransport(base, tracers), stack)}, nil
}

// README: end

// step is a request of the script.
type step struct {
	what         string
	method, path string
	key          string // the idempotency key
}

var script = []step{
	{what: "GET, and the server answers 503 twice", method: "GET", path: "/busy/get"},
	{what: "POST: it may have been executed, so it is sent once, and the caller gets the 503", method: "POST", path: "/busy/post"},
	{what: "POST with an idempotency key", method: "POST", path: "/busy/keyed", key: "order-7"},
	{what: "GET, and the server answers 429 with Retry-After: 1", method: "GET", path: "/quota"},
	{what: "GET of what a stack at the server's own door refuses", method: "GET", path: "/door"},
	{what: "GET, and the server is always busy: the breaker counts", method: "GET", path: "/down"},
	{what: "GET, and the breaker opens: the caller gets the last 503", method: "GET", path: "/down"},
	{what: "GET, and nothing is sent", method: "GET", path: "/down"},
}

// play sends the request, and says in a line what came back.
func (s step) play(ctx context.Context, client *http.Client, url string) string {
	if s.key != "" {
		ctx = stoic.WithIdempotencyKey(ctx, s.key)
	}
	status, body, err := send(ctx, client, s.method, url+s.path)
	switch {
	case errors.Is(err, breaker.ErrOpen):
		return "rejected: the circuit breaker is open"
	case err != nil:
		return "failed: " + err.Error()
	}
	return fmt.Sprintf("%d %q", status, body)
}

func send(ctx context.Context, client *http.Client, method, url string) (status int, body string, err error) {
	var payload io.Reader
	if method == http.MethodPost {
		payload = strings.NewReader("one book") // NewRequest knows how to send it again
	}
	req, err := http.NewRequestWithContext(ctx, method, url, payload)
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(text)), err
}
