package stoichttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

var errBoom = errors.New("boom")

const address = "http://api.test/orders"

// fake is a base transport that plays a script. Of each request it notes what came, and
// it closes the body, as it must.
type fake struct {
	play  func(n int, req *http.Request) (*http.Response, error) // n counts from 1
	start time.Time

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	times    []time.Duration
}

func newFake(play func(n int, req *http.Request) (*http.Response, error)) *fake {
	return &fake{play: play, start: time.Now()}
}

// statuses is a base that answers with these, and then always with the last.
func statuses(codes ...int) *fake {
	return newFake(func(n int, _ *http.Request) (*http.Response, error) {
		return answer(codes[min(n, len(codes))-1], "text"), nil
	})
}

func (f *fake) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	f.mu.Lock()
	f.requests = append(f.requests, req)
	f.bodies = append(f.bodies, string(body))
	f.times = append(f.times, time.Since(f.start))
	n := len(f.requests)
	f.mu.Unlock()
	resp, err := f.play(n, req)
	if resp != nil && resp.Request == nil {
		resp.Request = req
	}
	return resp, err
}

func (f *fake) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fake) sentAt() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.times)
}

// tracked is a body that counts what is done to it.
type tracked struct {
	io.Reader
	closed atomic.Int32
	read   atomic.Int64
}

func (b *tracked) Read(p []byte) (int, error) {
	if b.closed.Load() > 0 {
		return 0, errors.New("read on closed body")
	}
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *tracked) Close() error {
	b.closed.Add(1)
	return nil
}

func track(text string) *tracked { return &tracked{Reader: strings.NewReader(text)} }

func answer(code int, text string, header ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: track(text), ContentLength: int64(len(text)),
	}
}

func plain(tb testing.TB, layers ...stoic.Policy) *stoic.Pipeline {
	tb.Helper()
	p, err := stoic.New("pay", layers...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// retries is R(n) of the cases.
func retries(n int, opts ...retry.Option) *retry.Retry {
	return retry.New(append([]retry.Option{retry.MaxAttempts(n), retry.NoJitter(100*time.Millisecond, 10*time.Second)}, opts...)...)
}

func transport(tb testing.TB, base http.RoundTripper, p *stoic.Pipeline, opts ...stoichttp.Option) *stoichttp.Transport {
	tb.Helper()
	tr := stoichttp.NewTransport(base, p, opts...)
	if err := tr.Validate(); err != nil {
		tb.Fatal(err)
	}
	return tr
}

// request is one with a body that has GetBody, or with none for "".
func request(tb testing.TB, method, body string) *http.Request {
	tb.Helper()
	return requestTo(tb, method, address, body)
}

func requestTo(tb testing.TB, method, url, body string) *http.Request {
	tb.Helper()
	var r io.Reader
	if body != "" {
		r = bytes.NewReader([]byte(body))
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, url, r)
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// wantAnswer fails unless the answer has that status and its body reads as text.
func wantAnswer(tb testing.TB, resp *http.Response, err error, code int, text string) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("got error %v, want status %d", err, code)
	}
	if resp.StatusCode != code {
		tb.Errorf("got status %d, want %d", resp.StatusCode, code)
	}
	if ctxErr := resp.Request.Context().Err(); ctxErr != nil {
		tb.Errorf("the context of the request is done: %v", ctxErr)
	}
	got, err := io.ReadAll(resp.Body)
	if string(got) != text || err != nil {
		tb.Errorf("the body reads %d bytes %.80q and %v, want %d bytes %.80q", len(got), got, err, len(text), text)
	}
	if err := resp.Body.Close(); err != nil {
		tb.Errorf("Close: %v", err)
	}
}

// wantError fails unless err matches all of targets and there is no response.
func wantError(tb testing.TB, resp *http.Response, err error, targets ...error) {
	tb.Helper()
	if resp != nil {
		tb.Errorf("got a response with status %d, want none", resp.StatusCode)
	}
	for _, target := range targets {
		if !errors.Is(err, target) {
			tb.Errorf("got error %v, want one that matches %v", err, target)
		}
	}
}

func equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// ending is how a function ended.
type ending struct {
	panicked any
	exited   bool // by runtime.Goexit
}

// endOf runs f on a goroutine of its own.
func endOf(f func()) ending {
	var (
		end  ending
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		returned := false
		defer func() {
			end.panicked = recover()
			end.exited = !returned && end.panicked == nil
		}()
		f()
		returned = true
	}()
	<-done
	return end
}

// misbehave ends the goroutine in one of the ways that are no return.
func misbehave(how string) {
	if how == "panic" {
		panic(errBoom)
	}
	runtime.Goexit()
}

func (e ending) check(tb testing.TB, how string) {
	tb.Helper()
	if how == "panic" && e.panicked != any(errBoom) || how == "goexit" && !e.exited {
		tb.Errorf("ended as %+v, want a %s", e, how)
	}
}

// pipeNet is a network of net.Pipe, for servers in a bubble.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeNet() *pipeNet { return &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *pipeNet) Addr() net.Addr { return pipeAddr{} }

func (n *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// bubbleServer serves h inside a bubble and returns a transport to it.
func bubbleServer(tb testing.TB, h http.HandlerFunc) *http.Transport {
	tb.Helper()
	network := newPipeNet()
	var handlers sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		h(w, r)
	})}
	go func() { _ = server.Serve(network) }()
	base := &http.Transport{DialContext: network.dial}
	tb.Cleanup(func() {
		base.CloseIdleConnections()
		_ = server.Close()
		handlers.Wait()
	})
	return base
}

//nolint:forbidigo // what http.Server logs to
func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

func fullStack() []stoic.Policy {
	return []stoic.Policy{
		deadline.New(time.Minute), budget.New(), retry.New(), breaker.New("b"), ratelimit.New(1e9, 1<<30), deadline.New(30 * time.Second),
	}
}

// stub answers at once, and is not interested in the context.
type stub struct{ body endless }

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: &s.body, Request: req}, nil
}

type endless struct{}

func (*endless) Read([]byte) (int, error) { return 0, io.EOF }
func (*endless) Close() error             { return nil }
