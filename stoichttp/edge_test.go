package stoichttp_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func TestInvalidArgumentsAreReportedTogether(t *testing.T) {
	ok := plain(t)
	tests := []struct {
		name string
		tr   *stoichttp.Transport
		want []string
	}{
		{"nil pipeline", stoichttp.NewTransport(nil, nil), []string{"stoic: NewTransport(nil): needs a pipeline"}},
		{"zero pipeline", stoichttp.NewTransport(nil, new(stoic.Pipeline)), []string{"stoic: NewTransport: the pipeline was not made by New"}},
		{"nil base", stoichttp.NewTransport((*http.Transport)(nil), ok), []string{"stoic: NewTransport(*http.Transport): the base is a nil pointer"}},
		{"nil option", stoichttp.NewTransport(nil, ok, nil), []string{"stoic: Option(nil): must not be nil"}},
		{"zero", new(stoichttp.Transport), []string{"stoic: Transport: was not made by NewTransport"}},
		{"nil", nil, []string{"stoic: Transport: was not made by NewTransport"}},
		{"several", stoichttp.NewTransport(nil, nil, stoichttp.FailIf(nil), stoichttp.Drain(-1, -1), stoichttp.RetryStatus(503, 42)), []string{
			"stoic: NewTransport(nil): needs a pipeline",
			"stoic: FailIf(nil): needs a function that tells which responses are failures",
			"stoic: Drain(-1): the bytes must not be negative",
			"stoic: Drain(-1ns): the time must not be negative",
			"stoic: RetryStatus([503 42]): each must be the status of an answer, 200 to 999",
		}},
		{"1000", stoichttp.NewTransport(nil, ok, stoichttp.RetryStatus(1000)), []string{"stoic: RetryStatus([1000]): each must be the status of an answer, 200 to 999"}},
		{"the last counts", stoichttp.NewTransport(nil, ok, stoichttp.RetryStatus(42), stoichttp.RetryStatus(200, 999), stoichttp.Drain(-1, 0), stoichttp.Drain(0, 0)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.tr.Validate()
			if tt.want == nil {
				equal(t, "error", err, nil)
				return
			}
			wantError(t, nil, err, stoic.ErrInvalid)
			equal(t, "error", err.Error(), strings.Join(tt.want, "\n"))
			resp, got := tt.tr.RoundTrip(request(t, "GET", ""))
			wantError(t, resp, got, stoic.ErrInvalid)
			equal(t, "error of RoundTrip", got.Error(), err.Error())
			tt.tr.CloseIdleConnections() // does not panic
		})
	}
}

// Options do not keep the caller's slice.
func TestRetryStatusKeepsItsOwnList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		codes := []int{500}
		base := statuses(500)
		tr := transport(t, base, plain(t, retries(3)), stoichttp.RetryStatus(codes...))
		codes[0] = 501
		resp, err := tr.RoundTrip(request(t, "GET", ""))
		wantAnswer(t, resp, err, 500, "text")
		equal(t, "sent", base.sent(), 3)
	})
}

func TestNilBaseIsTheDefaultTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	resp, err := transport(t, nil, plain(t)).RoundTrip(requestTo(t, "GET", server.URL, ""))
	wantAnswer(t, resp, err, 200, "")
}

type idler struct {
	roundTripper
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

func TestCloseIdleConnectionsIsForwarded(t *testing.T) {
	base := new(idler)
	client := http.Client{Transport: transport(t, base, plain(t))}
	client.CloseIdleConnections()
	equal(t, "closed", base.closed, 1)
	transport(t, statuses(200), plain(t)).CloseIdleConnections() // one that cannot
}

// What a base must not do, and does.
func TestBasesThatBreakTheContract(t *testing.T) {
	t.Run("neither a response nor an error", func(t *testing.T) {
		base := newFake(func(int, *http.Request) (*http.Response, error) { return nil, nil })
		resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(request(t, "GET", ""))
		wantError(t, resp, err)
		equal(t, "error", err.Error(), "stoichttp: the base *stoichttp_test.fake returned neither a response nor an error")
		equal(t, "sent", base.sent(), 1)
	})
	t.Run("both", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var bodies []*tracked
			base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
				resp := answer(200, "both")
				if n == 2 {
					resp.Body = nil
					return resp, errBoom
				}
				bodies = append(bodies, resp.Body.(*tracked))
				return resp, errBoom
			})
			resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(request(t, "GET", ""))
			wantError(t, resp, err, errBoom)
			equal(t, "sent", base.sent(), 3)
			for _, body := range bodies {
				equal(t, "closes", body.closed.Load(), 1)
			}
		})
	})
	t.Run("nil body", func(t *testing.T) {
		for _, code := range []int{200, 503} {
			synctest.Test(t, func(t *testing.T) {
				base := newFake(func(int, *http.Request) (*http.Response, error) {
					resp := answer(code, "")
					resp.Body = nil
					return resp, nil
				})
				resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(request(t, "GET", ""))
				equal(t, "body", resp.Body, io.ReadCloser(http.NoBody))
				resp.Request = request(t, "GET", "")
				wantAnswer(t, resp, err, code, "")
			})
		}
	})
	t.Run("a stack that returns nothing", func(t *testing.T) {
		nothing := stoic.PolicyFunc("nothing", func(context.Context, stoic.Next) error { return nil })
		base := statuses(200)
		resp, err := transport(t, base, plain(t, nothing)).RoundTrip(request(t, "GET", ""))
		wantError(t, resp, err)
		equal(t, "error", err.Error(), "pay: the stack returned neither a response nor an error")
	})
}

// FailIf is asked about responses only.
func TestFailIfIsNotAskedWithoutAResponse(t *testing.T) {
	base := newFake(func(n int, _ *http.Request) (*http.Response, error) { return nil, errBoom })
	asked := stoichttp.FailIf(func(resp *http.Response) bool { return resp.StatusCode > 0 })
	resp, err := transport(t, base, plain(t), asked).RoundTrip(request(t, "GET", ""))
	wantError(t, resp, err, errBoom)
}

// http.Client looks at the type of an error, so a mark for the retry must not stay on it.
func TestErrorOfTheBaseComesBackAsItIs(t *testing.T) {
	for _, err := range []error{errBoom, tls.RecordHeaderError{Msg: "x"}, &net.AddrError{Err: "x"}} {
		base := newFake(func(int, *http.Request) (*http.Response, error) { return nil, err })
		_, got := transport(t, base, plain(t, retry.New(retry.MaxAttempts(2), retry.Constant(0)))).RoundTrip(request(t, "GET", ""))
		equal(t, "error", got, err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	client := &http.Client{Transport: transport(t, nil, plain(t, retries(3)))}
	_, err := client.Get("https" + strings.TrimPrefix(server.URL, "http")) //nolint:bodyclose // there is none
	wantError(t, nil, err, http.ErrSchemeMismatch)
}

func TestUpgradedConnectionBelongsToTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := bubbleServer(t, func(w http.ResponseWriter, r *http.Request) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(conn, buffered)
		})
		req := request(t, "GET", "")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		var ctx context.Context
		spy := roundTripper(func(req *http.Request) (*http.Response, error) {
			ctx = req.Context()
			return base.RoundTrip(req)
		})
		resp, err := transport(t, spy, plain(t, deadline.New(2*time.Second), retries(3), deadline.New(time.Second))).RoundTrip(req)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("got %v, %v", resp, err)
		}
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("the body is a %T", resp.Body)
		}
		in := bufio.NewReader(conn)
		for i := range 3 {
			line := fmt.Sprintf("line %d\n", i)
			if _, err := io.WriteString(conn, line); err != nil {
				t.Fatal(err)
			}
			got, err := in.ReadString('\n')
			if got != line || err != nil {
				t.Fatalf("echo of %q: %q, %v", line, got, err)
			}
			time.Sleep(time.Minute) // long after every deadline
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("CloseWrite of a pipe: %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if ctx.Err() == nil {
			t.Error("the context is not done after Close")
		}
	})
}

type halves struct {
	tracked
	closedWrite bool
}

func (h *halves) Write(p []byte) (int, error) { return len(p), nil }
func (h *halves) CloseWrite() error           { h.closedWrite = true; return nil }

func TestUpgradedConnectionClosesItsHalf(t *testing.T) {
	conn := &halves{tracked: tracked{Reader: strings.NewReader("")}}
	base := newFake(func(int, *http.Request) (*http.Response, error) {
		resp := answer(101, "")
		resp.Body = conn
		return resp, nil
	})
	resp, err := transport(t, base, plain(t)).RoundTrip(request(t, "GET", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.(interface{ CloseWrite() error }).CloseWrite(); err != nil || !conn.closedWrite {
		t.Errorf("CloseWrite: %v, %t", err, conn.closedWrite)
	}
}

// Each hop is a call of its own.
func TestRedirects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		failed := make(map[string]bool)
		base := bubbleServer(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen = append(seen, r.URL.Path+" "+string(body))
			switch {
			case !failed[r.URL.Path]:
				failed[r.URL.Path] = true
				w.WriteHeader(503)
			case r.URL.Path == "/a":
				http.Redirect(w, r, "/b", http.StatusTemporaryRedirect)
			default:
				_, _ = io.WriteString(w, "fine")
			}
		})
		client := &http.Client{Transport: transport(t, base, plain(t, retries(2), deadline.New(time.Second)))}
		req := requestTo(t, "PUT", "http://api.test/a", "order")
		resp, err := client.Do(req)
		wantAnswer(t, resp, err, 200, "fine")
		equal(t, "requests", strings.Join(seen, ", "), "/a order, /a order, /b order, /b order")
	})
}

func TestPermanentErrorsAreSentOnce(t *testing.T) {
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	defer loop.Close()
	badLocation := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://[::1")
		w.WriteHeader(http.StatusFound)
	}))
	defer badLocation.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert} //nolint:gosec // the version is the default's
	secure.Config.ErrorLog = discardLog()
	secure.StartTLS()
	defer secure.Close()
	trusting := secure.Client().Transport.(*http.Transport).Clone()
	other := trusting.Clone()
	other.TLSClientConfig.ServerName = "other.test"
	plainServer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer plainServer.Close()

	tests := []struct {
		name string
		base http.RoundTripper
		url  string
		edit func(*http.Request)
	}{
		{name: "unsupported scheme", url: "gopher://x.test/"},
		{name: "no scheme", url: "x.test"},
		{name: "no host", url: "http:///path"},
		{name: "invalid method", url: plainServer.URL, edit: func(req *http.Request) { req.Method = "no method" }},
		{name: "invalid header", url: plainServer.URL, edit: func(req *http.Request) { req.Header.Set("X", "a\nb") }},
		{name: "invalid trailer", url: plainServer.URL, edit: func(req *http.Request) { req.Trailer = http.Header{"X": {"a\nb"}} }},
		{name: "unknown authority", url: secure.URL},
		{name: "wrong host", url: secure.URL, base: other},
		{name: "our certificate is missing", url: secure.URL, base: trusting},
		{name: "no TLS", url: "https" + strings.TrimPrefix(plainServer.URL, "http")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := tt.base
			if base == nil {
				base = http.DefaultTransport
			}
			n := 0
			counting := roundTripper(func(req *http.Request) (*http.Response, error) {
				n++
				return base.RoundTrip(req)
			})
			req := requestTo(t, "GET", tt.url, "")
			if tt.edit != nil {
				tt.edit(req)
			}
			resp, err := transport(t, counting, plain(t, retry.New(retry.Constant(0)))).RoundTrip(req)
			if err == nil {
				t.Fatalf("got status %d", resp.StatusCode)
			}
			if !stoichttp.Permanent(err) {
				t.Errorf("%v (%T) is not permanent", err, err)
			}
			equal(t, "sent", n, 1)
		})
	}

	// What arises in the client, above the transport.
	for name, ask := range map[string]func(context.Context) error{
		"redirect loop":    func(ctx context.Context) error { return get(ctx, loop.URL) },
		"invalid redirect": func(ctx context.Context) error { return get(ctx, badLocation.URL) },
		"invalid URL":      func(ctx context.Context) error { return get(ctx, "http://x.test/%zz") },
		"invalid port":     func(ctx context.Context) error { return get(ctx, "http://x.test:port/") },
		"unknown scheme":   func(ctx context.Context) error { return get(ctx, "gopher://x.test/") },
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			p := plain(t, retry.New(retry.Constant(0), retry.If(func(err error) bool { return !stoichttp.Permanent(err) })))
			err := p.Do(t.Context(), func(ctx context.Context) error {
				n++
				return ask(ctx)
			})
			if err == nil || n != 1 {
				t.Errorf("%d calls, error %v", n, err)
			}
		})
	}
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestPermanent(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	tests := []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errBoom, false},
		{io.ErrUnexpectedEOF, false},
		{context.DeadlineExceeded, false},
		{breaker.ErrOpen, false},
		{reset, false},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, false},
		{&net.OpError{Op: "read", Err: errors.New("a certificate was mentioned")}, false},
		{&net.OpError{Op: "remote error"}, false},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, false},
		{&url.Error{Op: "Get", URL: "x", Err: reset}, false},
		{&url.Error{Op: "parse", URL: "x", Err: errBoom}, true},
		{&url.Error{Op: "Get", URL: "x", Err: errors.New("stopped after 10 redirects")}, true},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, true},
		{&net.OpError{Op: "dial", Err: &net.AddrError{Err: "missing port", Addr: "x"}}, true},
		{&tls.CertificateVerificationError{Err: errBoom}, true},
		{x509.CertificateInvalidError{}, true},
		{fmt.Errorf("wrapped: %w", x509.UnknownAuthorityError{}), true},
		{errors.Join(errBoom, x509.HostnameError{Certificate: new(x509.Certificate)}), true},
		{errors.Join(errBoom, reset), false},
		{http.ErrSchemeMismatch, true},
		{fmt.Errorf("wrapped: %w", http.ErrSchemeMismatch), true},
	}
	for _, tt := range tests {
		if got := stoichttp.Permanent(tt.err); got != tt.want {
			t.Errorf("Permanent(%T %v) = %t, want %t", tt.err, tt.err, got, tt.want)
		}
	}
}
