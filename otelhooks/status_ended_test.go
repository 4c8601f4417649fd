package otelhooks_test

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func canceledRows() []row {
	return []row{
		{
			name: "canceled in an attempt", stack: layers(attempts(3)), fn: waits(time.Minute, nil),
			ctx: canceledAfter(500 * time.Millisecond), ends: failedWith(context.Canceled),
			want: `
				payments 0s..500ms unset stoic.call.attempts=1 stoic.call.canceled=true
				  attempt payments #1 0s..500ms unset`,
		},
		{
			name: "canceled in an attempt that fails in its own way", stack: layers(attempts(3)), fn: takes(errBusy),
			ctx: canceledAfter(50 * time.Millisecond), ends: failedWith(context.Canceled),
			want: `
				payments 0s..100ms unset stoic.call.attempts=1 stoic.call.canceled=true
				  attempt payments #1 0s..100ms unset`,
		},
		{
			name: "canceled in the wait before a retry", stack: layers(attempts(3)), fn: takes(errBusy),
			ctx: canceledAfter(500 * time.Millisecond), ends: failedWith(context.Canceled),
			want: `
				payments 0s..500ms unset stoic.call.attempts=1 stoic.call.canceled=true
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "canceled with the result in hand", stack: layers(attempts(3)), fn: takes(nil),
			ctx: canceledAfter(50 * time.Millisecond), ends: succeeded,
			want: `
				payments 0s..100ms unset stoic.call.attempts=1
				  attempt payments #1 0s..100ms unset`,
		},
		{
			name: "canceled in the wait for a token", ctx: canceledAfter(500 * time.Millisecond), ends: failedWith(context.Canceled),
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), dry(ratelimit.Wait(time.Minute))} },
			want: `
				payments 0s..500ms unset stoic.call.attempts=0 stoic.call.canceled=true
				  attempt payments #1 0s..500ms unset stoic.rejection.reason="canceled"`,
		},
		{
			name: "canceled without a retry", stack: layers(deadline.New(time.Minute)), fn: waits(time.Hour, nil),
			ctx: canceledAfter(500 * time.Millisecond), ends: failedWith(context.Canceled),
			want: `payments 0s..500ms unset stoic.call.attempts=1 stoic.call.canceled=true`,
		},
		{
			name: "canceled by somebody else", stack: layers(attempts(3)), fn: takes(context.Canceled, nil), ends: succeeded,
			want: `
				payments 0s..1.2s unset stoic.call.attempts=2
				  attempt payments #1 0s..100ms error "context canceled" error.type="canceled" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`,
		},
		{
			name: "canceled inside the stack", fn: takes(errBusy), ends: failedWith(context.Canceled),
			stack: layers(stoic.PolicyFunc("first of two", func(ctx context.Context, next stoic.Next) error {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(500*time.Millisecond, cancel)
				return next.Do(ctx)
			}), attempts(3)),
			want: `
				payments 0s..500ms error "payments: retry stopped after 1 attempt: context canceled; last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="canceled"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "canceled before the call", stack: layers(attempts(3)), ends: failedWith(context.Canceled),
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
		},
	}
}

func deadlineRows() []row {
	const (
		second  = time.Second
		expired = "context deadline exceeded"
		stopped = "payments: retry stopped after 1 attempt: "
		tooLate = "payments: ratelimit: rate limit reached, and the next token comes after the deadline: the client did not send this call (retry after 8.9s)"
	)
	return []row{
		{
			name: "the caller's deadline in an attempt", stack: layers(attempts(3)), fn: waits(time.Minute, nil),
			ctx: expiresAfter(2 * second), ends: failedWith(context.DeadlineExceeded),
			want: `
				payments 0s..2s error "payments: retry stopped after 1 attempt: context deadline exceeded; last failure: context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="deadline"
				  attempt payments #1 0s..2s error "context deadline exceeded" error.type="deadline_exceeded"`,
		},
		{
			name: "the caller's deadline before ours", stack: layers(deadline.New(time.Minute), attempts(3), deadline.New(10*second)),
			fn: waits(time.Minute, nil), ctx: expiresAfter(2 * second),
			ends: func(e end) bool {
				return failedWith(context.DeadlineExceeded)(e) && !errors.Is(e.err, deadline.ErrExceeded)
			},
			want: `
				payments 0s..2s error "payments: retry stopped after 1 attempt: context deadline exceeded; last failure: context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="deadline"
				  attempt payments #1 0s..2s error "context deadline exceeded" error.type="deadline_exceeded"`,
		},
		{
			name: "the caller's deadline without a retry", stack: layers(), fn: waits(time.Minute, nil),
			ctx: expiresAfter(2 * second), ends: failedWith(context.DeadlineExceeded),
			want: `payments 0s..2s error "context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=1`,
		},
		{
			name: "the next attempt would be too late", stack: layers(attempts(3)), fn: takes(errBusy),
			ctx: expiresAfter(1100 * time.Millisecond), ends: failedWith(context.DeadlineExceeded),
			want: `
				payments 0s..100ms error "payments: retry stopped after 1 attempt: the next attempt is due in 1s, the deadline in 1s; last failure: 503 Service Unavailable" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="deadline"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"`,
		},
		{
			name: "the next token would be too late", fn: takes(errBusy),
			stack: layers(attempts(3), ratelimit.New(ratelimit.Per(1, 10*second), 1, ratelimit.Wait(time.Minute))),
			ctx:   expiresAfter(5 * second), ends: failedWith(context.DeadlineExceeded),
			want: `
				payments 0s..1.1s error "` + stopped + tooLate + `; last failure: 503 Service Unavailable" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.1s error "` + tooLate + `" error.type="deadline_too_short" stoic.attempt.retryable=false stoic.rejection.reason="deadline_too_short" stoic.retry.delay=1.0`,
		},
		{
			name: "our deadline on the call", stack: layers(deadline.New(1500*time.Millisecond), attempts(3)), fn: waits(second, errBusy),
			ends: failedWith(context.DeadlineExceeded),
			want: `
				payments 0s..1s error "payments: retry stopped after 1 attempt: the next attempt is due in 1s, the deadline in 500ms; last failure: 503 Service Unavailable" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="deadline"
				  attempt payments #1 0s..1s error "503 Service Unavailable" error.type="503"`,
		},
		{
			name: "our deadline on the call in an attempt", stack: layers(deadline.New(1500*time.Millisecond), attempts(3)),
			fn: waits(2*second, errBusy), ends: failedWith(deadline.ErrExceeded),
			want: `
				payments 0s..1.5s error "payments: deadline of 1.5s exceeded: payments: retry stopped after 1 attempt: context deadline exceeded; last failure: context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=1 stoic.retry.stop_reason="deadline"
				  attempt payments #1 0s..1.5s error "` + expired + `" error.type="deadline_exceeded"`,
		},
		{
			name: "our deadline on each attempt", stack: layers(attempts(2), deadline.New(second)), fn: waits(time.Minute, nil),
			ends: failedWith(deadline.ErrExceeded),
			want: `
				payments 0s..3s error "payments: deadline of 1s exceeded: context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=2 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..1s error "payments: deadline of 1s exceeded: context deadline exceeded" error.type="deadline_exceeded" stoic.attempt.retryable=true
				  attempt payments #2 2s..3s error "payments: deadline of 1s exceeded: context deadline exceeded" error.type="deadline_exceeded" stoic.attempt.retryable=true stoic.retry.delay=1.0`,
		},
		{
			name: "a func that does not heed its deadline, and fails", stack: layers(attempts(2), deadline.New(50*time.Millisecond)),
			fn: takes(errBusy, nil), ends: succeeded,
			want: `
				payments 0s..1.2s unset stoic.call.attempts=2
				  attempt payments #1 0s..100ms error "payments: deadline of 50ms exceeded: 503 Service Unavailable" error.type="deadline_exceeded" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`,
		},
		{
			name: "our deadline without a retry", stack: layers(deadline.New(second)), fn: waits(time.Minute, nil),
			ends: failedWith(deadline.ErrExceeded),
			want: `payments 0s..1s error "payments: deadline of 1s exceeded: context deadline exceeded" error.type="deadline_exceeded" stoic.call.attempts=1`,
		},
	}
}

func panicRows() []row {
	throws := func(v any) stoic.Func {
		return func(context.Context) error {
			time.Sleep(100 * time.Millisecond)
			panic(v)
		}
	}
	panicked := func(v any) func(end) bool { return func(e end) bool { return e.panicked == v && e.err == nil } }
	type ticket struct{ secret string }
	return []row{
		{
			name: "panic with an error", stack: layers(attempts(3)), fn: throws(errBoom), ends: panicked(errBoom),
			want: `
				payments 0s..100ms error "boom" error.type="panic" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error "boom" error.type="panic"`,
		},
		{
			name: "panic with a string", stack: layers(attempts(3)), fn: throws("out of paper"), ends: panicked("out of paper"),
			want: `
				payments 0s..100ms error "out of paper" error.type="panic" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error "out of paper" error.type="panic"`,
		},
		{
			name: "panic with another value", stack: layers(attempts(3)), fn: throws(ticket{"hunter2"}), ends: panicked(ticket{"hunter2"}),
			want: `
				payments 0s..100ms error error.type="panic" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error error.type="panic"`,
		},
		{
			name: "panic without a retry", stack: layers(), fn: throws("out of paper"), ends: panicked("out of paper"),
			want: `payments 0s..100ms error "out of paper" error.type="panic" stoic.call.attempts=1`,
		},
		{
			name: "panic in a resend", stack: layers(attempts(3)), ends: panicked("out of paper"),
			fn: func(ctx context.Context) error {
				if stoic.Attempt(ctx) == 2 {
					panic("out of paper")
				}
				return errBusy
			},
			want: `
				payments 0s..1s error "out of paper" error.type="panic" stoic.call.attempts=2
				  attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 1s..1s error "out of paper" error.type="panic" stoic.retry.delay=1.0`,
		},
		{
			name: "panic in a predicate", fn: takes(errBusy), ends: panicked("no idea"),
			stack: layers(attempts(3, retry.If(func(error) bool { panic("no idea") }))),
			want: `
				payments 0s..100ms error "no idea" error.type="panic" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"`,
		},
		{
			name: "panic in a predicate that took its time", fn: takes(errBusy), ends: panicked("no idea"),
			stack: layers(attempts(3, retry.If(func(error) bool { time.Sleep(3 * time.Second); panic("no idea") }))),
			want: `
				payments 0s..3.1s error "no idea" error.type="panic" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"`,
		},
		{
			name: "goexit", stack: layers(attempts(3)), ends: func(e end) bool { return e.exited },
			fn: func(context.Context) error {
				time.Sleep(100 * time.Millisecond)
				runtime.Goexit()
				return nil
			},
			want: `
				payments 0s..100ms error error.type="goexit" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error error.type="goexit"`,
		},
		{
			name: "goexit in a predicate", fn: takes(errBusy), ends: func(e end) bool { return e.exited },
			stack: layers(attempts(3, retry.If(func(error) bool { runtime.Goexit(); return true }))),
			want: `
				payments 0s..100ms error error.type="goexit" stoic.call.attempts=1
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"`,
		},
	}
}
