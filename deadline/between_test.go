package deadline_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
)

// detached runs what is inside it on a goroutine, and returns when that is blocked.
func detached(wg *sync.WaitGroup) stoic.Policy {
	return stoic.Middleware("detached", func(next stoic.Func) stoic.Func {
		return func(ctx context.Context) error {
			wg.Go(func() { _ = next(ctx) })
			synctest.Wait()
			return nil
		}
	})
}

// When the outer layer has returned, what it left behind must end: although nobody
// waits on the outer context, and the inner one is made to skip it.
func TestDetachedMiddlewareEndsWithTheOuterLayer(t *testing.T) {
	uses := map[string]stoic.Func{
		"Done": wait,
		"Err":  ignorant(time.Millisecond, nil),
		"derived": func(ctx context.Context) error {
			child, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return wait(child)
		},
	}
	limits := [][]time.Duration{
		{time.Minute, time.Second},
		{time.Second, time.Minute},
		{time.Second, time.Second},
		{time.Hour, time.Minute, time.Second},
		{time.Second, time.Minute, time.Hour},
	}
	for name, use := range uses {
		for _, l := range limits {
			t.Run(fmt.Sprint(name, l), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var wg sync.WaitGroup
					layers := []stoic.Policy{deadline.New(l[0]), detached(&wg)}
					for _, limit := range l[1:] {
						layers = append(layers, deadline.New(limit))
					}
					start := time.Now()
					err := stoic.MustNew("payments", layers...).Do(t.Context(), func(ctx context.Context) error {
						_ = use(ctx)
						wantDone(ctx, t, context.Canceled, context.Canceled)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
					wg.Wait()
					if took := time.Since(start); took > time.Millisecond {
						t.Errorf("the inner context ended at %v, want when the outer layer returned", took)
					}
				})
			})
		}
	}
}

// deriving is a hook whose Start returns a context of its own.
type deriving struct {
	hooks.Nop
	derive func(ctx context.Context) context.Context
}

func (d deriving) Start(ctx context.Context, _ hooks.Op) context.Context { return d.derive(ctx) }

func TestHookBetweenTwoDeadlines(t *testing.T) {
	derive := map[string]func(ctx context.Context) context.Context{
		"value": func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "hook") },
		"shorter deadline": func(ctx context.Context) context.Context {
			ctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "hook"), time.Second)
			time.AfterFunc(time.Hour, cancel)
			return ctx
		},
		"own type": func(ctx context.Context) context.Context {
			return struct{ context.Context }{context.WithValue(ctx, key{}, "hook")}
		},
	}
	for name, derive := range derive {
		for _, limits := range [][2]time.Duration{{time.Second, time.Minute}, {time.Minute, time.Second}} {
			t.Run(name+"/"+limits[0].String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					inner := capture(t.Context(), t, func(ctx context.Context) error {
						wantLive(ctx, t)
						if got := ctx.Value(key{}); got != "hook" {
							t.Errorf("Value = %v, want the hook's", got)
						}
						return wait(ctx)
					}, deadline.New(limits[0]), stoic.Observe(deriving{derive: derive}), deadline.New(limits[1]))
					wantDone(inner, t, context.DeadlineExceeded, context.DeadlineExceeded)
					if took := time.Since(start); took != time.Second {
						t.Errorf("took %v, want 1s", took)
					}
				})
			})
		}
	}
}

// Policies in between may put values into the context, or read it.
func TestPolicyBetweenTwoDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outer context.Context
		between := stoic.PolicyFunc("between", func(ctx context.Context, next stoic.Next) error {
			outer = ctx
			wantLive(ctx, t)
			err := next.Do(context.WithValue(ctx, key{}, "between"))
			wantLive(ctx, t) // the inner deadline is not its own
			return err
		})
		inner := capture(t.Context(), t, wait, deadline.New(time.Minute), between, deadline.New(time.Second))
		wantDone(inner, t, context.DeadlineExceeded, context.DeadlineExceeded)
		wantDone(outer, t, context.Canceled, context.Canceled)
		if got := inner.Value(key{}); got != "between" {
			t.Errorf("Value = %v, want that of between", got)
		}
	})
}

func TestCustomParents(t *testing.T) {
	ends := map[string]struct {
		end  func(c *custom)
		want error
	}{
		"it ends":        {func(c *custom) { c.end(context.Canceled) }, context.Canceled},
		"with its error": {func(c *custom) { c.end(errDown) }, errDown},
		"the time is up": {func(*custom) { time.Sleep(time.Second) }, context.DeadlineExceeded},
	}
	for name, tt := range ends {
		for _, waits := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent := newCustom(context.WithValue(t.Context(), key{}, "value"))
					inner := capture(parent, t, func(ctx context.Context) error {
						wantLive(ctx, t)
						if waits {
							_ = ctx.Done()
						}
						tt.end(parent)
						synctest.Wait() // package context watches such a parent from a goroutine
						wantDone(ctx, t, tt.want, tt.want)
						return nil
					}, deadline.New(time.Minute), deadline.New(time.Second))
					wantDone(inner, t, tt.want, tt.want)
					if got := inner.Value(key{}); got != "value" {
						t.Errorf("Value = %v", got)
					}
				})
			})
		}
	}
}
