package deadline_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// custom is a context of somebody else's making, as web frameworks have them.
type custom struct {
	context.Context
	mu   sync.Mutex
	done chan struct{}
	err  error
}

func newCustom(parent context.Context) *custom {
	return &custom{Context: parent, done: make(chan struct{})}
}

func (c *custom) Done() <-chan struct{} { return c.done }

func (c *custom) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *custom) end(err error) {
	c.fail(err)
	close(c.done)
}

// fail ends it for Err, and not yet for Done.
func (c *custom) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

type key struct{}

func TestErrIsSticky(t *testing.T) {
	looks := map[string]func(ctx context.Context){
		"Done asked first": func(ctx context.Context) { _ = ctx.Done() },
		"nobody asked":     func(context.Context) {},
	}
	for name, before := range looks {
		t.Run(name, func(t *testing.T) {
			t.Run("the time, then a cancel", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(t.Context())
					inner := capture(parent, t, func(ctx context.Context) error {
						before(ctx)
						time.Sleep(time.Second)
						synctest.Wait()
						if err := ctx.Err(); err != context.DeadlineExceeded {
							t.Errorf("Err() = %v, want DeadlineExceeded", err)
						}
						cancel(errDown)
						wantDone(ctx, t, context.DeadlineExceeded, context.DeadlineExceeded)
						return nil
					}, deadline.New(time.Second))
					wantDone(inner, t, context.DeadlineExceeded, context.DeadlineExceeded)
				})
			})
			t.Run("a cancel, then the time", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(t.Context())
					inner := capture(parent, t, func(ctx context.Context) error {
						before(ctx)
						cancel(errDown)
						if err := ctx.Err(); err != context.Canceled {
							t.Errorf("Err() = %v, want Canceled", err)
						}
						time.Sleep(2 * time.Second)
						wantDone(ctx, t, context.Canceled, errDown)
						return nil
					}, deadline.New(time.Second))
					wantDone(inner, t, context.Canceled, errDown)
				})
			})
		})
	}
}

// Err says that a parent is done before the parent's Done does: from then on Done is
// closed, and Err stays, also when the real context is made only now.
func TestParentWhoseErrComesBeforeItsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent := newCustom(t.Context())
		inner := capture(parent, t, func(ctx context.Context) error {
			parent.fail(context.Canceled)
			wantDone(ctx, t, context.Canceled, context.Canceled)
			parent.fail(nil)
			wantDone(ctx, t, context.Canceled, context.Canceled)
			return nil
		}, deadline.New(time.Second))
		wantDone(inner, t, context.Canceled, context.Canceled)
	})
}

func TestCauseOfTheCallersDeadline(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			parent, cancel := context.WithTimeoutCause(t.Context(), time.Second, errDown)
			defer cancel()
			inner := capture(parent, t, wait, deadline.New(time.Hour), deadline.New(limit))
			wantDone(inner, t, context.DeadlineExceeded, errDown)
		})
	}
}

func TestAfterTheLayerHasReturned(t *testing.T) {
	ops := map[string]stoic.Func{
		"nobody waited": nil,
		"somebody waited": func(ctx context.Context) error {
			_ = ctx.Done()
			return nil
		},
	}
	for name, op := range ops {
		for _, layers := range [][]stoic.Policy{
			{deadline.New(time.Second)},
			{deadline.New(time.Minute), deadline.New(time.Second)},
			{deadline.New(time.Second), deadline.New(time.Minute)},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, len(layers)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent := context.WithValue(t.Context(), key{}, "value")
					var before, value context.Context
					inner := capture(parent, t, func(ctx context.Context) error {
						value = context.WithValue(ctx, key{}, "own")
						if op == nil {
							return nil
						}
						var cancel context.CancelFunc
						before, cancel = context.WithCancel(ctx)
						t.Cleanup(cancel)
						return op(ctx)
					}, layers...)
					wantDone(inner, t, context.Canceled, context.Canceled)
					wantDone(value, t, context.Canceled, context.Canceled)
					if before != nil {
						wantDone(before, t, context.Canceled, context.Canceled)
					}
					after, cancel := context.WithTimeout(inner, time.Hour)
					defer cancel()
					wantDone(after, t, context.Canceled, context.Canceled)
					for _, ctx := range []context.Context{inner, after} {
						if got := ctx.Value(key{}); got != "value" {
							t.Errorf("Value = %v, want the parent's", got)
						}
					}
					wantLive(context.WithoutCancel(inner), t)
					if at, ok := inner.Deadline(); !ok || time.Until(at) != time.Second {
						t.Errorf("Deadline = %v, %v", at, ok)
					}
					wantLive(parent, t)
				})
			})
		}
	}
}

func TestDerivedContextsCostNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layers := []stoic.Policy{deadline.New(time.Minute), deadline.New(time.Second)}
		capture(t.Context(), t, func(ctx context.Context) error {
			_ = ctx.Done()
			before := bubbleGoroutines()
			for range 100 {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				grandchild, cancel := context.WithTimeout(context.WithValue(child, key{}, 1), time.Hour)
				defer cancel()
				_ = grandchild.Done()
				defer context.AfterFunc(ctx, func() {})()
			}
			synctest.Wait()
			wantGoroutines(t, before)
			return nil
		}, layers...)
	})
}

func TestAfterFuncRunsWhenTheContextEnds(t *testing.T) {
	tests := []struct {
		name string
		fn   stoic.Func
		want time.Duration
	}{
		{"the time is up", func(context.Context) error { time.Sleep(3 * time.Second); return nil }, time.Second},
		{"the layer returns", func(context.Context) error { time.Sleep(time.Second / 2); return nil }, time.Second / 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, ran := time.Now(), time.Duration(-1)
				capture(t.Context(), t, func(ctx context.Context) error {
					context.AfterFunc(ctx, func() { ran = time.Since(start) })
					return tt.fn(ctx)
				}, deadline.New(time.Second))
				synctest.Wait()
				if ran != tt.want {
					t.Errorf("ran at %v, want %v", ran, tt.want)
				}
			})
		})
	}
}

// The name is that of package context, and nothing in the parent is read for it.
func TestString(t *testing.T) {
	parent := newCustom(context.Background())
	var got string
	capture(parent, t, func(ctx context.Context) error {
		var wg sync.WaitGroup
		wg.Go(func() { parent.fail(nil) }) // with -race: printing must not read its fields
		got = fmt.Sprint(context.WithValue(ctx, key{}, 1))
		wg.Wait()
		return nil
	}, deadline.New(time.Second), deadline.New(time.Minute))
	if !strings.HasPrefix(got, "*deadline_test.custom.WithDeadline(") || strings.Count(got, ".WithDeadline(") != 2 {
		t.Errorf("got %q", got)
	}
}
