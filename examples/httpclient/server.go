package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/stoichttp"
)

// server answers the first requests for a path with 503, or whatever the path is for.
type server struct {
	mu   sync.Mutex
	seen map[string]int // by path
}

func newServer() http.Handler {
	s := &server{seen: make(map[string]int)}
	// The door lets one request in each hour, and somebody was faster.
	limiter := rate.NewLimiter(ratelimit.Per(1, time.Hour), 1)
	limiter.Allow()
	door := stoic.MustNew("door", ratelimit.From(limiter))
	mux := http.NewServeMux()
	mux.Handle("/door", stoichttp.Limit(door, http.HandlerFunc(s.welcome)))
	mux.HandleFunc("/quota", s.quota)
	mux.HandleFunc("/down", s.down)
	mux.HandleFunc("/", s.busy)
	return mux
}

func (s *server) count(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[r.URL.Path]++
	return s.seen[r.URL.Path]
}

func (s *server) busy(w http.ResponseWriter, r *http.Request) {
	if s.count(r) <= 2 {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	answer := "done"
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		answer += fmt.Sprintf(": %s, for %s", body, key)
	}
	fmt.Fprint(w, answer)
}

func (s *server) quota(w http.ResponseWriter, r *http.Request) {
	if s.count(r) == 1 {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many", http.StatusTooManyRequests)
		return
	}
	fmt.Fprint(w, "done")
}

func (s *server) down(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "down", http.StatusServiceUnavailable)
}

func (s *server) welcome(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") }
