package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// statusError is an answer as an error.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("status %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }

// refusedAddr is a loopback address where nobody listens.
func refusedAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// refusedDial is the error of a real dial.
func refusedDial(t *testing.T) error {
	t.Helper()
	conn, err := net.Dial("tcp", refusedAddr(t))
	if err == nil {
		_ = conn.Close()
		t.Fatal("somebody listens")
	}
	return err
}

// refusedRequest is the error of a real request that could not connect.
func refusedRequest(t *testing.T) error {
	t.Helper()
	resp, err := http.Post("http://"+refusedAddr(t)+"/pay", "text/plain", strings.NewReader("1 EUR"))
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("somebody listens")
	}
	return err
}

// server accepts one connection and gives it to f.
func server(t *testing.T, f func(net.Conn)) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		_ = l.Close()
		if err != nil {
			t.Error(err)
			return
		}
		f(conn)
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return conn
}

// readTimeout is the error of a real read that took too long.
func readTimeout(t *testing.T) error {
	t.Helper()
	hold := make(chan struct{})
	conn := server(t, func(c net.Conn) { <-hold; _ = c.Close() })
	defer close(hold)
	if err := conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

// reset is the error of a read on a connection that the other side has reset.
func reset(t *testing.T) error {
	t.Helper()
	dialed := make(chan struct{})
	conn := server(t, func(c net.Conn) {
		<-dialed
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	})
	close(dialed)
	_, err := conn.Read(make([]byte, 1))
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %v, want a reset", err)
	}
	return err
}

func TestCallThatMustNotBeRepeated(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	read := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	tests := []struct {
		name   string
		err    error
		proven bool // that it was not executed
	}{
		{"plain", errBoom, false},
		{"timeout", context.DeadlineExceeded, false},
		{"429", statusError(429), false},
		{"503", statusError(503), false},
		{"503 with a hint", retry.After(time.Nanosecond, statusError(503)), false},
		{"refused dial", refusedDial(t), true},
		{"refused dial of a request, which may be that of a redirect", refusedRequest(t), false},
		{"the same, marked", retry.NotExecuted(refusedRequest(t)), true},
		{"unknown host of a request", &url.Error{Op: "Post", Err: &net.DNSError{IsNotFound: true}}, false},
		{"timeout of a dial", &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}, true},
		{"dial of a proxy", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errBoom}, true},
		{"timeout of a read", readTimeout(t), false},
		{"reset", reset(t), false},
		{"write", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, false},
		{"DNS", &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}, true},
		{"DNS of a dial", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{IsTemporary: true}}, true},
		{"marked", retry.NotExecuted(statusError(503)), true},
		{"marked, wrapped", fmt.Errorf("pay: %w", retry.NotExecuted(errBoom)), true},
		{"marked read", retry.NotExecuted(read), true},
		{"a dial among others", fmt.Errorf("%w: %w", errBoom, dial), true},
		{"a dial, and a read elsewhere", errors.Join(dial, read), false},
		{"a read, and a dial elsewhere", errors.Join(read, dial), false},
		{"two dials", errors.Join(dial, dial), true},
	}
	for _, tt := range tests {
		for _, call := range []struct {
			name  string
			ctx   func(context.Context) context.Context
			gated bool
		}{
			{"unmarked", func(ctx context.Context) context.Context { return ctx }, false},
			{"marked", stoic.WithNonIdempotent, true},
			{"empty key", func(ctx context.Context) context.Context {
				return stoic.WithIdempotencyKey(stoic.WithNonIdempotent(ctx), "")
			}, true},
			{"with key", func(ctx context.Context) context.Context {
				return stoic.WithIdempotencyKey(stoic.WithNonIdempotent(ctx), "order-42")
			}, false},
		} {
			t.Run(tt.name+"/"+call.name, func(t *testing.T) {
				p, rec := stack(t, newBudget(10), retry.New(retry.If(accept), retry.Constant(0)))
				op := newOp(tt.err)
				identical(t, p.Do(call.ctx(t.Context()), op.run), tt.err)
				calls, why := 3, hooks.StopMaxAttempts
				if call.gated && !tt.proven {
					calls, why = 1, hooks.StopNonIdempotent
				}
				equal(t, "calls", op.calls(), calls)
				equal(t, "reason", rec.Events(hooks.GaveUp)[0].Reason, why)
			})
		}
	}
}

// A payment that was executed and answered by a redirect to a host that is down: the
// error is that of a failed dial, and the payment must not be made again.
func TestDialOfARedirectIsNoProof(t *testing.T) {
	var payments atomic.Int64
	down := "http://" + refusedAddr(t) + "/receipt"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payments.Add(1)
		http.Redirect(w, r, down, http.StatusSeeOther)
	}))
	defer srv.Close()
	p := stoic.MustNew("pay", retry.New(retry.Constant(0)))
	err := p.Do(stoic.WithNonIdempotent(t.Context()), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader("42"))
		if err != nil {
			return err
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error: got %v, want a refused connection", err)
	}
	equal(t, "payments", payments.Load(), int64(1))
}

func TestCallThatMustNotBeRepeatedAndRejections(t *testing.T) {
	ctx := stoic.WithNonIdempotent(t.Context())

	// Accepted: it was not sent, so it is sent now, and then no more.
	op := newOp(errBoom)
	p := plain(t, retry.New(retry.If(accept), retry.Constant(0)), newGate(allButFirst))
	identical(t, p.Do(ctx, op.run), errBoom)
	equal(t, "calls", op.calls(), 1)

	// Not accepted: it ends the loop.
	g := newGate(allButFirst)
	p = plain(t, retry.New(retry.Constant(0)), g)
	identical(t, p.Do(ctx, op.run), g.rejection)
	equal(t, "calls", op.calls(), 1)
}

func TestMarkDoesNotReplaceIf(t *testing.T) {
	op := newOp(retry.NotExecuted(errBoom))
	p := plain(t, retry.New(retry.If(func(error) bool { return false })))
	matches(t, p.Do(stoic.WithNonIdempotent(t.Context()), op.run), errBoom)
	equal(t, "calls", op.calls(), 1)
}

func TestMarksOfNilAreNil(t *testing.T) {
	identical(t, retry.Permanent(nil), nil)
	identical(t, retry.After(time.Second, nil), nil)
	identical(t, retry.NotExecuted(nil), nil)
}

func TestMarksReadLikeTheErrorAndUnwrapToIt(t *testing.T) {
	for name, err := range map[string]error{
		"Permanent":   retry.Permanent(errBoom),
		"After":       retry.After(time.Second, errBoom),
		"NotExecuted": retry.NotExecuted(errBoom),
	} {
		equal(t, name, err.Error(), "boom")
		identical(t, errors.Unwrap(err), errBoom)
	}
}
