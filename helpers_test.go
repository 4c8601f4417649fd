package stoic_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

var errBoom = errors.New("boom")

// operation counts how often it was entered, and returns err.
type operation struct {
	entered atomic.Int64
	err     error
}

func (o *operation) run(context.Context) error {
	o.entered.Add(1)
	return o.err
}

func (o *operation) want(t *testing.T, n int64) {
	t.Helper()
	if got := o.entered.Load(); got != n {
		t.Errorf("the operation was entered %d times, want %d", got, n)
	}
}

func succeed(context.Context) error { return nil }

func fail(context.Context) error { return errBoom }

func exit(context.Context) error {
	runtime.Goexit()
	return nil
}

// same reports whether two errors are the very same value: an error that passes
// through a stack is not even wrapped.
func same(a, b error) bool {
	return a == b //nolint:errorlint // identity is meant
}

// attempts is a retry of n attempts that waits d between them.
func attempts(n int, d time.Duration) *retry.Retry {
	return retry.New(retry.MaxAttempts(n), retry.Constant(d))
}

// journal is a list of lines that many goroutines may write to.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	wantLines(t, j.lines, want)
}

// layer writes name to the journal and goes on.
func (j *journal) layer(name string) stoic.Policy {
	return stoic.PolicyFunc(name, func(ctx context.Context, next stoic.Next) error {
		j.add(name)
		return next.Do(ctx)
	})
}

func (j *journal) fn(name string) stoic.Func {
	return func(context.Context) error {
		j.add(name)
		return nil
	}
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// mistakes takes the error of New apart.
func mistakes(t *testing.T, err error) []*stoic.InvalidError {
	t.Helper()
	if !errors.Is(err, stoic.ErrInvalid) {
		t.Fatalf("%v, want ErrInvalid", err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T, want a join", err)
	}
	var all []*stoic.InvalidError
	for _, e := range joined.Unwrap() {
		invalid, ok := errors.AsType[*stoic.InvalidError](e)
		if !ok {
			t.Fatalf("%T, want an InvalidError", e)
		}
		all = append(all, invalid)
	}
	return all
}

// panicOf returns what f panics with, or nil.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// onGoroutine runs f, which may call runtime.Goexit, on its own goroutine, and
// reports whether it returned.
func onGoroutine(f func()) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		returned = true
	}()
	<-done
	return returned
}
