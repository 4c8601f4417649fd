package hookstest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

// funcs is a hook made of functions; those that are nil do nothing.
type funcs struct {
	start func(context.Context, hooks.Op) context.Context
	end   func(context.Context, hooks.Op, hooks.Result)
	event func(context.Context, hooks.Event)
}

func (f funcs) Start(ctx context.Context, op hooks.Op) context.Context {
	if f.start == nil {
		return ctx
	}
	return f.start(ctx, op)
}

func (f funcs) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	if f.end != nil {
		f.end(ctx, op, res)
	}
}

func (f funcs) Event(ctx context.Context, e hooks.Event) {
	if f.event != nil {
		f.event(ctx, e)
	}
}

// attacher is a hook made of a function.
type attacher struct {
	hooks.Nop

	attach func(pipeline string, layers []hooks.LayerInfo)
}

func (a attacher) Attach(pipeline string, layers []hooks.LayerInfo) { a.attach(pipeline, layers) }

// failures is a reporter that counts.
type failures struct {
	mu    sync.Mutex
	texts []string
}

func (*failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// failing returns the names of the checks that fail for hooks made by newHook.
func failing(t *testing.T, newHook func() hooks.Hook) []string {
	t.Helper()
	var names []string
	for _, c := range checks() {
		synctest.Test(t, func(t *testing.T) {
			var got failures
			c.run(&got, newHook())
			for _, text := range got.texts {
				t.Log(c.name + ": " + text)
			}
			if len(got.texts) > 0 {
				names = append(names, c.name)
			}
		})
	}
	return names
}

// lateContext has a later deadline than its parent.
type lateContext struct{ context.Context }

func (c lateContext) Deadline() (time.Time, bool) {
	d, ok := c.Context.Deadline()
	return d.Add(time.Nanosecond), ok
}

// forgetful has all values of its parent but that of the checks.
type forgetful struct{ context.Context }

func (c forgetful) Value(key any) any {
	if key == (contextKey{}) {
		return nil
	}
	return c.Context.Value(key)
}

// detached has the deadline of parent and all else of Context.
type detached struct {
	context.Context
	parent context.Context
}

func (d detached) Deadline() (time.Time, bool) { return d.parent.Deadline() }

func TestHookFindsBadHooks(t *testing.T) {
	everyCheckWithACall := []string{
		"derived context", "done context", "all values", "nesting", "late event", "concurrency",
	}
	tests := []struct {
		name    string
		newHook func() hooks.Hook
		want    []string
	}{
		{
			"nil hook", func() hooks.Hook { return nil },
			append(slices.Clone(everyCheckWithACall), "attach"),
		},
		{
			"nil context", func() hooks.Hook {
				return funcs{start: func(context.Context, hooks.Op) context.Context { return nil }}
			},
			everyCheckWithACall,
		},
		{
			"panic in Start", func() hooks.Hook {
				return funcs{start: func(context.Context, hooks.Op) context.Context { panic("start") }}
			},
			everyCheckWithACall,
		},
		{
			"panic in End", func() hooks.Hook {
				return funcs{end: func(context.Context, hooks.Op, hooks.Result) { panic("end") }}
			},
			everyCheckWithACall,
		},
		{
			"values lost", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
					if ctx.Done() != nil {
						return ctx
					}
					return context.Background()
				}}
			},
			[]string{"nesting"},
		},
		{
			"one value lost", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context { return forgetful{ctx} }}
			},
			[]string{"derived context", "nesting"},
		},
		{
			"another context", func() hooks.Hook {
				return funcs{start: func(context.Context, hooks.Op) context.Context { return context.Background() }}
			},
			[]string{"derived context", "done context", "nesting"},
		},
		{
			"cancellation lost", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
					if ctx.Err() != nil {
						return ctx
					}
					return detached{parent: ctx, Context: context.WithoutCancel(ctx)}
				}}
			},
			[]string{"derived context"},
		},
		{
			"cause lost", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
					own, cancel := context.WithCancel(context.WithoutCancel(ctx))
					if ctx.Err() != nil {
						cancel()
						return own
					}
					context.AfterFunc(ctx, cancel)
					return detached{parent: ctx, Context: own}
				}}
			},
			[]string{"derived context"},
		},
		{
			"later deadline", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context { return lateContext{ctx} }}
			},
			[]string{"derived context"},
		},
		{
			"context that is done", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
					own, cancel := context.WithCancelCause(ctx)
					cancel(errProbe)
					return own
				}}
			},
			[]string{"derived context"},
		},
		{
			"done context revived", func() hooks.Hook {
				return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
					if ctx.Err() != nil {
						return context.WithoutCancel(ctx)
					}
					return ctx
				}}
			},
			[]string{"done context"},
		},
		{
			"panic when the context is done", func() hooks.Hook {
				return funcs{event: func(ctx context.Context, _ hooks.Event) {
					if err := ctx.Err(); err != nil {
						panic(err)
					}
				}}
			},
			[]string{"done context"},
		},
		{
			"unknown event", func() hooks.Hook {
				var counts [hooks.Waited + 1]atomic.Int64
				return funcs{event: func(_ context.Context, e hooks.Event) { counts[e.Kind].Add(1) }}
			},
			[]string{"all values"},
		},
		{
			"unknown kind of operation", func() hooks.Hook {
				var counts [hooks.KindAttempt + 1]atomic.Int64
				return funcs{start: func(ctx context.Context, op hooks.Op) context.Context {
					counts[op.Kind].Add(1)
					return ctx
				}}
			},
			[]string{"derived context", "all values"},
		},
		{
			"unknown outcome", func() hooks.Hook {
				var counts [hooks.Exited + 1]atomic.Int64
				return funcs{end: func(_ context.Context, _ hooks.Op, res hooks.Result) { counts[res.Outcome].Add(1) }}
			},
			[]string{"all values"},
		},
		{
			"error of an event taken for granted", func() hooks.Hook {
				return funcs{event: func(_ context.Context, e hooks.Event) {
					if e.Kind == hooks.Retry {
						_ = e.Err.Error()
					}
				}}
			},
			[]string{"all values"},
		},
		{
			"error of a result taken for granted", func() hooks.Hook {
				return funcs{end: func(_ context.Context, _ hooks.Op, res hooks.Result) {
					if res.Outcome == hooks.Failed {
						_ = res.Err.Error()
					}
				}}
			},
			[]string{"all values"},
		},
		{
			"an error or a panic taken for granted", func() hooks.Hook {
				return funcs{end: func(_ context.Context, _ hooks.Op, res hooks.Result) {
					if res.Outcome == hooks.Exited && res.Err == nil && res.Panic == nil {
						panic("neither")
					}
				}}
			},
			[]string{"all values"},
		},
		{
			"panic taken for an error", func() hooks.Hook {
				return funcs{end: func(_ context.Context, _ hooks.Op, res hooks.Result) {
					if res.Outcome == hooks.Panicked && res.Panic != nil {
						_ = res.Panic.(error).Error()
					}
				}}
			},
			[]string{"all values"},
		},
		{
			"no operation inside another", func() hooks.Hook {
				type key struct{}
				return funcs{start: func(ctx context.Context, op hooks.Op) context.Context {
					if op.Kind == hooks.KindCall && ctx.Value(key{}) != nil {
						panic("a call inside a call")
					}
					return context.WithValue(ctx, key{}, op)
				}}
			},
			[]string{"nesting"},
		},
		{
			"no event after the end", func() hooks.Hook {
				var open atomic.Int64
				return funcs{
					start: func(ctx context.Context, _ hooks.Op) context.Context { open.Add(1); return ctx },
					end:   func(context.Context, hooks.Op, hooks.Result) { open.Add(-1) },
					event: func(context.Context, hooks.Event) {
						if open.Load() == 0 {
							panic("no call")
						}
					},
				}
			},
			[]string{"late event"},
		},
		{
			"one call at a time", func() hooks.Hook {
				var open atomic.Int64
				return funcs{
					start: func(ctx context.Context, _ hooks.Op) context.Context {
						if open.Add(1) > 3 { // a call, its attempt, a call inside
							panic("too many")
						}
						return ctx
					},
					end: func(context.Context, hooks.Op, hooks.Result) { open.Add(-1) },
				}
			},
			[]string{"concurrency"},
		},
		{
			"no layers", func() hooks.Hook {
				return attacher{attach: func(_ string, layers []hooks.LayerInfo) { _ = layers[0] }}
			},
			[]string{"attach"},
		},
		{
			"one pipeline", func() hooks.Hook {
				var used atomic.Bool
				return attacher{attach: func(string, []hooks.LayerInfo) {
					if used.Swap(true) {
						panic("attached twice")
					}
				}}
			},
			[]string{"attach"},
		},
		{
			"layers changed", func() hooks.Hook {
				return attacher{attach: func(_ string, layers []hooks.LayerInfo) { slices.Reverse(layers) }}
			},
			[]string{"attach"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := failing(t, tt.newHook); !slices.Equal(got, tt.want) {
				t.Errorf("failing checks: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHookAcceptsGoodHooks(t *testing.T) {
	for name, newHook := range map[string]func() hooks.Hook{
		"Nop":      func() hooks.Hook { return hooks.Nop{} },
		"Recorder": func() hooks.Hook { return new(Recorder) },
		"Attacher": func() hooks.Hook { return attacher{attach: func(string, []hooks.LayerInfo) {}} },
		"own value and cancel": func() hooks.Hook {
			type key struct{}
			return funcs{start: func(ctx context.Context, _ hooks.Op) context.Context {
				ctx, cancel := context.WithCancel(context.WithValue(ctx, key{}, 1))
				context.AfterFunc(ctx, cancel)
				return ctx
			}}
		},
	} {
		t.Run(name, func(t *testing.T) { TestHook(t, newHook) })
	}
}

func TestHookReportsGoexit(t *testing.T) {
	var got failures
	p := &probe{reporter: &got, hook: funcs{
		event: func(context.Context, hooks.Event) { runtime.Goexit() },
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.event(t.Context(), hooks.Event{Kind: hooks.Retry})
	}()
	<-done
	if len(got.texts) != 1 {
		t.Errorf("got %q, want one failure", got.texts)
	}
}

// Each check gets a hook of its own, so that one cannot spoil the next.
func TestHookMakesANewHookForEachCheck(t *testing.T) {
	var made int
	TestHook(t, func() hooks.Hook {
		made++
		return hooks.Nop{}
	})
	if want := len(checks()); made != want {
		t.Errorf("made %d hooks, want %d", made, want)
	}
}
