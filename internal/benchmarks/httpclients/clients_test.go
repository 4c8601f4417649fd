package httpclients_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoic-go/stoic/internal/benchmarks/httpclients"
	"github.com/stoic-go/stoic/internal/benchmarks/measure"
)

// TestContendersDoTheWork: an answer of 503 is followed by another request, with the whole
// body, and the answer that the caller gets can be read.
func TestContendersDoTheWork(t *testing.T) {
	for _, c := range httpclients.All() {
		t.Run(c.Name, func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); string(body) != "payload" {
					t.Errorf("the body of request %d is %q", requests.Load()+1, body)
				}
				if requests.Add(1) == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = io.WriteString(w, "answer")
			}))
			defer server.Close()
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			rt := c.New(base)
			for call := range 2 {
				req, err := http.NewRequest(http.MethodPut, server.URL, strings.NewReader("payload"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if want := "answer"; (c.Retries || call == 1) && (string(body) != want || err != nil) {
					t.Errorf("call %d: %q, %v; want %q", call+1, body, err, want)
				}
			}
			want := int64(2)
			if c.Retries {
				want = 3
			}
			if got := requests.Load(); got != want {
				t.Errorf("%d requests for 2 calls, want %d", got, want)
			}
		})
	}
}

// scenario is a way to send requests: by itself it is the bare transport's.
type scenario struct {
	name string
	base func() (base http.RoundTripper, url string, stop func())
	body []byte
}

func scenarios() []scenario {
	payload := bytes.Repeat([]byte("x"), 1<<10)
	return []scenario{
		{"GET, no network", noNetwork, nil},
		{"POST of 1 KiB, no network", noNetwork, payload},
		{"GET over loopback", loopback, nil},
		{"POST of 1 KiB over loopback", loopback, payload},
	}
}

// stub answers at once.
type stub struct{}

func (stub) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		_ = req.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("answer")), Request: req}, nil
}

func noNetwork() (base http.RoundTripper, url string, stop func()) {
	return stub{}, "http://api.test/", func() {}
}

func loopback() (base http.RoundTripper, url string, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "answer")
	}))
	transport := &http.Transport{}
	return transport, server.URL, func() {
		transport.CloseIdleConnections()
		server.Close()
	}
}

// sender returns a function that makes one call.
func (s scenario) sender(rt http.RoundTripper, url string) func() bool {
	method := http.MethodGet
	if s.body != nil {
		method = http.MethodPost
	}
	return func() bool {
		var body io.Reader
		if s.body != nil {
			body = bytes.NewReader(s.body)
		}
		req, err := http.NewRequest(method, url, body)
		if err != nil {
			return false
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return false
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err == nil && resp.Body.Close() == nil
	}
}

func BenchmarkClients(b *testing.B) {
	for _, s := range scenarios() {
		for _, c := range httpclients.All() {
			b.Run(s.name+"/"+c.Name, func(b *testing.B) {
				base, url, stop := s.base()
				defer stop()
				send := s.sender(c.New(base), url)
				b.ReportAllocs()
				for b.Loop() {
					if !send() {
						b.Fatal("a call failed")
					}
				}
			})
		}
	}
}

// BenchmarkRatio lets the contenders take turns and reports the time of each divided by
// that of the bare transport: the median of the rounds.
//
//	go test -run '^$' -bench Ratio -benchtime 1x ./httpclients
func BenchmarkRatio(b *testing.B) {
	for _, s := range scenarios() {
		b.Run(s.name, func(b *testing.B) {
			base, url, stop := s.base()
			defer stop()
			var subjects []measure.Subject
			for _, c := range httpclients.All() {
				send := s.sender(c.New(base), url)
				subjects = append(subjects, measure.Subject{Name: c.Name, Start: func() (func(int) bool, func()) {
					return func(n int) bool {
						for range n {
							if !send() {
								return false
							}
						}
						return true
					}, func() {}
				}})
			}
			for b.Loop() {
				samples, err := measure.Paired(measure.Default(), subjects)
				if err != nil {
					b.Fatal(err)
				}
				for i, sample := range samples[1:] {
					unit := strings.ReplaceAll(strings.ReplaceAll(subjects[i+1].Name, ",", ""), " ", "-") + "/bare"
					b.ReportMetric(sample.Over(samples[0]).Summary().Center, unit)
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
