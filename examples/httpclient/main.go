// Httpclient traces each request of a stack with a client span below the span of its
// attempt. A request that is a resend says so in http.request.resend_count, as the
// semantic conventions of OpenTelemetry ask; the transport knows it from stoic.Attempt.
//
//	go run ./examples/httpclient
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "httpclient:", err)
		os.Exit(1)
	}
}

// run makes two calls: one that needs three requests, and one that needs a single one.
func run(ctx context.Context, w io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var requests atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	defer server.Close()
	go func() { _ = server.Serve(listener) }() // ends with ErrServerClosed

	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(&printer{w: w}))
	c, err := newClient(http.DefaultTransport, tracers)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "The server answers the first two requests with 503. A line for each span:")
	for n := range 2 {
		fmt.Fprintln(w)
		if err := c.get(ctx, fmt.Sprintf("http://%s/orders/%d", listener.Addr(), n)); err != nil {
			return err
		}
	}
	return tracers.Shutdown(ctx)
}

// client asks for orders.
type client struct {
	stack *stoic.Pipeline
	http  *http.Client
}

// newClient makes one whose calls, attempts and requests all go to the same tracers.
func newClient(base http.RoundTripper, tracers trace.TracerProvider) (*client, error) {
	hook, err := otelhooks.New(otelhooks.WithTracerProvider(tracers))
	if err != nil {
		return nil, err
	}
	stack, err := stoic.New("orders", stoic.Observe(hook), retry.New(retry.Constant(20*time.Millisecond)))
	if err != nil {
		return nil, err
	}
	return &client{stack, &http.Client{Transport: newTransport(base, tracers)}}, nil
}

func (c *client) get(ctx context.Context, url string) error {
	return c.stack.Do(ctx, func(ctx context.Context) error { // this ctx knows the attempt
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return retry.Permanent(err)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusInternalServerError {
			return statusError(resp.StatusCode)
		}
		return nil
	})
}
