//go:build !race

package stoichttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
)

func allocsOf(tb testing.TB, rt http.RoundTripper, req *http.Request) float64 {
	tb.Helper()
	buf := make([]byte, 512)
	return testing.AllocsPerRun(500, func() {
		resp, err := rt.RoundTrip(req)
		if err != nil {
			tb.Fatal(err)
		}
		for err == nil {
			_, err = resp.Body.Read(buf)
		}
		_ = resp.Body.Close()
	})
}

func TestAllocationsAboveTheBareTransport(t *testing.T) {
	headers := http.Header{"Accept": {"text/plain"}, "Content-Type": {"text/plain"}}
	keyed := http.Header{"Idempotency-Key": {"k-1"}}
	tests := []struct {
		name   string
		method string
		header http.Header
		layers []stoic.Policy
		max    float64
	}{
		{"empty, GET", "GET", http.Header{}, nil, 3},
		{"full stack, GET", "GET", http.Header{}, fullStack(), 5},
		{"full stack, POST", "POST", http.Header{}, fullStack(), 5},
		{"full stack, GET with headers", "GET", headers, fullStack(), 6},
		{"full stack, POST with headers", "POST", headers, fullStack(), 6},
		{"full stack, POST with a key", "POST", keyed, fullStack(), 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base, req := new(stub), request(t, tt.method, "")
			req.Header = tt.header
			bare := allocsOf(t, base, req)
			got := allocsOf(t, transport(t, base, plain(t, tt.layers...)), req)
			t.Logf("bare %v, with the stack %v", bare, got)
			if got-bare > tt.max {
				t.Errorf("%v allocations above the bare transport, want at most %v", got-bare, tt.max)
			}
		})
	}
}

// A real transport waits on its context, and then deadlines cost their timers. So it is
// compared with what else gives a request two deadlines that last until its body is
// closed.
func TestAllocationsOverARealTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	base := server.Client().Transport
	req := requestTo(t, "GET", server.URL, "")
	byHand := roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
		ctx, cancelAttempt := context.WithTimeout(ctx, 30*time.Second)
		stop := func() { cancelAttempt(); cancel() }
		resp, err := base.RoundTrip(req.Clone(ctx))
		if err != nil {
			stop()
			return nil, err
		}
		resp.Body = &closing{ReadCloser: resp.Body, close: stop}
		return resp, nil
	})
	bare, hand := allocsOf(t, base, req), allocsOf(t, byHand, req)
	empty, full := allocsOf(t, transport(t, base, plain(t)), req), allocsOf(t, transport(t, base, plain(t, fullStack()...)), req)
	t.Logf("bare %v, by hand with two deadlines %v, empty stack %v, full stack %v", bare, hand, empty, full)
	if empty-bare > 8 {
		t.Errorf("%v allocations above the bare transport for a stack without deadlines, want at most 8", empty-bare)
	}
	if full-bare > 14 || full >= hand {
		t.Errorf("%v allocations above the bare transport, want at most 14 and fewer than two deadlines by hand", full-bare)
	}
}

type closing struct {
	io.ReadCloser
	close func()
}

func (c *closing) Close() error {
	defer c.close()
	return c.ReadCloser.Close()
}
