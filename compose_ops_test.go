package stoic_test

import (
	"context"
	"runtime"
	"time"
)

// composeOp is an operation and its caller. runs is the number of the run in the
// cell, from 1.
type composeOp struct {
	name   string
	want   func(row composeRow) []string
	run    func(ctx context.Context, runs int) error
	limit  time.Duration // the caller's deadline
	cancel time.Duration // when the caller cancels
}

var composeOps = []composeOp{
	{
		name: "succeeds", want: func(row composeRow) []string { return row.succeeds },
		run: func(context.Context, int) error { return nil },
	},
	{
		name: "fails always", want: func(row composeRow) []string { return row.fails },
		run: func(context.Context, int) error { return errCompose },
	},
	{
		name: "fails on the first run of all", want: func(row composeRow) []string { return row.recovers },
		run: func(_ context.Context, runs int) error {
			if runs == 1 {
				return errCompose
			}
			return nil
		},
	},
	{
		name: "hangs until its context ends, the caller has 10 s", want: func(row composeRow) []string { return row.hangs },
		run: composeHang, limit: 10 * time.Second,
	},
	{
		name: "panics", want: func(row composeRow) []string { return row.panics },
		run: func(context.Context, int) error { panic(composePanic) },
	},
	{
		name: "exits", want: func(row composeRow) []string { return row.exits },
		run: func(context.Context, int) error {
			runtime.Goexit()
			return nil
		},
	},
	{
		// The error value says nothing about the cancel: the context does.
		name: "fails when the caller cancels after 50 ms", want: func(row composeRow) []string { return row.cancels },
		run: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return errCompose
		},
		cancel: 50 * time.Millisecond,
	},
	{
		name: "hangs until its context ends, the caller has 600 ms", want: func(row composeRow) []string { return row.expires },
		run: composeHang, limit: 600 * time.Millisecond,
	},
	{
		name: "fails always, the caller has 250 ms", want: func(row composeRow) []string { return row.hurries },
		run: func(context.Context, int) error { return errCompose }, limit: 250 * time.Millisecond,
	},
}

func composeHang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func (o composeOp) caller(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case o.limit > 0:
		return context.WithTimeout(ctx, o.limit)
	case o.cancel > 0:
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(o.cancel, func() { cancel(errComposeCause) })
		return ctx, func() {
			timer.Stop()
			cancel(nil)
		}
	default:
		return ctx, func() {}
	}
}
