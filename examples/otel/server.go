package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// mode is how the server behaves.
type mode int

const (
	healthy mode = iota
	flaky        // three of ten orders get a 503: once, twice, always
	hanging      // requests are read and never answered
)

// phase is one line of the script.
type phase struct {
	name  string
	mode  mode
	lasts time.Duration
}

// says is what the server does, for the reader.
func (p phase) says() string {
	return map[mode]string{
		healthy: "answers every request",
		flaky:   "refuses three of ten orders with 503: one once, one twice, one always",
		hanging: "hangs: it takes requests and never answers",
	}[p.mode]
}

// server is a real HTTP server on loopback that fails as it is told.
type server struct {
	listener net.Listener
	http     http.Server
	served   chan struct{}

	mu     sync.Mutex
	mode   mode
	orders int            // that came since it is flaky
	busy   map[string]int // how often it will still refuse an order
}

func newServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: listener, served: make(chan struct{}), busy: make(map[string]int)}
	s.http.Handler = s
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ends with ErrServerClosed
	}()
	return s, nil
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() + "/charge" }

func (s *server) close() {
	_ = s.http.Close()
	<-s.served
}

func (s *server) enter(m mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = m
}

// ServeHTTP answers one charge.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	m, refuse := s.decide(r.Header.Get("Idempotency-Key"))
	switch {
	case m == hanging:
		<-r.Context().Done() // the client went away
	case !wait(r.Context(), 15*time.Millisecond): // the work
	case refuse:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, `{"status":"paid"}`)
	}
}

func (s *server) decide(order string) (m mode, refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode != flaky {
		return s.mode, false
	}
	left, seen := s.busy[order]
	if !seen {
		left = [10]int{1: 1, 4: 2, 7: 1000}[s.orders%10]
		s.orders++
	}
	s.busy[order] = max(0, left-1)
	return s.mode, left > 0
}

// wait reports whether d passed before ctx was done.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
