package deadline_test

import (
	"context"
	"sync"
	"testing/synctest"
	"time"
)

// returnUses are those after the layer has returned, and around that.
var returnUses = []use{
	{"AfterFunc at the return", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			context.AfterFunc(ctx, func() { tr.add("ran, %v", ctx.Err()) })
			time.Sleep(300 * time.Millisecond)
			return nil
		})
	}, []string{"300ms ran, context canceled"}},

	{"children end at the return", func(parent context.Context, in frame, tr *trace) {
		var child, timed, value context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			var cancel context.CancelFunc
			child, cancel = context.WithCancel(ctx)
			_ = cancel // never called
			timed, cancel = context.WithTimeout(ctx, time.Hour)
			_ = cancel
			value = context.WithValue(ctx, key{}, "own")
			time.Sleep(300 * time.Millisecond)
			return nil
		})
		tr.state(child, "child")
		tr.state(timed, "with a timeout")
		tr.state(value, "with a value")
	}, []string{
		"300ms child: done, context canceled, cause context canceled",
		"300ms with a timeout: done, context canceled, cause context canceled",
		"300ms with a value: done, context canceled, cause context canceled",
	}},

	{"first use after the return", func(parent context.Context, in frame, tr *trace) {
		var kept context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			kept = ctx
			return nil
		})
		at, ok := kept.Deadline()
		tr.add("deadline in %v, %v; value %v", time.Until(at), ok, kept.Value(key{}))
		tr.state(kept, "context")
		child, cancel := context.WithTimeout(kept, time.Hour)
		defer cancel()
		tr.state(child, "child")
		stop := context.AfterFunc(kept, func() { tr.add("AfterFunc ran") })
		synctest.Wait()
		tr.add("stop %v", stop())
		time.Sleep(2 * time.Second)
		tr.state(kept, "later")
	}, []string{
		"0s deadline in 1s, true; value value",
		"0s context: done, context canceled, cause context canceled",
		"0s child: done, context canceled, cause context canceled",
		"0s AfterFunc ran",
		"0s stop false",
		"2s later: done, context canceled, cause context canceled",
	}},

	{"Err first after the return", func(parent context.Context, in frame, tr *trace) {
		var kept context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			kept = ctx
			return nil
		})
		tr.add("%v, %v", kept.Err(), context.Cause(kept))
		tr.state(kept, "then")
	}, []string{
		"0s context canceled, context canceled",
		"0s then: done, context canceled, cause context canceled",
	}},

	{"Cause of a child first after the return", func(parent context.Context, in frame, tr *trace) {
		var kept context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			kept = context.WithValue(ctx, key{}, "own")
			return nil
		})
		tr.add("%v", context.Cause(kept))
		tr.state(kept, "then")
	}, []string{
		"0s context canceled",
		"0s then: done, context canceled, cause context canceled",
	}},

	{"the parent is cancelled with a cause after the return", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithCancelCause(parent)
		var kept context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			kept = ctx
			return nil
		})
		cancel(errDown)
		tr.add("%v", context.Cause(kept))
		tr.state(kept, "then")
	}, []string{
		"0s context canceled",
		"0s then: done, context canceled, cause context canceled",
	}},

	{"the return ends it when the parent's deadline is earlier", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithTimeoutCause(parent, 300*time.Millisecond, errDown)
		defer cancel()
		var kept context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			kept = ctx
			return nil
		})
		tr.state(kept, "context")
		tr.state(parent, "parent")
	}, []string{
		"0s context: done, context canceled, cause context canceled",
		"0s parent: live, <nil>, cause <nil>",
	}},

	{"a panic ends it", func(parent context.Context, in frame, tr *trace) {
		var kept context.Context
		func() {
			defer func() { tr.add("recovered %v", recover()) }()
			_ = in(parent, time.Second, func(ctx context.Context) error {
				kept = ctx
				panic("p")
			})
		}()
		tr.state(kept, "context")
	}, []string{"0s recovered p", "0s context: done, context canceled, cause context canceled"}},

	{"what is inside runs detached", func(parent context.Context, in frame, tr *trace) {
		var wg sync.WaitGroup
		_ = in(parent, time.Second, func(outer context.Context) error {
			wg.Go(func() {
				_ = in(outer, 500*time.Millisecond, func(inner context.Context) error {
					<-inner.Done()
					tr.state(inner, "inner, left behind")
					return inner.Err()
				})
			})
			time.Sleep(300 * time.Millisecond)
			return nil
		})
		wg.Wait()
	}, []string{"300ms inner, left behind: done, context canceled, cause context canceled"}},

	{"a goroutine that is left behind derives a context", func(parent context.Context, in frame, tr *trace) {
		var wg sync.WaitGroup
		returned := make(chan struct{})
		_ = in(parent, time.Second, func(ctx context.Context) error {
			wg.Go(func() {
				<-returned
				child, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				tr.state(child, "child")
				tr.state(ctx, "context")
			})
			return nil
		})
		close(returned)
		wg.Wait()
	}, []string{
		"0s child: done, context canceled, cause context canceled",
		"0s context: done, context canceled, cause context canceled",
	}},
}
