// Quickstart runs real HTTP calls through a full stack while the server fails on a
// script: it is healthy, answers 503, hangs, is down, and is healthy again. It prints
// what each layer did, then a summary, and ends by itself after 12 seconds.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// What a real service measures in seconds and minutes is shorter here, so that 12
// seconds show all of it. The options left out have their defaults: a budget of 10 %,
// a breaker that opens at 10 failures in a row or at half of 50 calls.
const (
	callLimit    = 2 * time.Second
	attemptLimit = 250 * time.Millisecond
	attempts     = 3
	openFor      = time.Second
	workers      = 8
	pause        = 200 * time.Millisecond // between the calls of one worker: 40 calls a second in all
)

func newStack(h hooks.Hook) *stoic.Pipeline {
	return stoic.MustNew("payments",
		stoic.Observe(h),        // everything below reports to the timeline
		deadline.New(callLimit), // the whole call, waits included
		budget.New(),            // retries add at most 10 % load, and one a second
		retry.New(retry.MaxAttempts(attempts), retry.FullJitter(50*time.Millisecond, time.Second)),
		breaker.New("payments", breaker.OpenFor(openFor)),  // sees every attempt
		ratelimit.New(ratelimit.Per(100, time.Second), 20), // the quota that we were given
		deadline.New(attemptLimit),                         // each attempt
	)
}

var script = []phase{
	{name: "healthy", mode: healthy, lasts: 2 * time.Second},
	{name: "30 % answer 503", mode: flaky, lasts: 3 * time.Second},
	{name: "hangs", mode: hanging, lasts: 2500 * time.Millisecond},
	{name: "down", mode: down, lasts: 1500 * time.Millisecond},
	{name: "healthy again", mode: healthy, lasts: 2500 * time.Millisecond},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, script)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run plays the script, with workers calling all the time, and prints to w. It ends
// early when ctx is done. An error means that the server could not listen.
func run(ctx context.Context, w io.Writer, script []phase) error {
	server, err := newServer()
	if err != nil {
		return err
	}
	defer server.close()

	timeline := newTimeline(w, script)
	c := client{stack: newStack(timeline), http: newHTTPClient(), url: server.url()}
	defer c.http.CloseIdleConnections()

	// At the end of the script no further call begins, and those that run may finish.
	playing, stop := context.WithCancel(ctx)
	defer stop()
	var pool sync.WaitGroup
	for id := range workers {
		pool.Go(func() { c.work(ctx, playing, id) })
	}
	err = server.play(playing, script, timeline.enter)
	stop()
	pool.Wait()
	timeline.summarize()
	return err
}

type client struct {
	stack *stoic.Pipeline
	http  *http.Client
	url   string
}

func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
}

// work makes one call after the other until the script ends.
func (c client) work(ctx, playing context.Context, id int) {
	timer := time.NewTimer(pause * time.Duration(id) / workers)
	defer timer.Stop()
	for n := 1; ; n++ {
		select {
		case <-playing.Done():
			return
		case <-timer.C:
		}
		// A caller would look at the error. Here the timeline knows it from the hook.
		_ = c.charge(ctx, fmt.Sprintf("order-%d-%d", id, n))
		timer.Reset(pause)
	}
}

// charge is the call that the stack protects. Each attempt carries the same
// idempotency key, so that the other side can tell a retry from a second order.
func (c client) charge(ctx context.Context, order string) error {
	ctx = stoic.WithIdempotencyKey(stoic.WithNonIdempotent(ctx), order)
	return c.stack.Do(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(`{"amount":1999}`))
		if err != nil {
			return retry.Permanent(err)
		}
		req.Header.Set("Idempotency-Key", stoic.IdempotencyKey(ctx))
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		// Read the body in here: ctx ends with the attempt, and the body with ctx.
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		return checkStatus(resp)
	})
}
