package deadline_test

import (
	"context"
	"time"
)

// plainUses are those of package context while the layer runs.
var plainUses = []use{
	{"Deadline and Value", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			at, ok := ctx.Deadline()
			tr.add("deadline in %v, %v; value %v, %v", time.Until(at), ok, ctx.Value(key{}), ctx.Value("missing"))
			return nil
		})
	}, []string{"0s deadline in 1s, true; value value, <nil>"}},

	{"Done is closed at the deadline", func(parent context.Context, in frame, tr *trace) {
		err := in(parent, time.Second, func(ctx context.Context) error {
			tr.state(ctx, "before")
			<-ctx.Done()
			tr.state(ctx, "after")
			return nil
		})
		tr.add("%v", err)
	}, []string{
		"0s before: live, <nil>, cause <nil>",
		"1s after: done, context deadline exceeded, cause context deadline exceeded",
		"1s <nil>",
	}},

	{"Err alone is polled", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(300 * time.Millisecond)
			}
			tr.add("%v", ctx.Err())
			tr.state(ctx, "then")
			return nil
		})
	}, []string{
		"1.2s context deadline exceeded",
		"1.2s then: done, context deadline exceeded, cause context deadline exceeded",
	}},

	{"Err and Cause first, when the time is up, and the parent ends later", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithCancelCause(parent)
		_ = in(parent, time.Second, func(ctx context.Context) error {
			time.Sleep(1100 * time.Millisecond)
			tr.add("%v, %v, %v", ctx.Err(), context.Cause(ctx), ctx.Value(key{}))
			cancel(errDown)
			tr.add("%v, %v, %v", ctx.Err(), context.Cause(ctx), ctx.Value(key{}))
			tr.state(ctx, "then")
			return nil
		})
	}, []string{
		"1.1s context deadline exceeded, context deadline exceeded, value",
		"1.1s context deadline exceeded, context deadline exceeded, value",
		"1.1s then: done, context deadline exceeded, cause context deadline exceeded",
	}},

	{"Err and Cause first, when the parent has ended", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithCancelCause(parent)
		_ = in(parent, time.Second, func(ctx context.Context) error {
			time.Sleep(300 * time.Millisecond)
			tr.add("%v, %v", ctx.Err(), context.Cause(ctx))
			cancel(errDown)
			tr.add("%v, %v, %v", ctx.Err(), context.Cause(ctx), ctx.Value(key{}))
			time.Sleep(time.Second)
			tr.state(ctx, "when the time is up too")
			return nil
		})
	}, []string{
		"300ms <nil>, <nil>",
		"300ms context canceled, down, value",
		"1.3s when the time is up too: done, context canceled, cause down",
	}},

	{"the parent's deadline is earlier and has a cause", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithTimeoutCause(parent, 300*time.Millisecond, errDown)
		defer cancel()
		_ = in(parent, time.Second, func(ctx context.Context) error {
			at, _ := ctx.Deadline()
			tr.add("deadline in %v", time.Until(at))
			<-ctx.Done()
			tr.state(ctx, "after")
			return nil
		})
	}, []string{"0s deadline in 300ms", "300ms after: done, context deadline exceeded, cause down"}},

	{"the parent is cancelled with a cause", func(parent context.Context, in frame, tr *trace) {
		parent, cancel := context.WithCancelCause(parent)
		time.AfterFunc(300*time.Millisecond, func() { cancel(errDown) })
		_ = in(parent, time.Second, func(ctx context.Context) error {
			<-ctx.Done()
			tr.state(ctx, "after")
			time.Sleep(time.Second)
			tr.state(ctx, "when the time is up too")
			return nil
		})
	}, []string{
		"300ms after: done, context canceled, cause down",
		"1.3s when the time is up too: done, context canceled, cause down",
	}},

	{"WithCancel child", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			child, cancel := context.WithCancelCause(ctx)
			other, stop := context.WithCancel(ctx)
			defer stop()
			cancel(errDown)
			tr.state(child, "cancelled child")
			tr.state(other, "its sibling")
			tr.state(ctx, "context")
			<-other.Done()
			tr.state(other, "sibling")
			return nil
		})
	}, []string{
		"0s cancelled child: done, context canceled, cause down",
		"0s its sibling: live, <nil>, cause <nil>",
		"0s context: live, <nil>, cause <nil>",
		"1s sibling: done, context deadline exceeded, cause context deadline exceeded",
	}},

	{"WithTimeout children", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			short, cancel := context.WithTimeoutCause(ctx, 300*time.Millisecond, errDown)
			defer cancel()
			long, cancel := context.WithTimeoutCause(ctx, time.Hour, errDown)
			defer cancel()
			at, _ := long.Deadline()
			tr.add("the long one ends in %v", time.Until(at))
			<-short.Done()
			tr.state(short, "short")
			tr.state(ctx, "context")
			<-long.Done()
			tr.state(long, "long")
			return nil
		})
	}, []string{
		"0s the long one ends in 1s",
		"300ms short: done, context deadline exceeded, cause down",
		"300ms context: live, <nil>, cause <nil>",
		"1s long: done, context deadline exceeded, cause context deadline exceeded",
	}},

	{"WithValue child", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			child := context.WithValue(ctx, key{}, "own")
			tr.add("%v, %v", child.Value(key{}), ctx.Value(key{}))
			<-child.Done()
			tr.state(child, "child")
			tr.add("%v", child.Value(key{}))
			return nil
		})
	}, []string{
		"0s own, value",
		"1s child: done, context deadline exceeded, cause context deadline exceeded",
		"1s own",
	}},

	{"WithoutCancel child outlives it", func(parent context.Context, in frame, tr *trace) {
		var child context.Context
		_ = in(parent, time.Second, func(ctx context.Context) error {
			child = context.WithoutCancel(ctx)
			_, timed := child.Deadline()
			tr.add("deadline %v, value %v, Done is nil: %v", timed, child.Value(key{}), child.Done() == nil)
			<-ctx.Done()
			tr.state(child, "after the deadline")
			return nil
		})
		grandchild, cancel := context.WithTimeout(child, time.Second)
		defer cancel()
		tr.state(grandchild, "after the return")
		<-grandchild.Done()
		tr.state(grandchild, "at its own deadline")
	}, []string{
		"0s deadline false, value value, Done is nil: true",
		"1s after the deadline: live, <nil>, cause <nil>",
		"1s after the return: live, <nil>, cause <nil>",
		"2s at its own deadline: done, context deadline exceeded, cause context deadline exceeded",
	}},

	{"AfterFunc at the deadline, and one that was stopped", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			context.AfterFunc(ctx, func() { tr.add("ran, %v", ctx.Err()) })
			stop := context.AfterFunc(ctx, func() { tr.add("the stopped one ran") })
			tr.add("stop %v", stop())
			tr.add("stop again %v", stop())
			time.Sleep(2 * time.Second)
			return nil
		})
	}, []string{"0s stop true", "0s stop again false", "1s ran, context deadline exceeded"}},

	{"one in another", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, 2*time.Second, func(outer context.Context) error {
			_ = in(outer, time.Second, func(inner context.Context) error {
				<-inner.Done()
				tr.state(inner, "inner")
				tr.state(outer, "outer")
				return nil
			})
			_ = in(outer, time.Hour, func(inner context.Context) error {
				at, _ := inner.Deadline()
				tr.add("the second one ends in %v", time.Until(at))
				<-inner.Done()
				tr.state(inner, "second")
				return nil
			})
			return nil
		})
	}, []string{
		"1s inner: done, context deadline exceeded, cause context deadline exceeded",
		"1s outer: live, <nil>, cause <nil>",
		"1s the second one ends in 1s",
		"2s second: done, context deadline exceeded, cause context deadline exceeded",
	}},
}
