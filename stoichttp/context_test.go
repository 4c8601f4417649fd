package stoichttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

type spanKey struct{}

// spans puts a value into the context of each attempt, as tracing does.
type spans struct{ hooks.Nop }

func (spans) Start(ctx context.Context, op hooks.Op) context.Context {
	if op.Kind == hooks.KindAttempt {
		return context.WithValue(ctx, spanKey{}, op.Attempt)
	}
	return ctx
}

// The number of a resend is known where the request is sent, and to the hooks: no number
// for the first.
func TestC53_ResendsAreNumbered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := new(hookstest.Recorder)
		var numbers, seen []int
		base := newFake(func(n int, req *http.Request) (*http.Response, error) {
			numbers = append(numbers, stoic.Attempt(req.Context()))
			seen = append(seen, req.Context().Value(spanKey{}).(int))
			return answer([]int{503, 503, 200, 200}[n-1], ""), nil
		})
		tr := transport(t, base, plain(t, stoic.Observe(hooks.Join(rec, spans{})), retries(3)))
		for range 2 {
			ctx := context.WithValue(t.Context(), spanKey{}, -1) // the span around
			resp, err := tr.RoundTrip(request(t, "GET", "").WithContext(ctx))
			wantAnswer(t, resp, err, 200, "")
		}
		want := []int{1, 2, 3, 1}
		if !slices.Equal(numbers, want) || !slices.Equal(seen, want) {
			t.Errorf("attempts %v, values of the hook %v, want %v", numbers, seen, want)
		}
		if err := rec.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestTraceOfTheCallerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := bubbleServer(t, func(http.ResponseWriter, *http.Request) {})
		var wrote int
		trace := &httptrace.ClientTrace{WroteHeaders: func() { wrote++ }}
		req := request(t, "GET", "")
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
		resp, err := transport(t, base, plain(t, retries(3), deadline.New(time.Second))).RoundTrip(req)
		wantAnswer(t, resp, err, 200, "")
		equal(t, "traced", wrote, 1)
	})
}

// canceling cancels the context of what is inside it after d, as a hedge or a middleware
// may.
func canceling(d time.Duration, cause error) stoic.Policy {
	return stoic.PolicyFunc("canceling", func(ctx context.Context, next stoic.Next) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer time.AfterFunc(d, func() { cancel(cause) }).Stop()
		return next.Do(ctx)
	})
}

// Until the headers are in, the base's context ends with that of the attempt.
func TestContextEndsWithTheAttemptUntilTheHeadersAreIn(t *testing.T) {
	tests := []struct {
		name   string
		layers []stoic.Policy
		caller time.Duration // until the caller cancels
		took   time.Duration
		err    error
		cause  error
	}{
		{name: "attempt deadline", layers: []stoic.Policy{deadline.New(time.Second)}, took: time.Second, err: context.DeadlineExceeded, cause: context.DeadlineExceeded},
		{name: "total deadline", layers: []stoic.Policy{deadline.New(time.Second), deadline.New(2 * time.Second)}, took: time.Second, err: context.DeadlineExceeded, cause: context.DeadlineExceeded},
		{name: "caller", caller: time.Second, took: time.Second, err: context.Canceled, cause: errBoom},
		{name: "caller before deadlines", layers: []stoic.Policy{deadline.New(3 * time.Second), deadline.New(2 * time.Second)}, caller: time.Second, took: time.Second, err: context.Canceled, cause: errBoom},
		{name: "a layer", layers: []stoic.Policy{canceling(time.Second, errBoom)}, took: time.Second, err: context.Canceled, cause: errBoom},
		{name: "a layer around a deadline", layers: []stoic.Policy{canceling(time.Second, errBoom), deadline.New(2 * time.Second)}, took: time.Second, err: context.Canceled, cause: errBoom},
		{name: "a layer inside a deadline", layers: []stoic.Policy{deadline.New(2 * time.Second), canceling(time.Second, errBoom)}, took: time.Second, err: context.Canceled, cause: errBoom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // in which order the contexts learn of it is chance
				synctest.Test(t, func(t *testing.T) {
					var err, cause, derived error
					start := time.Now()
					base := roundTripper(func(req *http.Request) (*http.Response, error) {
						child, cancel := context.WithCancel(req.Context())
						defer cancel()
						<-child.Done()
						derived = context.Cause(child)
						err, cause = req.Context().Err(), context.Cause(req.Context())
						return nil, cause
					})
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					if tt.caller > 0 {
						time.AfterFunc(tt.caller, func() { cancel(errBoom) })
					}
					resp, got := transport(t, base, plain(t, tt.layers...)).RoundTrip(request(t, "GET", "").WithContext(ctx))
					wantError(t, resp, got, tt.cause)
					equal(t, "took", time.Since(start), tt.took)
					equal(t, "Err", err, tt.err)
					equal(t, "Cause", cause, tt.cause)
					equal(t, "Cause of a derived one", derived, tt.cause)
				})
			}
		})
	}
}

// waiting waits on its context, and on nothing else.
func waiting() stoic.Policy {
	return stoic.PolicyFunc("waiting", func(ctx context.Context, next stoic.Next) error {
		ctx.Done()
		return next.Do(ctx)
	})
}

// A layer may leave an attempt behind. It ends with the deadline whose layer returned,
// whether or not somebody waits on that.
func TestAttemptLeftBehindEndsWithTheDeadlineAround(t *testing.T) {
	leave := stoic.PolicyFunc("leave", func(ctx context.Context, next stoic.Next) error {
		go func() { _ = next.Do(ctx) }()
		time.Sleep(time.Second)
		return errBoom
	})
	value := stoic.PolicyFunc("value", func(ctx context.Context, next stoic.Next) error {
		return next.Do(context.WithValue(ctx, spanKey{}, 1))
	})
	total, each := deadline.New(10*time.Second), deadline.New(5*time.Second)
	tests := map[string][]stoic.Policy{
		"followed":                       {total, leave, each},
		"through another one":            {total, leave, each, deadline.New(4 * time.Second)},
		"waited on":                      {total, waiting(), leave, each},
		"inner one waited on":            {total, leave, each, waiting(), deadline.New(4 * time.Second)},
		"value between":                  {total, leave, value, each},
		"no deadline inside":             {total, leave},
		"another context inside":         {total, leave, each, value},
		"canceled later":                 {total, canceling(time.Hour, errBoom), leave, each},
		"canceled later, inside the one": {total, leave, canceling(time.Hour, errBoom), each},
	}
	for name, layers := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ended := make(chan struct{})
				base := roundTripper(func(req *http.Request) (*http.Response, error) {
					defer close(ended)
					<-req.Context().Done()
					equal(t, "took", time.Since(start), time.Second)
					equal(t, "Err", req.Context().Err(), context.Canceled)
					equal(t, "Cause", context.Cause(req.Context()), context.Canceled)
					return nil, req.Context().Err()
				})
				resp, err := transport(t, base, plain(t, layers...)).RoundTrip(request(t, "GET", ""))
				wantError(t, resp, err, errBoom)
				<-ended
			})
		})
	}
}

// Once they are in, what the stack does to the attempt's context does not matter.
func TestContextOutlivesTheAttempt(t *testing.T) {
	uses := map[string]func(context.Context){
		"nobody looked before": func(context.Context) {},
		"somebody waited":      func(ctx context.Context) { ctx.Done() },
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ctx context.Context
				base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
					ctx = req.Context()
					use(ctx)
					return answer(200, "fine"), nil
				})
				type key struct{}
				value := stoic.PolicyFunc("value", func(ctx context.Context, next stoic.Next) error {
					return next.Do(context.WithValue(ctx, key{}, "inside"))
				})
				layers := []stoic.Policy{deadline.New(2 * time.Second), canceling(time.Hour, errBoom), value, deadline.New(time.Second)}
				ask := request(t, "GET", "")
				ask = ask.WithContext(context.WithValue(ask.Context(), key{}, "outside"))
				start := time.Now()
				resp, err := transport(t, base, plain(t, layers...)).RoundTrip(ask)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "Err", ctx.Err(), nil)
				equal(t, "Value", ctx.Value(key{}), any("inside"))
				at, ok := ctx.Deadline()
				equal(t, "Deadline", ok && at.Equal(start.Add(time.Second)), true)
				time.Sleep(500 * time.Millisecond)
				equal(t, "Err", ctx.Err(), nil)
				wantAnswer(t, &http.Response{StatusCode: 200, Body: resp.Body, Request: ask}, nil, 200, "fine")
				equal(t, "Err at the end", ctx.Err(), context.Canceled)
				equal(t, "Value", ctx.Value(key{}), any("inside"))
				time.Sleep(time.Hour) // the timer was stopped, or it would be another error
				equal(t, "Err after that", ctx.Err(), context.Canceled)
			})
		})
	}
}

// With any stack, and whether or not somebody looked at it before.
func TestContextIsDoneAfterClose(t *testing.T) {
	for _, layers := range [][]stoic.Policy{nil, {deadline.New(time.Minute)}, {canceling(time.Hour, nil)}} {
		for _, looked := range []bool{false, true} {
			var ctx context.Context
			base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
				ctx = req.Context()
				if looked {
					ctx.Done()
				}
				return answer(200, "fine"), nil
			})
			resp, err := transport(t, base, plain(t, layers...)).RoundTrip(request(t, "GET", ""))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			equal(t, "Err", ctx.Err(), context.Canceled)
		}
	}
}

// The caller may say why he set a deadline.
func TestCauseOfTheCallersDeadlineIsKept(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				equal(t, "Err", req.Context().Err(), context.DeadlineExceeded)
				return nil, context.Cause(req.Context())
			})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
			defer cancel()
			p := plain(t, deadline.New(time.Minute), retries(3), deadline.New(2*time.Second))
			resp, err := transport(t, base, p).RoundTrip(request(t, "GET", "").WithContext(ctx))
			wantError(t, resp, err, errBoom)
		})
	}
}

// In the middle of reading, the deadline ends it as a deadline.
func TestContextEndsAtTheDeadlineWhileTheBodyIsRead(t *testing.T) {
	for _, waited := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var ctx context.Context
			base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
				ctx = req.Context()
				if waited {
					ctx.Done()
				}
				return answer(200, "fine"), nil
			})
			resp, err := transport(t, base, plain(t, deadline.New(time.Second))).RoundTrip(request(t, "GET", ""))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			start := time.Now()
			<-ctx.Done()
			equal(t, "after", time.Since(start), time.Second)
			equal(t, "Err", ctx.Err(), context.DeadlineExceeded)
			equal(t, "Cause", context.Cause(ctx), context.DeadlineExceeded)
		})
	}
}

// A context that costs a goroutine for each one derived from it would double the
// goroutines of a client.
func TestDerivedContextsCostNoGoroutine(t *testing.T) {
	layers := map[string][]stoic.Policy{
		"none":      nil,
		"deadlines": {deadline.New(time.Minute), retries(3), deadline.New(time.Second)},
		"own":       {deadline.New(time.Minute), canceling(time.Hour, nil), deadline.New(time.Second)},
	}
	for name, layers := range layers {
		t.Run(name, func(t *testing.T) {
			var before, during, reading int
			var ctx context.Context
			base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
				ctx = req.Context()
				before = runtime.NumGoroutine()
				for range 100 {
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					child.Done()
				}
				during = runtime.NumGoroutine()
				return answer(200, ""), nil
			})
			caller, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := transport(t, base, plain(t, layers...)).RoundTrip(request(t, "GET", "").WithContext(caller))
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				child.Done()
			}
			reading = runtime.NumGoroutine()
			_ = resp.Body.Close()
			if during-before > 5 || reading-before > 5 { // others run tests
				t.Errorf("goroutines: %d, with 100 derived contexts %d, while the body is read %d", before, during, reading)
			}
		})
	}
}

// listed is a caller's context that counts who waits for it.
type listed struct {
	context.Context
	mu      sync.Mutex
	waiting map[int]bool
	n       int
}

// Value hides the context that package context would register with.
func (c *listed) Value(any) any { return nil }

func (c *listed) AfterFunc(func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	id := c.n
	c.waiting[id] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		was := c.waiting[id]
		delete(c.waiting, id)
		return was
	}
}

// A program's context lives for long, and must not keep what each request hung on it.
func TestNothingStaysWithTheCallersContext(t *testing.T) {
	ends := map[string]func(http.RoundTripper, *http.Request){
		"read": func(rt http.RoundTripper, req *http.Request) {
			if resp, err := rt.RoundTrip(req); err == nil {
				_, _ = io.ReadAll(resp.Body)
			}
		},
		"closed": func(rt http.RoundTripper, req *http.Request) {
			if resp, err := rt.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		},
	}
	stacks := map[string][]stoic.Policy{
		"followed":  {retries(3), deadline.New(time.Minute)},
		"waited on": {deadline.New(time.Hour), waiting(), retries(3), deadline.New(time.Minute)},
	}
	type test struct {
		how, stack string
		code       int
	}
	var tests []test
	for how := range ends {
		for stack := range stacks {
			for _, code := range []int{200, 500, 503, 0, -1, 101} {
				tests = append(tests, test{how, stack, code})
			}
		}
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, cancel := context.WithCancel(t.Context())
				defer cancel()
				ctx := &listed{Context: inner, waiting: make(map[int]bool)}
				base := newFake(func(_ int, req *http.Request) (*http.Response, error) {
					req.Context().Done()
					switch tt.code {
					case 0:
						return nil, errBoom
					case -1:
						resp := answer(200, "")
						resp.Body = nil
						return resp, nil
					default:
						return answer(tt.code, "text"), nil
					}
				})
				ends[tt.how](transport(t, base, plain(t, stacks[tt.stack]...)), request(t, "GET", "").WithContext(ctx))
				synctest.Wait()
				if ctx.n == 0 || len(ctx.waiting) > 0 {
					t.Errorf("of %d that waited for the caller's context, %d still do", ctx.n, len(ctx.waiting))
				}
			})
		})
	}
}

// Contexts are used by many goroutines at once.
func TestContextIsSafeForConcurrentUse(t *testing.T) {
	p := plain(t, deadline.New(time.Minute), retries(3, retry.Constant(0)), breaker.New("b"), deadline.New(time.Second))
	var users sync.WaitGroup
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		for range 4 {
			users.Go(func() {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				<-child.Done()
				if ctx.Err() == nil {
					t.Error("the derived context is done, and its parent is not")
				}
			})
			users.Go(func() { _, _ = ctx.Value(spanKey{}), context.Cause(ctx) })
		}
		return answer(200, "fine"), nil
	})
	tr := transport(t, base, p)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				resp, err := tr.RoundTrip(request(t, "GET", ""))
				if err != nil {
					t.Error(err)
					return
				}
				users.Go(func() { _ = resp.Body.Close() })
				_, _ = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	users.Wait()
}

// A layer may run what is inside it at the same time, and after the call.
func TestLayersThatRunAttemptsConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []*tracked
		var mu sync.Mutex
		base := newFake(func(n int, req *http.Request) (*http.Response, error) {
			switch n {
			case 1:
				time.Sleep(3 * time.Second) // the slow one answers after the call is over
			case 2:
				time.Sleep(time.Second)
			}
			resp := answer(200, "fine")
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, resp.Body.(*tracked))
			return resp, nil
		})
		late := make(chan error, 2)
		var after func() error
		hedge := stoic.PolicyFunc("hedge", func(ctx context.Context, next stoic.Next) error {
			after = func() error { return next.Do(context.WithoutCancel(ctx)) }
			won := make(chan error, 2)
			for range 2 {
				go func() {
					err := next.Do(context.WithoutCancel(ctx))
					won <- err
					late <- err
				}()
				time.Sleep(time.Millisecond)
			}
			return <-won
		})
		resp, err := transport(t, base, plain(t, hedge)).RoundTrip(request(t, "PUT", "order"))
		wantAnswer(t, resp, err, 200, "fine")
		equal(t, "the first to return", <-late, nil)
		if err := <-late; err == nil {
			t.Error("the late attempt succeeded")
		}
		equal(t, "answers", len(bodies), 2)
		for _, body := range bodies {
			equal(t, "closes", body.closed.Load(), 1)
		}
		if err := after(); err == nil {
			t.Error("an attempt after the call succeeded")
		}
		equal(t, "sent", base.sent(), 2)
	})
}

// Both answers are in before the call is over: one is the caller's, the other is closed.
func TestOneOfTwoConcurrentAnswersIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := make(chan *tracked, 2)
		base := newFake(func(int, *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			resp := answer(200, "fine")
			bodies <- resp.Body.(*tracked)
			return resp, nil
		})
		both := stoic.PolicyFunc("both", func(ctx context.Context, next stoic.Next) error {
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { _ = next.Do(ctx) })
			}
			wg.Wait()
			return nil
		})
		resp, err := transport(t, base, plain(t, both)).RoundTrip(request(t, "GET", ""))
		first, second := <-bodies, <-bodies
		equal(t, "closes", first.closed.Load()+second.closed.Load(), 1)
		wantAnswer(t, resp, err, 200, "fine")
		equal(t, "closes", first.closed.Load()*second.closed.Load(), 1)
	})
}

func TestSecondSuccessReplacesTheFirst(t *testing.T) {
	var bodies []*tracked
	base := newFake(func(n int, req *http.Request) (*http.Response, error) {
		resp := answer(200, "fine")
		bodies = append(bodies, resp.Body.(*tracked))
		return resp, nil
	})
	twice := stoic.PolicyFunc("twice", func(ctx context.Context, next stoic.Next) error {
		return errors.Join(next.Do(ctx), next.Do(ctx))
	})
	resp, err := transport(t, base, plain(t, twice)).RoundTrip(request(t, "GET", ""))
	wantAnswer(t, resp, err, 200, "fine")
	equal(t, "closes of the first", bodies[0].closed.Load(), 1)
	equal(t, "closes of the second", bodies[1].closed.Load(), 1)
}

// Also FailIf is foreign code.
func TestNothingIsLeftOpenAfterAPanic(t *testing.T) {
	for _, how := range []string{"panic", "goexit"} {
		for _, where := range []string{"base", "FailIf", "stack", "sleep"} {
			t.Run(how+" in "+where, func(t *testing.T) {
				var bodies []*tracked
				var ctxs []context.Context
				base := newFake(func(n int, req *http.Request) (*http.Response, error) {
					ctxs = append(ctxs, req.Context())
					req.Context().Done()
					if where == "base" && n == 2 {
						misbehave(how)
					}
					resp := answer(503, "busy")
					bodies = append(bodies, resp.Body.(*tracked))
					return resp, nil
				})
				failIf := func(*http.Response) bool {
					if where == "FailIf" && base.sent() == 2 {
						misbehave(how)
					}
					return true
				}
				sleep := retry.Sleep(func(context.Context, time.Duration) error {
					if where == "sleep" {
						misbehave(how)
					}
					return nil
				})
				outer := stoic.PolicyFunc("outer", func(ctx context.Context, next stoic.Next) error {
					err := next.Do(ctx)
					if where == "stack" {
						misbehave(how)
					}
					return err
				})
				var requestBodies []*tracked
				req := request(t, "PUT", "order")
				req.Body = nil
				req.GetBody = func() (io.ReadCloser, error) {
					requestBodies = append(requestBodies, track("order"))
					return requestBodies[len(requestBodies)-1], nil
				}
				req.Body, _ = req.GetBody()
				tr := transport(t, base, plain(t, outer, retries(3, sleep), deadline.New(time.Hour)), stoichttp.FailIf(failIf))
				endOf(func() { _, _ = tr.RoundTrip(req) }).check(t, how)
				for _, body := range append(bodies, requestBodies...) {
					if body.closed.Load() == 0 {
						t.Error("a body is open")
					}
				}
				for _, ctx := range ctxs {
					if ctx.Err() == nil {
						t.Error("a context is not done")
					}
				}
			})
		}
	}
}
