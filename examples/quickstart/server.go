package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// mode is how the server behaves.
type mode int32

const (
	healthy mode = iota
	flaky        // three of ten requests get a 503, one of the three with Retry-After
	hanging      // requests are read and never answered
	down         // nobody listens: connections are refused
)

// phase is one line of the script.
type phase struct {
	name  string
	mode  mode
	lasts time.Duration
}

// says is what the server does, for the timeline.
func (p phase) says() string {
	return map[mode]string{
		healthy: "answers every request",
		flaky:   "answers three of ten requests with 503",
		hanging: "hangs: it takes requests and never answers",
		down:    "is down: connections are refused",
	}[p.mode]
}

// server is a real HTTP server on loopback that fails as it is told.
type server struct {
	addr     string // stays the same when it is down for a while
	mode     atomic.Int32
	requests atomic.Int64
	http     *http.Server // nil while it is down
	served   chan struct{}
}

func newServer() (*server, error) {
	s := &server{addr: "127.0.0.1:0"}
	return s, s.listen()
}

func (s *server) url() string { return "http://" + s.addr + "/charge" }

// play goes through the script and announces each phase. It ends early when ctx is
// done.
func (s *server) play(ctx context.Context, script []phase, announce func(phase int)) error {
	for i, p := range script {
		announce(i)
		if err := s.enter(p.mode); err != nil {
			return err
		}
		if !wait(ctx, p.lasts) {
			return nil
		}
	}
	return nil
}

func (s *server) enter(m mode) error {
	s.mode.Store(int32(m))
	if m == down {
		s.close()
		return nil
	}
	return s.listen()
}

func (s *server) listen() error {
	if s.http != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	s.addr = listener.Addr().String()
	srv, served := &http.Server{Handler: s}, make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(listener) // ends with ErrServerClosed
	}()
	s.http, s.served = srv, served
	return nil
}

// close stops listening and cuts the connections that are open.
func (s *server) close() {
	if s.http == nil {
		return
	}
	_ = s.http.Close()
	<-s.served
	s.http = nil
}

// ServeHTTP answers one charge.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	n := s.requests.Add(1)
	switch mode(s.mode.Load()) {
	case hanging:
		<-r.Context().Done() // the client went away
	case flaky:
		maybeBusy(w, r, n)
	default:
		answer(w, r)
	}
}

// maybeBusy refuses the requests whose numbers end with 2, 5 and 8.
func maybeBusy(w http.ResponseWriter, r *http.Request, n int64) {
	switch n % 10 {
	case 2:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case 5, 8:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	default:
		answer(w, r)
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	if wait(r.Context(), 15*time.Millisecond) { // the work
		_, _ = io.WriteString(w, `{"status":"paid"}`)
	}
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
