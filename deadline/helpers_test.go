package deadline_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

var errDown = errors.New("down")

// wait is an operation that blocks until its context ends.
func wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// ignorant is an operation that takes d whatever its context says, and returns err.
func ignorant(d time.Duration, err error) stoic.Func {
	return func(context.Context) error {
		time.Sleep(d)
		return err
	}
}

// counted counts how often fn is entered, and notes when.
type counted struct {
	fn      stoic.Func
	start   time.Time
	entered []time.Duration
}

func count(fn stoic.Func) *counted { return &counted{fn: fn, start: time.Now()} }

func (c *counted) run(ctx context.Context) error {
	c.entered = append(c.entered, time.Since(c.start))
	return c.fn(ctx)
}

func (c *counted) want(t *testing.T, n int, took time.Duration) {
	t.Helper()
	if len(c.entered) != n {
		t.Errorf("entered %d times, at %v; want %d", len(c.entered), c.entered, n)
	}
	if got := time.Since(c.start); got != took {
		t.Errorf("returned at %v, want %v", got, took)
	}
}

// attempts is a retry of n attempts that waits 100ms, 200ms and so on between them,
// and retries whatever it may, deadlines included.
func attempts(n int) *retry.Retry {
	return retry.New(retry.MaxAttempts(n), retry.NoJitter(100*time.Millisecond, 10*time.Second),
		retry.If(func(error) bool { return true }))
}

// observed is a pipeline with a recorder outermost.
func observed(layers ...stoic.Policy) (*stoic.Pipeline, *hookstest.Recorder) {
	r := &hookstest.Recorder{}
	return stoic.MustNew("payments", append([]stoic.Policy{stoic.Observe(r)}, layers...)...), r
}

// same is for errors that must be the very same value.
func same(a, b any) bool { return a == b }

func wantIs(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("got %v, which does not match %v", err, target)
		}
	}
}

func wantNot(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			t.Errorf("got %v, which matches %v", err, target)
		}
	}
}

// wantDone checks all that a context that has ended says.
func wantDone(ctx context.Context, t *testing.T, err, cause error) {
	t.Helper()
	if got := ctx.Err(); !same(got, err) {
		t.Errorf("Err() = %v, want %v", got, err)
	}
	if got := context.Cause(ctx); !same(got, cause) {
		t.Errorf("Cause = %v, want %v", got, cause)
	}
	select {
	case <-ctx.Done():
	default:
		t.Error("Done is open, want it closed")
	}
	if got := ctx.Err(); !same(got, err) {
		t.Errorf("Err() after Done = %v, want %v", got, err)
	}
}

func wantLive(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := ctx.Err(); err != nil {
		t.Errorf("Err() = %v, want nil", err)
	}
	if err := context.Cause(ctx); err != nil {
		t.Errorf("Cause = %v, want nil", err)
	}
}

// capture runs fn under layers and returns the context that it got.
func capture(parent context.Context, t *testing.T, fn stoic.Func, layers ...stoic.Policy) context.Context {
	t.Helper()
	var got context.Context
	_ = stoic.MustNew("payments", layers...).Do(parent, func(ctx context.Context) error {
		got = ctx
		if fn == nil {
			return nil
		}
		return fn(ctx)
	})
	return got
}

// bubbleGoroutines counts the goroutines of the synctest bubble. Those of the runtime
// come and go.
func bubbleGoroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble"))
}

func wantGoroutines(t *testing.T, want int) {
	t.Helper()
	if got := bubbleGoroutines(); got != want {
		t.Errorf("%d goroutines, want %d", got, want)
	}
}

// exceeded returns the ExceededError in err.
func exceeded(t *testing.T, err error) *deadline.ExceededError {
	t.Helper()
	e, ok := errors.AsType[*deadline.ExceededError](err)
	if !ok {
		t.Fatalf("got %v, want an ExceededError", err)
	}
	return e
}
