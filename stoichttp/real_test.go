package stoichttp_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

// startServer serves h with HTTP/1.1 or, over TLS, HTTP/2, and returns a transport to it.
func startServer(t *testing.T, proto int, h http.HandlerFunc) (url string, base *http.Transport) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = proto == 2
	server.Config.ErrorLog = discardLog()
	if proto == 2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	base = server.Client().Transport.(*http.Transport)
	t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
	})
	return server.URL, base
}

// settled waits until no more than want goroutines are left. A connection is idle a
// moment after its last response was read, so it asks for that to be closed until it is.
func settled(t *testing.T, tr *stoichttp.Transport, want int) {
	t.Helper()
	var got int
	for start := time.Now(); time.Since(start) < 10*time.Second; runtime.GC() {
		tr.CloseIdleConnections()
		if got = runtime.NumGoroutine(); got <= want {
			return
		}
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines are left, want %d:\n%s", got, want, buf[:runtime.Stack(buf, true)])
}

// 200 rounds of a 4 MiB POST: the first answer comes early, without the body being read, and the
// connection is closed under the one who sends.
func TestLargePostThatIsAnsweredEarly(t *testing.T) {
	const rounds, size = 200, 4 << 20
	payload := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	want := sha256.Sum256(payload)
	for _, proto := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", proto), func(t *testing.T) {
			var mu sync.Mutex
			seen := make(map[string]int)
			url, base := startServer(t, proto, func(w http.ResponseWriter, r *http.Request) {
				key := r.Header.Get("Idempotency-Key")
				mu.Lock()
				seen[key]++
				first := seen[key] == 1
				mu.Unlock()
				if r.ContentLength != size {
					t.Errorf("%s: a length of %d", key, r.ContentLength)
				}
				if first {
					if proto == 1 {
						w.Header().Set("Connection", "close")
					}
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = io.WriteString(w, "busy")
					return
				}
				hash := sha256.New()
				n, err := io.Copy(hash, r.Body)
				if n != size || err != nil || !bytes.Equal(hash.Sum(nil), want[:]) {
					t.Errorf("%s: the body has %d bytes, error %v", key, n, err)
				}
				_, _ = io.WriteString(w, "done")
			})
			p := plain(t, deadline.New(time.Minute), retry.New(retry.MaxAttempts(2), retry.Constant(0)), deadline.New(30*time.Second))
			tr := transport(t, base, p)
			before := runtime.NumGoroutine()
			var wg sync.WaitGroup
			ids := make(chan int)
			for range 4 {
				wg.Go(func() {
					for id := range ids {
						req := requestTo(t, "POST", url, "")
						req.Body = io.NopCloser(bytes.NewReader(payload))
						req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(payload)), nil }
						req.ContentLength = size
						req = req.WithContext(stoic.WithIdempotencyKey(req.Context(), strconv.Itoa(id)))
						resp, err := tr.RoundTrip(req)
						if err != nil {
							t.Errorf("round %d: %v", id, err)
							continue
						}
						got, err := io.ReadAll(resp.Body)
						_ = resp.Body.Close()
						if resp.StatusCode != 200 || string(got) != "done" || err != nil {
							t.Errorf("round %d: status %d, body %q, error %v", id, resp.StatusCode, got, err)
						}
					}
				})
			}
			for id := range rounds {
				ids <- id
			}
			close(ids)
			wg.Wait()
			equal(t, "rounds", len(seen), rounds)
			for key, n := range seen {
				if n != 2 {
					t.Errorf("round %s took %d requests, want 2", key, n)
				}
			}
			settled(t, tr, before)
		})
	}
}

// The same over both protocols: a stream that outlives the layers, and what is left of it.
func TestBodiesOverBothProtocols(t *testing.T) {
	for _, proto := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", proto), func(t *testing.T) {
			var mu sync.Mutex
			n := 0
			url, base := startServer(t, proto, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				n++
				fail := n%3 != 0
				mu.Unlock()
				if fail {
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = io.WriteString(w, "busy")
					return
				}
				for range 64 {
					_, _ = w.Write(make([]byte, 16<<10))
					_ = http.NewResponseController(w).Flush()
				}
			})
			before := runtime.NumGoroutine()
			tr := transport(t, base, plain(t, deadline.New(time.Minute), retry.New(retry.Constant(0)), deadline.New(30*time.Second)))
			for i := range 30 {
				resp, err := tr.RoundTrip(requestTo(t, "GET", url, ""))
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("got %v, %v", resp, err)
				}
				equal(t, "protocol", resp.ProtoMajor, proto)
				if i%2 == 0 {
					got, err := io.Copy(io.Discard, resp.Body)
					if got != 1<<20 || err != nil {
						t.Errorf("read %d bytes, error %v", got, err)
					}
				}
				_ = resp.Body.Close()
			}
			equal(t, "requests", n, 90)
			settled(t, tr, before)
		})
	}
}
