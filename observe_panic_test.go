package stoic_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func is(want any) func(any) bool { return func(v any) bool { return v == want } }

func TestPanicReachesTheCallerUnchanged(t *testing.T) {
	var empty []int
	tests := []struct {
		name  string
		panic func()
		same  func(v any) bool
	}{
		{"value", func() { panic("boom") }, is("boom")},
		{"error", func() { panic(errBoom) }, is(errBoom)},
		{"http.ErrAbortHandler", func() { panic(http.ErrAbortHandler) }, is(http.ErrAbortHandler)},
		{"runtime error", func() { _ = empty[1] }, func(v any) bool {
			err, ok := v.(runtime.Error)
			return ok && err.Error() == "runtime error: index out of range [1] with length 0"
		}},
		{"nil", func() { panic(nil) }, func(v any) bool {
			_, ok := v.(*runtime.PanicNilError)
			return ok
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var rec hookstest.Recorder
			p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(3, 0))
			v := panicOf(func() {
				_ = p.Do(t.Context(), func(context.Context) error {
					tt.panic()
					return nil
				})
			})
			if !tt.same(v) {
				t.Errorf("the caller recovers %v", v)
			}
			wantLines(t, rec.Strings(), []string{
				"start call payments #1", "start attempt payments #1",
				"end attempt payments #1 panicked", "end call payments #1 panicked",
			})
			for _, e := range rec.All() {
				if e.Method == hookstest.End && (e.Result.Panic != v || e.Result.Err != nil) {
					t.Errorf("%v with %+v, want the value of the panic", e, e.Result)
				}
			}
			if err := rec.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPanicOfAResendEndsWhatIsOpen(t *testing.T) {
	var rec hookstest.Recorder
	p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(3, 0))
	v := panicOf(func() {
		_ = p.Do(t.Context(), func(ctx context.Context) error {
			if stoic.Attempt(ctx) == 2 {
				panic("boom")
			}
			return errBoom
		})
	})
	if v != "boom" {
		t.Errorf("the caller recovers %v", v)
	}
	wantLines(t, rec.Strings(), []string{
		"start call payments #1",
		"start attempt payments #1", "end attempt payments #1 failed", "retry retry payments #1 0s",
		"start attempt payments #2", "end attempt payments #2 panicked",
		"end call payments #1 panicked",
	})
}

func TestGoexitEndsWhatIsOpen(t *testing.T) {
	var rec hookstest.Recorder
	p := stoic.MustNew("payments", stoic.Observe(&rec), attempts(3, 0))
	if onGoroutine(func() { _ = p.Do(context.Background(), exit) }) {
		t.Error("the goroutine went on")
	}
	wantLines(t, rec.Strings(), []string{
		"start call payments #1", "start attempt payments #1",
		"end attempt payments #1 exited", "end call payments #1 exited",
	})
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
}

// A hook that panics at one of its calls, beside a recorder further out: the panic
// reaches the caller, and whatever has begun is ended.
func TestPanicOfAHook(t *testing.T) {
	tests := []struct {
		name string
		hook *scripted
		want []string
	}{
		{"start of the call", startOf(hooks.KindCall, func() { panic("hook") }), []string{
			"start call payments #1", "end call payments #1 panicked",
		}},
		{"start of the attempt", startOf(hooks.KindAttempt, func() { panic("hook") }), []string{
			"start call payments #1", "start attempt payments #1",
			"end attempt payments #1 panicked", "end call payments #1 panicked",
		}},
		{"end of the attempt", endOf(hooks.KindAttempt, func() { panic("hook") }), []string{
			"start call payments #1", "start attempt payments #1",
			"end attempt payments #1 failed", "end call payments #1 panicked",
		}},
		{"end of the call", endOf(hooks.KindCall, func() { panic("hook") }), []string{
			"start call payments #1", "start attempt payments #1",
			"end attempt payments #1 failed", "gave_up retry payments #1 max_attempts",
			"end call payments #1 panicked",
		}},
		{"event", &scripted{event: func(context.Context, hooks.Event) { panic("hook") }}, []string{
			"start call payments #1", "start attempt payments #1",
			"end attempt payments #1 failed", "gave_up retry payments #1 max_attempts",
			"end call payments #1 panicked",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var rec hookstest.Recorder
			p := stoic.MustNew("payments", stoic.Observe(&rec), stoic.Observe(tt.hook), attempts(1, 0))
			if v := panicOf(func() { _ = p.Do(t.Context(), fail) }); v != "hook" {
				t.Errorf("the caller recovers %v, want the panic of the hook", v)
			}
			wantLines(t, rec.Strings(), tt.want)
			if err := rec.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func startOf(kind hooks.OpKind, f func()) *scripted {
	return &scripted{start: func(ctx context.Context, op hooks.Op) context.Context {
		if op.Kind == kind {
			f()
		}
		return ctx
	}}
}

func endOf(kind hooks.OpKind, f func()) *scripted {
	return &scripted{end: func(_ context.Context, op hooks.Op, _ hooks.Result) {
		if op.Kind == kind {
			f()
		}
	}}
}

// When the operation and the End of a hook both panic, the operation's is the one to
// see.
func TestPanicOfTheOperationIsNotHiddenByThatOfAHook(t *testing.T) {
	for _, kind := range []hooks.OpKind{hooks.KindCall, hooks.KindAttempt} {
		p := stoic.MustNew("payments", stoic.Observe(endOf(kind, func() { panic("hook") })), attempts(1, 0))
		v := panicOf(func() { _ = p.Do(t.Context(), func(context.Context) error { panic(errBoom) }) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v: the caller recovers %v, want the operation's panic", kind, v)
		}
	}
}

func TestGoexitOfAHook(t *testing.T) {
	var rec hookstest.Recorder
	op := &operation{}
	p := stoic.MustNew("payments", stoic.Observe(&rec), stoic.Observe(startOf(hooks.KindAttempt, runtime.Goexit)), attempts(1, 0))
	if onGoroutine(func() { _ = p.Do(context.Background(), op.run) }) {
		t.Error("the goroutine went on")
	}
	op.want(t, 0)
	wantLines(t, rec.Strings(), []string{
		"start call payments #1", "start attempt payments #1",
		"end attempt payments #1 exited", "end call payments #1 exited",
	})
}
