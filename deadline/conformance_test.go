package deadline_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// A frame runs fn with a context that ends after limit, and when fn has returned.
type frame func(parent context.Context, limit time.Duration, fn func(ctx context.Context) error) error

// frames are the standard context and those of the layer; the first one is what the
// others must be like.
var frames = []struct {
	name string
	run  frame
}{
	{"standard", func(parent context.Context, limit time.Duration, fn func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(parent, limit)
		defer cancel()
		return fn(ctx)
	}},
	{"lazy", func(parent context.Context, limit time.Duration, fn func(context.Context) error) error {
		return stoic.MustNew("p", deadline.New(limit)).Do(parent, fn)
	}},
	{"lazy around a longer one", func(parent context.Context, limit time.Duration, fn func(context.Context) error) error {
		return stoic.MustNew("p", deadline.New(limit), deadline.New(2*limit)).Do(parent, fn)
	}},
	{"lazy in a longer one", func(parent context.Context, limit time.Duration, fn func(context.Context) error) error {
		return stoic.MustNew("p", deadline.New(2*limit), deadline.New(limit)).Do(parent, fn)
	}},
}

// trace is what a use has seen, and when.
type trace struct {
	start time.Time
	mu    sync.Mutex
	lines []string
}

func (tr *trace) add(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, time.Since(tr.start).String()+" "+fmt.Sprintf(format, args...))
}

// state adds everything that a context says without waiting.
func (tr *trace) state(ctx context.Context, what string) {
	done := "live"
	select {
	case <-ctx.Done():
		done = "done"
	default:
	}
	tr.add("%s: %s, %v, cause %v", what, done, ctx.Err(), context.Cause(ctx))
}

// A use does something with contexts that it gets from in, under parent.
type use struct {
	name string
	run  func(parent context.Context, in frame, tr *trace)
	want []string
}

// The same uses, of the standard context and of the lazy one, see the same at the same
// time, and no goroutine is left.
func TestConformance(t *testing.T) {
	for _, u := range slices.Concat(plainUses, returnUses, groupUses, httpUses, sqlUses) {
		for _, f := range frames {
			t.Run(u.name+"/"+f.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
					defer cancel()
					before := bubbleGoroutines()
					tr := &trace{start: time.Now()}
					u.run(parent, f.run, tr)
					synctest.Wait()
					wantGoroutines(t, before) // the parent is still live
					if !slices.Equal(tr.lines, u.want) {
						t.Errorf("\n got %q\nwant %q", tr.lines, u.want)
					}
				})
			})
		}
	}
}

// A parent that lives on keeps nothing of the calls made under it.
func TestConformanceParentKeepsNothing(t *testing.T) {
	uses := map[string]func(ctx context.Context){
		"nothing":   func(context.Context) {},
		"Done":      func(ctx context.Context) { _ = ctx.Done() },
		"Err":       func(ctx context.Context) { _ = ctx.Err() },
		"AfterFunc": func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
		"a child that nobody cancels": func(ctx context.Context) {
			_, cancel := context.WithCancel(ctx)
			_ = cancel
		},
		"WithoutCancel": func(ctx context.Context) { _ = context.WithoutCancel(ctx).Done() },
	}
	for name, use := range uses {
		for _, parent := range frames {
			for _, f := range frames {
				t.Run(name+"/"+f.name+" under "+parent.name, func(t *testing.T) {
					_ = parent.run(context.Background(), time.Hour, func(ctx context.Context) error {
						if !isCollected(func(collected func()) {
							_ = f.run(ctx, time.Minute, func(ctx context.Context) error {
								use(ctx)
								runtime.SetFinalizer(ctx, func(context.Context) { collected() })
								return nil
							})
						}) {
							t.Error("the context is still reachable")
						}
						runtime.KeepAlive(ctx)
						return nil
					})
				})
			}
		}
	}
}

// isCollected reports whether the finalizer that setUp sets is called.
func isCollected(setUp func(collected func())) bool {
	done := make(chan struct{})
	setUp(func() { close(done) })
	for range 100 {
		runtime.GC()
		select {
		case <-done:
			return true
		default:
			runtime.Gosched()
		}
	}
	return false
}
