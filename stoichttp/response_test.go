package stoichttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

func TestC63_ResponseOfARetriedAttemptIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []*tracked
		base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
			for _, body := range answers {
				equal(t, "closes before the next attempt", body.closed.Load(), 1)
				equal(t, "read before the next attempt", body.read.Load(), int64(len("text")))
			}
			resp := answer([]int{503, 503, 200}[n-1], "text")
			answers = append(answers, resp.Body.(*tracked))
			return resp, nil
		})
		resp, err := transport(t, base, plain(t, retries(3))).RoundTrip(request(t, "GET", ""))
		if err != nil || len(answers) != 3 {
			t.Fatalf("got error %v after %d attempts", err, len(answers))
		}
		equal(t, "closes of the last", answers[2].closed.Load(), 0)
		wantAnswer(t, resp, err, 200, "text")
		for _, body := range answers {
			equal(t, "closes", body.closed.Load(), 1)
		}
	})
}

func TestC63_OneConnectionIsEnough(t *testing.T) {
	for _, size := range []int{4, 256 << 10} { // within and beyond what is drained
		n := 0
		conns := make(map[string]bool)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			conns[r.RemoteAddr] = true
			if n < 3 {
				w.WriteHeader(503)
			}
			_, _ = io.WriteString(w, strings.Repeat("x", size))
		}))
		base := &http.Transport{MaxConnsPerHost: 1}
		tr := transport(t, base, plain(t, deadline.New(20*time.Second), retry.New(retry.Constant(0))))
		resp, err := tr.RoundTrip(requestTo(t, "GET", server.URL, ""))
		wantAnswer(t, resp, err, 200, strings.Repeat("x", size))
		tr.CloseIdleConnections()
		server.Close()
		equal(t, "requests", n, 3)
		if size == 4 {
			equal(t, "connections", len(conns), 1) // drained, and used again
		}
	}
}

// stuck is a body that gives its text and then blocks until it is closed or its context is
// done.
type stuck struct {
	tracked
	ctx     context.Context
	opened  chan struct{}
	reading sync.Mutex
	polite  bool // Close waits for Read
}

func newStuck(ctx context.Context, text string) *stuck {
	return &stuck{tracked: tracked{Reader: strings.NewReader(text)}, ctx: ctx, opened: make(chan struct{})}
}

func (b *stuck) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if n, err := b.tracked.Read(p); err == nil {
		return n, nil
	}
	select {
	case <-b.opened:
		return 0, errors.New("read on closed body")
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	}
}

func (b *stuck) Close() error {
	if b.polite {
		b.reading.Lock()
		defer b.reading.Unlock()
	}
	if b.closed.Add(1) == 1 {
		close(b.opened)
	}
	return nil
}

func TestDrainIsBounded(t *testing.T) {
	const big = 1 << 20
	tests := []struct {
		name   string
		opts   []stoichttp.Option
		length int64 // that the response tells, -1 for unknown
		size   int
		stuck  bool
		ctx    bool // the body ends with the context of its attempt, and by nothing else
		read   int64
		took   time.Duration
	}{
		{name: "small", length: 5, size: 5, read: 5},
		{name: "unknown length", length: -1, size: 5, read: 5},
		{name: "at the limit", length: stoichttp.DefaultDrainBytes, size: stoichttp.DefaultDrainBytes, read: stoichttp.DefaultDrainBytes},
		{name: "known to be beyond", length: big, size: big, read: 0},
		{name: "beyond", length: -1, size: big, read: stoichttp.DefaultDrainBytes},
		{name: "stuck", length: -1, size: 5, stuck: true, read: 5, took: stoichttp.DefaultDrainTime},
		{name: "stuck on its context", length: -1, size: 5, stuck: true, ctx: true, read: 5, took: stoichttp.DefaultDrainTime},
		{name: "fewer bytes", opts: []stoichttp.Option{stoichttp.Drain(3, time.Second)}, length: -1, size: 5, read: 3},
		{name: "less time", opts: []stoichttp.Option{stoichttp.Drain(100, time.Millisecond)}, length: -1, size: 5, stuck: true, read: 5, took: time.Millisecond},
		{name: "no bytes", opts: []stoichttp.Option{stoichttp.Drain(0, time.Second)}, length: -1, size: 5, stuck: true},
		{name: "no time", opts: []stoichttp.Option{stoichttp.Drain(100, 0)}, length: -1, size: 5, stuck: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var body interface {
					io.ReadCloser
					counts() (read int64, closed int32)
				}
				base := newFake(func(n int, req *http.Request) (*http.Response, error) {
					if n > 1 {
						return answer(200, ""), nil
					}
					resp := answer(503, strings.Repeat("x", tt.size))
					resp.ContentLength = tt.length
					body = resp.Body.(*tracked)
					if tt.stuck {
						b := newStuck(context.Background(), strings.Repeat("x", tt.size))
						if tt.ctx {
							b.ctx, b.polite = req.Context(), true
						}
						body, resp.Body = b, b
					}
					return resp, nil
				})
				tr := transport(t, base, plain(t, retries(2, retry.Constant(0))), tt.opts...)
				resp, err := tr.RoundTrip(request(t, "GET", ""))
				wantAnswer(t, resp, err, 200, "")
				equal(t, "took", time.Since(base.start), tt.took)
				synctest.Wait()
				read, closed := body.counts()
				equal(t, "read", read, tt.read)
				equal(t, "closes", closed, 1)
			})
		})
	}
}

func (b *tracked) counts() (read int64, closed int32) { return b.read.Load(), b.closed.Load() }

func TestC64_LastResponseIsReadable(t *testing.T) {
	const text = `{"error":"slow down","code":17}`
	synctest.Test(t, func(t *testing.T) {
		n := 0
		base := bubbleServer(t, func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(429)
			_, _ = io.WriteString(w, text)
		})
		tr := transport(t, base, plain(t, deadline.New(time.Minute), retries(3), deadline.New(time.Second)))
		resp, err := tr.RoundTrip(request(t, "GET", ""))
		wantAnswer(t, resp, err, 429, text)
		equal(t, "attempts", n, 3)
		// The bubble fails if a goroutine is left when the server is closed.
	})
}

// What stops the stack does not matter, but for the caller's context.
func TestC40_RefusedRetryHandsBackTheResponse(t *testing.T) {
	none := func() stoic.Policy { return budget.New(budget.Ratio(0), budget.MinPerSecond(0)) }
	accept := retry.If(func(error) bool { return true })
	tests := []struct {
		name   string
		layers func() []stoic.Policy
		sent   int
	}{
		{"budget", func() []stoic.Policy { return []stoic.Policy{none(), retries(3)} }, 1},
		{"breaker opens", func() []stoic.Policy {
			return []stoic.Policy{retries(3), breaker.New("b", breaker.ConsecutiveFailures(1))}
		}, 1},
		{"total deadline too near", func() []stoic.Policy {
			return []stoic.Policy{deadline.New(50 * time.Millisecond), retries(3)}
		}, 1},
		{"sleep fails", func() []stoic.Policy {
			return []stoic.Policy{retries(3, retry.Sleep(func(context.Context, time.Duration) error { return errBoom }))}
		}, 1},
		{"a breaker that stays open", func() []stoic.Policy {
			return []stoic.Policy{retries(3, accept), breaker.New("b", breaker.ConsecutiveFailures(1), breaker.OpenFor(time.Hour))}
		}, 1},
		{"attempts", func() []stoic.Policy { return []stoic.Policy{retries(3)} }, 3},
		{"benign", func() []stoic.Policy {
			return []stoic.Policy{retries(3), stoic.Benign(func(error) bool { return true })}
		}, 1},
		{"a layer that swallows errors", func() []stoic.Policy {
			return []stoic.Policy{stoic.PolicyFunc("swallow", func(ctx context.Context, next stoic.Next) error {
				_ = next.Do(ctx)
				return nil
			})}
		}, 1},
		{"a layer that changes errors", func() []stoic.Policy {
			return []stoic.Policy{stoic.PolicyFunc("change", func(ctx context.Context, next stoic.Next) error {
				_ = next.Do(ctx)
				return errBoom
			})}
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
					return contextual(req, 503, "busy"), nil
				})
				resp, err := transport(t, base, plain(t, tt.layers()...)).RoundTrip(request(t, "GET", ""))
				wantAnswer(t, resp, err, 503, "busy")
				equal(t, "sent", base.sent(), tt.sent)
			})
		})
	}
}

// contextual answers with a body that ends with the context of the request, as net/http's.
func contextual(req *http.Request, code int, text string) *http.Response {
	resp := answer(code, text)
	resp.Body = &bound{ReadCloser: resp.Body, ctx: req.Context()}
	return resp
}

type bound struct {
	io.ReadCloser
	ctx context.Context
}

func (b *bound) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

func TestC40_SuccessStaysASuccessWhenTheBudgetRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spent := budget.New(budget.Ratio(0), budget.MinPerSecond(0.1), budget.Window(10*time.Second))
		base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return answer(503, "busy"), nil
			}
			if _, err := spent.Reserve(); err == nil {
				t.Error("the budget is not empty")
			}
			return answer(200, "fine"), nil
		})
		resp, err := transport(t, base, plain(t, spent, retries(3))).RoundTrip(request(t, "GET", ""))
		wantAnswer(t, resp, err, 200, "fine")
		equal(t, "sent", base.sent(), 2)
	})
}

// The caller's context is the one reason for which a response in hand is not handed over.
func TestCallersContextEndsTheCallWithAnError(t *testing.T) {
	errWhy := errors.New("the user went away")
	tests := []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want []error
	}{
		{"canceled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			timer := time.AfterFunc(30*time.Millisecond, func() { cancel(errWhy) })
			return ctx, func() { timer.Stop(); cancel(nil) }
		}, []error{context.Canceled, errWhy}},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 30*time.Millisecond)
		}, []error{context.DeadlineExceeded}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var body *tracked
				base := newFake(func(int, *http.Request) (*http.Response, error) {
					resp := answer(503, "busy")
					body = resp.Body.(*tracked)
					return resp, nil
				})
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				// A sleep that ignores that the deadline is near.
				p := plain(t, retries(3, retry.Constant(20*time.Millisecond), retry.Sleep(func(ctx context.Context, _ time.Duration) error {
					<-ctx.Done()
					return ctx.Err()
				})))
				resp, err := transport(t, base, p).RoundTrip(request(t, "GET", "").WithContext(ctx))
				wantError(t, resp, err, tt.want...)
				if status, ok := errors.AsType[*stoichttp.StatusError](err); !ok || status.Code != 503 {
					t.Errorf("%v does not tell of the 503", err)
				}
				equal(t, "closes", body.closed.Load(), 1)
				equal(t, "sent", base.sent(), 1)
				equal(t, "took", time.Since(base.start), 30*time.Millisecond)
			})
		})
	}
}

// A response that waited until its attempt's time was up cannot be read: there is an
// error instead, of the stack.
func TestResponseThatIsTooLateToReadIsAnError(t *testing.T) {
	for _, withBody := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
				resp := contextual(req, 503, "busy")
				if !withBody {
					resp.Body = http.NoBody
				}
				return resp, nil
			})
			p := plain(t, retries(3, retry.Constant(time.Second)), breaker.New("b", breaker.ConsecutiveFailures(1)), deadline.New(time.Second))
			resp, err := transport(t, base, p).RoundTrip(request(t, "GET", ""))
			equal(t, "sent", base.sent(), 1)
			equal(t, "took", time.Since(base.start), time.Second)
			if !withBody {
				wantAnswer(t, resp, err, 503, "") // nothing to read
				return
			}
			wantError(t, resp, err, breaker.ErrOpen)
			if _, ok := errors.AsType[*stoichttp.StatusError](err); !ok {
				t.Errorf("%v does not tell of the 503", err)
			}
		})
	}
}

func TestC65_AttemptLivesUntilTheBodyIsRead(t *testing.T) {
	const pieces, piece = 64, 16 << 10 // 1 MiB
	const pause = 200 * time.Millisecond / pieces
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		for range pieces {
			time.Sleep(pause)
			_, _ = w.Write(make([]byte, piece))
			_ = http.NewResponseController(w).Flush()
		}
	}
	for _, end := range []string{"EOF", "Close"} {
		t.Run("until "+end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := bubbleServer(t, stream)
				var ctx context.Context
				spy := roundTripper(func(req *http.Request) (*http.Response, error) {
					ctx = req.Context()
					return base.RoundTrip(req)
				})
				tr := transport(t, spy, plain(t, retries(3), deadline.New(5*time.Second)))
				resp, err := tr.RoundTrip(request(t, "GET", ""))
				if err != nil {
					t.Fatal(err)
				}
				total, buf := 0, make([]byte, 3000)
				for {
					if ctx.Err() != nil {
						t.Fatalf("the context is done after %d bytes: %v", total, ctx.Err())
					}
					n, err := resp.Body.Read(buf)
					total += n
					if err == io.EOF || end == "Close" && total >= pieces*piece/2 {
						break
					}
					if err != nil {
						t.Fatalf("after %d bytes: %v", total, err)
					}
					time.Sleep(time.Millisecond)
				}
				if end == "EOF" {
					equal(t, "bytes", total, pieces*piece)
				} else {
					_ = resp.Body.Close()
				}
				equal(t, "context", ctx.Err(), context.Canceled) // at once
				_ = resp.Body.Close()
			})
		})
	}
}

func TestC65_StalledBodyFailsAtTheDeadline(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 1000))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	tests := []struct {
		name   string
		layers []stoic.Policy
		caller time.Duration
		want   time.Duration
	}{
		{name: "attempt", layers: []stoic.Policy{retries(3), deadline.New(5 * time.Second)}, want: 5 * time.Second},
		{name: "total is earlier", layers: []stoic.Policy{deadline.New(2 * time.Second), retries(3), deadline.New(5 * time.Second)}, want: 2 * time.Second},
		{name: "caller is earlier", layers: []stoic.Policy{retries(3), deadline.New(5 * time.Second)}, caller: time.Second, want: time.Second},
		{name: "caller is later", layers: []stoic.Policy{retries(3), deadline.New(5 * time.Second)}, caller: time.Minute, want: 5 * time.Second},
		{name: "caller alone", caller: time.Second, want: time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := bubbleServer(t, stall)
				req := request(t, "GET", "")
				if tt.caller > 0 {
					ctx, cancel := context.WithTimeout(req.Context(), tt.caller)
					defer cancel()
					req = req.WithContext(ctx)
				}
				start := time.Now()
				resp, err := transport(t, base, plain(t, tt.layers...)).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				n, err := io.Copy(io.Discard, resp.Body)
				equal(t, "bytes", n, 1000)
				equal(t, "took", time.Since(start), tt.want)
				wantError(t, nil, err, context.DeadlineExceeded)
				_ = resp.Body.Close()
			})
		})
	}
}

// The caller may still cancel, and is told why.
func TestCallerCancelsTheReadingOfTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := bubbleServer(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		errWhy := errors.New("the user went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		start := time.Now()
		resp, err := transport(t, base, plain(t, retries(3), deadline.New(5*time.Second))).RoundTrip(request(t, "GET", "").WithContext(ctx))
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { cancel(errWhy) })
		_, err = io.Copy(io.Discard, resp.Body)
		equal(t, "took", time.Since(start), time.Second)
		wantError(t, nil, err, context.Canceled, errWhy)
		_ = resp.Body.Close()
	})
}

// A base whose bodies do not say that it was the context.
func TestReadErrorMatchesTheContext(t *testing.T) {
	errRead := errors.New("use of closed connection")
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			resp := answer(200, "")
			ctx := req.Context()
			resp.Body = io.NopCloser(readFunc(func([]byte) (int, error) {
				<-ctx.Done()
				return 0, errRead
			}))
			return resp, nil
		})
		resp, err := transport(t, base, plain(t, deadline.New(time.Second))).RoundTrip(request(t, "GET", ""))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		wantError(t, nil, err, context.DeadlineExceeded, errRead)
	})
	// An error that has nothing to do with the context stays as it is.
	base := roundTripper(func(*http.Request) (*http.Response, error) {
		resp := answer(200, "")
		resp.Body = io.NopCloser(readFunc(func([]byte) (int, error) { return 0, errRead }))
		return resp, nil
	})
	resp, err := transport(t, base, plain(t)).RoundTrip(request(t, "GET", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.ReadAll(resp.Body); err != errRead { //nolint:errorlint // identity
		t.Errorf("got %v, want the error itself", err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestErrorsOfAClosedBody(t *testing.T) {
	errClose := errors.New("close failed")
	base := roundTripper(func(*http.Request) (*http.Response, error) {
		resp := answer(200, "fine")
		resp.Body = &failing{tracked: resp.Body.(*tracked), err: errClose}
		return resp, nil
	})
	resp, err := transport(t, base, plain(t, deadline.New(time.Minute))).RoundTrip(request(t, "GET", ""))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		equal(t, "Close", resp.Body.Close(), errClose)
	}
	_, err = resp.Body.Read(make([]byte, 1))
	equal(t, "Read", err.Error(), "read on closed body") // and not that a context was canceled
}

type failing struct {
	*tracked
	err error
}

func (b *failing) Close() error {
	_ = b.tracked.Close()
	return b.err
}
