package stoichttp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func TestWriteError(t *testing.T) {
	limited := func(after time.Duration) error {
		return &stoic.Rejection{Pipeline: "secret-api", Policy: stoic.KindRateLimit, Reason: "secret", Err: ratelimit.ErrLimited, After: after}
	}
	open := func(after time.Duration) error {
		return &stoic.Rejection{Pipeline: "secret-api", Policy: stoic.KindBreaker, Reason: "secret", Err: breaker.ErrOpen, After: after}
	}
	stopped := func(reason error) error {
		return &retry.StoppedError{Pipeline: "secret-api", Reason: reason, Attempts: 1, Err: errors.New("secret")}
	}
	tests := []struct {
		name  string
		err   error
		code  int
		after string
	}{
		{"limit", limited(3 * time.Second), 429, "3"},
		{"limit, rounded up", limited(3*time.Second + 1), 429, "4"},
		{"limit, at least 1", limited(1), 429, "1"},
		{"limit, not known", limited(0), 429, ""},
		{"limit, the largest", limited(math.MaxInt64), 429, "9223372037"},
		{"breaker", open(4*time.Second + 1), 503, "5"},
		{"breaker, not known", open(0), 503, ""},
		{"wrapped", fmt.Errorf("secret: %w", open(time.Second)), 503, "1"},
		{"budget", stopped(&stoic.Rejection{Policy: stoic.KindBudget, Reason: "secret", Err: budget.ErrExhausted}), 503, ""},
		{"retry that a breaker ended", stopped(open(time.Second)), 503, "1"},
		{"retry that a limit ended", stopped(limited(time.Second)), 429, "1"},
		{"another rejection", fmt.Errorf("secret: %w", stoic.ErrRejected), 503, ""},
		{"deadline", &deadline.ExceededError{Pipeline: "secret-api", Err: errBoom}, 504, ""},
		{"deadline of the context", fmt.Errorf("secret: %w", context.DeadlineExceeded), 504, ""},
		{"limit that the deadline is too near for", &stoic.Rejection{
			Policy: stoic.KindRateLimit, Err: errors.Join(ratelimit.ErrLimited, context.DeadlineExceeded), After: time.Second,
		}, 429, "1"},
		{"retry that the deadline ended", stopped(context.DeadlineExceeded), 504, ""},
		{"canceled", fmt.Errorf("secret: %w", context.Canceled), 499, ""},
		{"anything else", errors.New("secret"), 500, ""},
		{"invalid", &stoic.InvalidError{Pipeline: "secret-api"}, 500, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			w.Header().Set("Cache-Control", "public, max-age=3600")
			stoichttp.WriteError(w, tt.err)
			equal(t, "status", w.Code, tt.code)
			equal(t, "Retry-After", w.Header().Get("Retry-After"), tt.after)
			equal(t, "type", w.Header().Get("Content-Type"), "text/plain; charset=utf-8")
			equal(t, "cache", w.Header().Get("Cache-Control"), "no-store")
			if body := w.Body.String(); strings.Contains(body, "secret") || len(body) < 5 {
				t.Errorf("body %q", body)
			}
		})
	}
	t.Run("nil", func(t *testing.T) {
		w := httptest.NewRecorder()
		stoichttp.WriteError(w, nil)
		equal(t, "written", w.Body.Len()+len(w.Header()), 0)
	})
}

func serve(ctx context.Context, h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	return w
}

func TestLimitShedsAtTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		type key struct{}
		value := stoic.PolicyFunc("value", func(ctx context.Context, next stoic.Next) error {
			return next.Do(context.WithValue(ctx, key{}, "inside"))
		})
		h := stoichttp.Limit(plain(t, value, ratelimit.New(ratelimit.Per(1, 10*time.Second), 2)), http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				n++
				equal(t, "value", r.Context().Value(key{}), any("inside"))
				w.Header().Set("X-Mine", "1")
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, "made")
			}))
		for range 2 {
			w := serve(t.Context(), h)
			equal(t, "status", w.Code, http.StatusCreated)
			equal(t, "body", w.Body.String(), "made")
			equal(t, "header", w.Header().Get("X-Mine"), "1")
		}
		w := serve(t.Context(), h)
		equal(t, "status", w.Code, http.StatusTooManyRequests)
		equal(t, "Retry-After", w.Header().Get("Retry-After"), "10")
		equal(t, "handled", n, 2)
	})
}

func TestLimitOpensABreakerOnServerErrors(t *testing.T) {
	for code, opens := range map[int]bool{200: false, 404: false, 429: false, 499: false, 500: true, 503: true} {
		n := 0
		h := stoichttp.Limit(plain(t, breaker.New("b", breaker.ConsecutiveFailures(3), breaker.OpenFor(10*time.Second))), http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				n++
				w.WriteHeader(code)
				_, _ = io.WriteString(w, "mine")
			}))
		for range 3 {
			w := serve(t.Context(), h)
			equal(t, "status", w.Code, code)
			equal(t, "body", w.Body.String(), "mine") // nothing on top
		}
		w := serve(t.Context(), h)
		if !opens {
			equal(t, "status", w.Code, code)
			continue
		}
		equal(t, "status", w.Code, 503)
		equal(t, "Retry-After", w.Header().Get("Retry-After"), "10")
		equal(t, "handled", n, 3)
	}
}

func TestLimitWithADeadline(t *testing.T) {
	tests := []struct {
		name   string
		handle http.HandlerFunc
		code   int
		body   string
		failed int
	}{
		{"returns with nothing written", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, 504, "Gateway Timeout\n", 1},
		{"only announces", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			<-r.Context().Done()
		}, 504, "Gateway Timeout\n", 1},
		{"has written", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "late")
			<-r.Context().Done()
		}, 200, "late", 0},
		{"writes late", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(http.StatusAccepted)
		}, 202, "", 0},
		{"writes its own error late", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			http.Error(w, "mine", http.StatusInternalServerError)
		}, 500, "mine\n", 1},
		{"writes nothing in time", func(http.ResponseWriter, *http.Request) {}, 200, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New("b")
				w := httptest.NewRecorder()
				h := stoichttp.Limit(plain(t, b, deadline.New(time.Second)), tt.handle)
				h.ServeHTTP(informed{w}, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
				equal(t, "status", w.Code, tt.code)
				equal(t, "body", w.Body.String(), tt.body)
				equal(t, "failures", b.Counts().Failures, tt.failed)
			})
		})
	}
}

// informed takes 1xx for what they are, as a server does and a recorder does not.
type informed struct{ *httptest.ResponseRecorder }

func (w informed) WriteHeader(code int) {
	if code >= 200 {
		w.ResponseRecorder.WriteHeader(code)
	}
}

func TestLimitWithAContextThatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	w := serve(ctx, stoichttp.Limit(plain(t), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n++ })))
	equal(t, "status", w.Code, 499)
	equal(t, "handled", n, 0)
}

func TestLimitLetsPanicsThrough(t *testing.T) {
	for _, value := range []any{http.ErrAbortHandler, errBoom} {
		b := breaker.New("b")
		h := stoichttp.Limit(plain(t, b), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) }))
		w := httptest.NewRecorder()
		end := endOf(func() { h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)) })
		equal(t, "panic", end.panicked, value)
		equal(t, "written", w.Body.Len(), 0)
		equal(t, "failures", b.Counts().Failures, 1)
	}
}

func TestLimitRefusesWhatRepeats(t *testing.T) {
	none := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	tests := []struct {
		name string
		p    *stoic.Pipeline
		next http.Handler
		want string
	}{
		{"retry", plain(t, deadline.New(time.Second), retry.New()), none, "pay: layer 2 (retry): Limit: a handler cannot run twice, and this layer repeats what is inside it"},
		{"nil pipeline", nil, none, "stoic: Limit(nil): needs a pipeline"},
		{"zero pipeline", new(stoic.Pipeline), none, "stoic: Limit: the pipeline was not made by New"},
		{"nil handler", plain(t), nil, "pay: Limit(nil): needs a handler"},
		{"a retry that does not retry", plain(t, retry.New(retry.MaxAttempts(1))), none, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			end := endOf(func() { stoichttp.Limit(tt.p, tt.next) })
			if tt.want == "" {
				equal(t, "panic", end.panicked, nil)
				return
			}
			err, _ := end.panicked.(error)
			wantError(t, nil, err, stoic.ErrInvalid)
			equal(t, "error", err.Error(), tt.want)
		})
	}
}

func TestLimitRunsAHandlerAtMostOnce(t *testing.T) {
	n := 0
	var second error
	twice := stoic.PolicyFunc("twice", func(ctx context.Context, next stoic.Next) error {
		_ = next.Do(ctx)
		second = next.Do(ctx)
		return second
	})
	w := serve(t.Context(), stoichttp.Limit(plain(t, twice), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		_, _ = io.WriteString(w, "once")
	})))
	equal(t, "handled", n, 1)
	equal(t, "body", w.Body.String(), "once")
	if second == nil {
		t.Error("the second run succeeded")
	}
}

// What handlers ask of a ResponseWriter, over real connections.
func TestLimitKeepsTheResponseWriter(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"/flusher": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "part")
			w.(http.Flusher).Flush()
			<-r.Context().Done() // until the client has seen it
		},
		"/controller": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "part")
			c := http.NewResponseController(w)
			if err := errors.Join(c.Flush(), c.SetWriteDeadline(time.Time{})); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
		},
		"/copy": func(w http.ResponseWriter, r *http.Request) {
			if _, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("part")); err != nil {
				t.Error(err)
			}
		},
		"/hijack": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if r.ProtoMajor == 2 {
				if !errors.Is(err, http.ErrNotSupported) {
					t.Errorf("Hijack over HTTP/2: %v", err)
				}
				_, _ = io.WriteString(w, "part")
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npart")
			_ = conn.Close()
		},
	}
	for path, handle := range handlers {
		for _, proto := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s HTTP/%d", path, proto), func(t *testing.T) {
				server := httptest.NewUnstartedServer(stoichttp.Limit(plain(t, deadline.New(time.Minute)), handle))
				server.EnableHTTP2 = proto == 2
				server.Config.ErrorLog = discardLog()
				server.StartTLS()
				defer server.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
				resp, err := server.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				equal(t, "protocol", resp.ProtoMajor, proto)
				got := make([]byte, 4)
				if _, err := io.ReadFull(bufio.NewReader(resp.Body), got); err != nil || string(got) != "part" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	}
}

// When the handler has written, in whatever way, nothing is written on top: also when
// the stack returns an error of its own.
func TestLimitWritesNothingOnTop(t *testing.T) {
	always := stoic.PolicyFunc("always", func(ctx context.Context, next stoic.Next) error {
		_ = next.Do(ctx)
		return errBoom
	})
	tests := []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"Write", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("mine")) }, "mine"},
		{"WriteString", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "mine") }, "mine"},
		{"WriteHeader", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }, "202 "},
		{"ReadFrom", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("mine"))
		}, "mine"},
		{"Flush", func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, "flush "},
		{"FlushError", func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }, "flush "},
		{"Hijack", func(w http.ResponseWriter, _ *http.Request) { _, _, _ = w.(http.Hijacker).Hijack() }, "hijack "},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "500 Internal Server Error\n"},
		{"early hints", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) }, "103 500 Internal Server Error\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := new(script)
			stoichttp.Limit(plain(t, always), tt.handle).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
			equal(t, "written", w.String(), tt.want)
		})
	}
	t.Run("a Flush that cannot", func(t *testing.T) {
		w := httptest.NewRecorder()
		flush := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() })
		stoichttp.Limit(plain(t, always), flush).
			ServeHTTP(struct{ http.ResponseWriter }{w}, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
		equal(t, "status", w.Code, 500)
	})
}

// script writes down what is done to a ResponseWriter.
type script struct {
	strings.Builder
	header http.Header
}

func (w *script) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

func (w *script) WriteHeader(code int) { _, _ = fmt.Fprintf(w, "%d ", code) }
func (w *script) Flush()               { w.WriteString("flush ") }

func (w *script) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.WriteString("hijack ")
	return nil, nil, nil
}
