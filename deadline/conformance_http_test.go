package deadline_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// httpServer answers over pipes, which a bubble can wait for.
type httpServer struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (s *httpServer) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *httpServer) Close() error   { close(s.closed); return nil }
func (s *httpServer) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (s *httpServer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case s.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// overHTTP runs fn with a client of a server with this handler.
func overHTTP(handler http.HandlerFunc, fn func(c *http.Client)) {
	s := &httpServer{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(s)
	}()
	transport := &http.Transport{DialContext: s.dial}
	fn(&http.Client{Transport: transport})
	transport.CloseIdleConnections()
	_ = server.Close()
	<-stopped
}

func get(ctx context.Context, c *http.Client) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/", http.NoBody)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

var httpUses = []use{
	{"net/http, an answer in time", func(parent context.Context, in frame, tr *trace) {
		overHTTP(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(300 * time.Millisecond)
			_, _ = io.WriteString(w, "hello")
		}, func(c *http.Client) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				resp, err := get(ctx, c)
				if err != nil {
					tr.add("%v", err)
					return err
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				tr.add("%d %s %v", resp.StatusCode, body, err)
				return err
			})
		})
	}, []string{"300ms 200 hello <nil>"}},

	{"net/http, no answer", func(parent context.Context, in frame, tr *trace) {
		served := make(chan struct{})
		overHTTP(func(_ http.ResponseWriter, r *http.Request) {
			defer close(served)
			<-r.Context().Done() // the connection breaks
			tr.add("server: %v", r.Context().Err())
		}, func(c *http.Client) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				resp, err := get(ctx, c)
				if err == nil {
					_ = resp.Body.Close()
				}
				<-served
				tr.add("client: %v", err)
				timeout, ok := errors.AsType[net.Error](err)
				tr.add("timeout: %v, deadline: %v", ok && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded))
				return err
			})
		})
	}, []string{
		"1s server: context canceled",
		`1s client: Get "http://server/": context deadline exceeded`,
		"1s timeout: true, deadline: true",
	}},

	{"net/http, the caller cancels", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithCancelCause(parent)
		time.AfterFunc(300*time.Millisecond, func() { cancel(errDown) })
		overHTTP(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(c *http.Client) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				resp, err := get(ctx, c)
				if err == nil {
					_ = resp.Body.Close()
				}
				tr.add("%v", err) // net/http returns the cause
				return err
			})
		})
	}, []string{`300ms Get "http://server/": down`}},

	{"net/http, the time is up in the body", func(parent context.Context, in frame, tr *trace) {
		overHTTP(halfABody, func(c *http.Client) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				resp, err := get(ctx, c)
				if err != nil {
					return err
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				tr.add("%s %v", body, err)
				return err
			})
		})
	}, []string{"1s half context deadline exceeded"}},

	{"net/http, the body is read after the return", func(parent context.Context, in frame, tr *trace) {
		overHTTP(halfABody, func(c *http.Client) {
			var kept *http.Response
			_ = in(parent, time.Second, func(ctx context.Context) error {
				resp, err := get(ctx, c) // below
				kept = resp
				return err
			})
			body, err := io.ReadAll(kept.Body)
			_ = kept.Body.Close()
			tr.add("%s %v", body, errors.Is(err, context.Canceled))
		})
	}, []string{"0s half true"}},

	{"net/http, a request after the return", func(parent context.Context, in frame, tr *trace) {
		overHTTP(func(http.ResponseWriter, *http.Request) { tr.add("was served") }, func(c *http.Client) {
			var kept context.Context
			_ = in(parent, time.Second, func(ctx context.Context) error {
				kept = ctx
				return nil
			})
			resp, err := get(kept, c)
			if err == nil {
				_ = resp.Body.Close()
			}
			tr.add("%v", err)
		})
	}, []string{`0s Get "http://server/": context canceled`}},

	{"net/http, a server's request around it", func(parent context.Context, in frame, tr *trace) {
		overHTTP(func(w http.ResponseWriter, r *http.Request) {
			err := in(r.Context(), time.Second, func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			})
			tr.add("%v, %v", errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded))
		}, func(c *http.Client) {
			ctx, cancel := context.WithTimeout(parent, 300*time.Millisecond)
			defer cancel()
			resp, err := get(ctx, c)
			if err == nil {
				_ = resp.Body.Close()
			}
			time.Sleep(time.Millisecond) // the server notices
		})
	}, []string{"300ms true, false"}},
}

// halfABody sends a part and then nothing.
func halfABody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "8")
	_, _ = io.WriteString(w, "half")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
