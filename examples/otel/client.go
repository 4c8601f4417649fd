package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

const (
	workers = 8
	pause   = 150 * time.Millisecond // between the calls of one worker: about 50 calls a second in all
)

// client charges orders.
type client struct {
	stack *stoic.Pipeline
	http  *http.Client
	url   string
}

func newClient(stack *stoic.Pipeline, url string) *client {
	return &client{stack, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}, url}
}

// startWorkers lets them call until playing is done. The function that it returns waits
// for the calls that run.
func startWorkers(ctx, playing context.Context, c *client) (finished func()) {
	var pool sync.WaitGroup
	for id := range workers {
		pool.Go(func() { c.work(ctx, playing, id) })
	}
	return func() {
		pool.Wait()
		c.http.CloseIdleConnections()
	}
}

func (c *client) work(ctx, playing context.Context, id int) {
	next := pause * time.Duration(id) / workers
	for n := 1; wait(playing, next); n++ {
		// A caller would look at the error. Here it is in the trace.
		_ = c.charge(ctx, fmt.Sprintf("order-%d-%d", id, n))
		next = pause
	}
}

// charge names its operation: that is the name of its spans, and an attribute of every
// metric. The id of the order is neither.
func (c *client) charge(ctx context.Context, order string) error {
	ctx = stoic.WithOperation(ctx, "charge")
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
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if resp.StatusCode >= http.StatusInternalServerError {
			return statusError(resp.StatusCode)
		}
		return nil
	})
}

// statusError is a 5xx answer as an error.
type statusError int

func (e statusError) Error() string { return "status " + strconv.Itoa(int(e)) }

// StatusCode is what retry.Transient asks for.
func (e statusError) StatusCode() int { return int(e) }

// ErrorType is the value of error.type. Without it that would be the Go type, and the
// same for every status.
func (e statusError) ErrorType() string { return strconv.Itoa(int(e)) }
