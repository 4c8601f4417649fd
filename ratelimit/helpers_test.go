package ratelimit_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"golang.org/x/time/rate"
)

var errDown = errors.New("down")

func succeed(context.Context) error { return nil }

func fail(context.Context) error { return errDown }

// op notes when it was entered.
type op struct {
	fn      stoic.Func
	start   time.Time
	entered []time.Duration
}

func newOp(fn stoic.Func) *op { return &op{fn: fn, start: time.Now()} }

func (o *op) run(ctx context.Context) error {
	o.entered = append(o.entered, time.Since(o.start))
	return o.fn(ctx)
}

// want takes waits of x/time, which may end 1ns early.
func (o *op) want(t *testing.T, entered ...time.Duration) {
	t.Helper()
	if len(o.entered) != len(entered) {
		t.Errorf("entered at %v, want %v", o.entered, entered)
		return
	}
	for i, want := range entered {
		if got := o.entered[i]; got < want-1 || got > want+1 {
			t.Errorf("entered at %v, want %v (± 1ns)", o.entered, entered)
		}
	}
}

func (o *op) elapsed(t *testing.T, want time.Duration) {
	t.Helper()
	if got := time.Since(o.start); got != want {
		t.Errorf("returned at %v, want %v", got, want)
	}
}

// empty is a bucket of burst 1 that has just been emptied.
func empty(limit rate.Limit) *rate.Limiter {
	l := rate.NewLimiter(limit, 1)
	l.Allow()
	return l
}

func attempts(n int) *retry.Retry {
	return retry.New(retry.MaxAttempts(n), retry.NoJitter(100*time.Millisecond, 10*time.Second))
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

// wantTokens allows what float64 loses.
func wantTokens(t *testing.T, l *rate.Limiter, want float64) {
	t.Helper()
	if got := l.Tokens(); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v tokens, want %v", got, want)
	}
}

// rejection returns the Rejection in err.
func rejection(t *testing.T, err error) *stoic.Rejection {
	t.Helper()
	r, ok := errors.AsType[*stoic.Rejection](err)
	if !ok {
		t.Fatalf("got %v, want a rejection", err)
	}
	return r
}

// single is a stack of one limiter.
func single(limiter *rate.Limiter, opts ...ratelimit.Option) *stoic.Pipeline {
	return stoic.MustNew("payments", ratelimit.From(limiter, opts...))
}
