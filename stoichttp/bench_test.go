package stoichttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stoic-go/stoic/retry"
)

func benchGet(b *testing.B, rt http.RoundTripper, url string) {
	b.Helper()
	req := requestTo(b, "GET", url, "")
	b.ReportAllocs()
	for b.Loop() {
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// Above a base that does nothing: the cost of the package itself.
func BenchmarkSuccess(b *testing.B) {
	base := new(stub)
	b.Run("bare", func(b *testing.B) { benchGet(b, base, address) })
	b.Run("empty", func(b *testing.B) { benchGet(b, transport(b, base, plain(b)), address) })
	b.Run("full", func(b *testing.B) { benchGet(b, transport(b, base, plain(b, fullStack()...)), address) })
}

// Over loopback, beside the bare transport.
func BenchmarkLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "fine")
	}))
	defer server.Close()
	base := server.Client().Transport
	b.Run("bare", func(b *testing.B) { benchGet(b, base, server.URL) })
	b.Run("empty", func(b *testing.B) { benchGet(b, transport(b, base, plain(b)), server.URL) })
	b.Run("full", func(b *testing.B) { benchGet(b, transport(b, base, plain(b, fullStack()...)), server.URL) })
}

// One 503, and then the answer.
func BenchmarkOneRetry(b *testing.B) {
	n := 0
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		n++
		code := http.StatusServiceUnavailable
		if n%2 == 0 {
			code = http.StatusOK
		}
		return &http.Response{StatusCode: code, Body: new(endless), Request: req}, nil
	})
	benchGet(b, transport(b, base, plain(b, retry.New(retry.Constant(0)))), address)
}
