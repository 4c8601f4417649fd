package otelhooks_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// row is one way in which a call can end, and the spans that tell so.
type row struct {
	name  string
	ctx   func(context.Context) (context.Context, context.CancelFunc) // that of the caller, from t.Context()
	stack func() []stoic.Policy                                       // inside the Observe layer
	fn    stoic.Func
	ends  func(end) bool // what the caller gets
	want  string
}

func succeeded(e end) bool { return e == end{} }

func failedWith(target error) func(end) bool {
	return func(e end) bool { return errors.Is(e.err, target) && e.panicked == nil && !e.exited }
}

func layers(all ...stoic.Policy) func() []stoic.Policy {
	return func() []stoic.Policy { return all }
}

func canceledAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(d, func() { cancel(errors.New("the user left")) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	}
}

func expiresAfter(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

// saidError says what it is.
type saidError struct{ text, kind string }

func (e *saidError) Error() string     { return e.text }
func (e *saidError) ErrorType() string { return e.kind }

var (
	errBusy = &saidError{"503 Service Unavailable", "503"}
	errGone = &saidError{"410 Gone", "410"}
)

// open is a breaker that has just opened.
func open() *breaker.Breaker {
	b := breaker.New("db", breaker.ConsecutiveFailures(1))
	_ = stoic.MustNew("other", b).Do(context.Background(), func(context.Context) error { return errBoom })
	return b
}

// forced is a breaker that was opened by hand.
func forced() *breaker.Breaker {
	b := breaker.New("db")
	b.ForceOpen()
	return b
}

// probing is a breaker whose only probe is out for ten more seconds.
func probing() *breaker.Breaker {
	b := breaker.New("db", breaker.ConsecutiveFailures(1), breaker.OpenFor(time.Second))
	p := stoic.MustNew("other", b)
	_ = p.Do(context.Background(), func(context.Context) error { return errBoom })
	time.Sleep(time.Second + 1)
	out := make(chan struct{})
	go func() {
		_ = p.Do(context.Background(), func(context.Context) error {
			close(out)
			time.Sleep(10 * time.Second)
			return nil
		})
	}()
	<-out
	return b
}

// dry is a limiter of a token in ten seconds that has none.
func dry(opts ...ratelimit.Option) *ratelimit.Limiter {
	l := ratelimit.New(ratelimit.Per(1, 10*time.Second), 1, opts...)
	_ = stoic.MustNew("other", l).Do(context.Background(), func(context.Context) error { return nil })
	return l
}

func noBudget() *budget.Budget { return budget.New(budget.Ratio(0), budget.MinPerSecond(0)) }

// rows are those of the table of outcomes, and more of each kind.
func rows() []row {
	var all []row
	for _, some := range [][]row{answerRows(), failureRows(), refusalRows(), canceledRows(), deadlineRows(), panicRows()} {
		all = append(all, some...)
	}
	return all
}

func answerRows() []row {
	errNone := errors.New("no rows")
	return []row{
		{
			name: "success", stack: layers(attempts(3)), fn: takes(nil), ends: succeeded,
			want: `
				payments 0s..100ms unset stoic.call.attempts=1
				  attempt payments #1 0s..100ms unset`,
		},
		{
			name: "success without a retry", stack: layers(deadline.New(time.Second)), fn: takes(nil), ends: succeeded,
			want: `payments 0s..100ms unset stoic.call.attempts=1`,
		},
		{
			name: "recovered", stack: layers(attempts(3)), fn: takes(errBusy, errBoom, nil), ends: succeeded,
			want: `
				payments 0s..2.3s unset stoic.call.attempts=3
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.2s error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true stoic.retry.delay=1.0
				  attempt payments #3 2.2s..2.3s unset stoic.retry.delay=1.0`,
		},
		{
			name: "recovered without a wait", stack: layers(retry.New(retry.Constant(0))), fn: takes(errBusy, nil), ends: succeeded,
			want: `
				payments 0s..200ms unset stoic.call.attempts=2
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 100ms..200ms unset stoic.retry.delay=0.0`,
		},
		{
			name: "an answer that is an error", fn: takes(errNone), ends: failedWith(errNone),
			stack: layers(attempts(3), stoic.Benign(func(err error) bool { return errors.Is(err, errNone) })),
			want: `
				payments 0s..100ms unset stoic.call.attempts=1
				  attempt payments #1 0s..100ms unset`,
		},
	}
}

func failureRows() []row {
	permanent := retry.Permanent(errGone)
	errSleep := errors.New("no time to sleep")
	return []row{
		{
			name: "failure without a retry", stack: layers(), fn: takes(errBusy), ends: failedWith(errBusy),
			want: `payments 0s..100ms error "503 Service Unavailable" error.type="503" stoic.call.attempts=1`,
		},
		{
			name: "permanent", stack: layers(attempts(3)), fn: takes(permanent), ends: failedWith(errGone),
			want: `
				payments 0s..100ms error "410 Gone" error.type="410" stoic.call.attempts=1 stoic.retry.stop_reason="not_retryable"
				  attempt payments #1 0s..100ms error "410 Gone" error.type="410" stoic.attempt.retryable=false`,
		},
		{
			name: "not worth a retry", fn: takes(errBusy, errGone), ends: failedWith(errGone),
			stack: layers(attempts(3, retry.If(func(err error) bool { return !errors.Is(err, errGone) }))),
			want: `
				payments 0s..1.2s error "410 Gone" error.type="410" stoic.call.attempts=2 stoic.retry.stop_reason="not_retryable"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.2s error "410 Gone" error.type="410" stoic.attempt.retryable=false stoic.retry.delay=1.0`,
		},
		{
			name: "not to be repeated", stack: layers(attempts(3)), fn: takes(errBusy), ends: failedWith(errBusy),
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return stoic.WithNonIdempotent(ctx), func() {}
			},
			want: `
				payments 0s..100ms error "503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="non_idempotent"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=false`,
		},
		{
			name: "exhausted", stack: layers(attempts(3)), fn: takes(errBoom, errBoom, errBusy), ends: failedWith(errBusy),
			want: `
				payments 0s..2.3s error "503 Service Unavailable" error.type="503" stoic.call.attempts=3 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..100ms error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true
				  attempt payments #2 1.1s..1.2s error "boom" error.type="*errors.errorString" stoic.attempt.retryable=true stoic.retry.delay=1.0
				  attempt payments #3 2.2s..2.3s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0`,
		},
		{
			name: "exhausted at the first", stack: layers(attempts(1)), fn: takes(errBusy), ends: failedWith(errBusy),
			want: `
				payments 0s..100ms error "503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "the sleep fails", fn: takes(errBusy), ends: failedWith(errSleep),
			stack: layers(attempts(3, retry.Sleep(func(context.Context, time.Duration) error { return errSleep }))),
			want: `
				payments 0s..100ms error "payments: retry stopped after 1 attempt: no time to sleep; last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="sleep"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "a failure of another layer outside the retry", fn: takes(errBusy), ends: failedWith(errGone),
			stack: layers(stoic.PolicyFunc("fallback", func(ctx context.Context, next stoic.Next) error {
				return errors.Join(errGone, next.Do(ctx))
			}), attempts(1)),
			want: `
				payments 0s..100ms error "410 Gone\n503 Service Unavailable" error.type="410" stoic.call.attempts=1 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
	}
}

func refusalRows() []row {
	const (
		isOpen  = `payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 5s)`
		probed  = `payments: breaker \"db\": circuit breaker is half-open, and all its probes are out: the client did not send this call`
		limited = `payments: ratelimit: rate limit reached: the client did not send this call (retry after 10s)`
		tooLate = `payments: ratelimit: rate limit reached, and the next token comes after the deadline: the client did not send this call (retry after 10s)`
	)
	return []row{
		{
			name: "breaker open inside the retry", ends: failedWith(breaker.ErrOpen),
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), open()} },
			want: fmt.Sprintf(`
				payments 0s..0s error "%[1]s" error.type="circuit_open" stoic.call.attempts=0 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..0s error "%[1]s" error.type="circuit_open" stoic.attempt.retryable=false stoic.rejection.reason="circuit_open"`, isOpen),
		},
		{
			name: "breaker open outside the retry", ends: failedWith(breaker.ErrOpen),
			stack: func() []stoic.Policy { return []stoic.Policy{open(), attempts(3)} },
			want:  fmt.Sprintf(`payments 0s..0s error "%s" error.type="circuit_open" stoic.call.attempts=0 stoic.rejection.reason="circuit_open"`, isOpen),
		},
		{
			name: "breaker forced open", ends: failedWith(breaker.ErrOpen),
			stack: func() []stoic.Policy { return []stoic.Policy{forced(), attempts(3)} },
			want: `
				payments 0s..0s error "payments: breaker \"db\": circuit breaker is forced open: the client did not send this call" error.type="circuit_open" stoic.call.attempts=0 stoic.rejection.reason="circuit_open"
				  ! stoic.breaker.state_change 0s stoic.breaker.previous_state="closed" stoic.breaker.state="open" stoic.policy.name="db"`,
		},
		{
			name: "breaker opens inside the retry", fn: takes(errBusy), ends: failedWith(breaker.ErrOpen),
			stack: func() []stoic.Policy {
				return []stoic.Policy{attempts(3), breaker.New("db", breaker.ConsecutiveFailures(1))}
			},
			want: `
				payments 0s..1.1s error "payments: retry stopped after 1 attempt: payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s); last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
				    ! stoic.breaker.state_change 100ms stoic.breaker.previous_state="closed" stoic.breaker.state="open" stoic.policy.name="db"
				  attempt payments #2 1.1s..1.1s error "payments: breaker \"db\": circuit breaker is open: the client did not send this call (retry after 4s)" error.type="circuit_open" stoic.attempt.retryable=false stoic.rejection.reason="circuit_open" stoic.retry.delay=1.0`,
		},
		{
			name: "breaker opens outside the retry", fn: takes(errBusy), ends: failedWith(errBusy),
			stack: func() []stoic.Policy {
				return []stoic.Policy{breaker.New("db", breaker.ConsecutiveFailures(1)), attempts(1)}
			},
			want: `
				payments 0s..100ms error "503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.retry.stop_reason="max_attempts"
				  ! stoic.breaker.state_change 100ms stoic.breaker.previous_state="closed" stoic.breaker.state="open" stoic.policy.name="db"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "the probes are taken", ends: failedWith(breaker.ErrOpen),
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), probing()} },
			want: fmt.Sprintf(`
				payments 0s..0s error "%[1]s" error.type="half_open_limit" stoic.call.attempts=0 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..0s error "%[1]s" error.type="half_open_limit" stoic.attempt.retryable=false stoic.rejection.reason="half_open_limit"`, probed),
		},
		{
			name: "rate limited inside the retry", ends: failedWith(ratelimit.ErrLimited),
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), dry()} },
			want: fmt.Sprintf(`
				payments 0s..0s error "%[1]s" error.type="rate_limited" stoic.call.attempts=0 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..0s error "%[1]s" error.type="rate_limited" stoic.attempt.retryable=false stoic.rejection.reason="rate_limited"`, limited),
		},
		{
			name: "rate limited outside the retry", ends: failedWith(ratelimit.ErrLimited),
			stack: func() []stoic.Policy { return []stoic.Policy{dry(), attempts(3)} },
			want:  fmt.Sprintf(`payments 0s..0s error "%s" error.type="rate_limited" stoic.call.attempts=0 stoic.rejection.reason="rate_limited"`, limited),
		},
		{
			name: "no token before the deadline", ends: failedWith(context.DeadlineExceeded), ctx: expiresAfter(5 * time.Second),
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), dry(ratelimit.Wait(time.Minute))} },
			want: fmt.Sprintf(`
				payments 0s..0s error "%[1]s" error.type="deadline_too_short" stoic.call.attempts=0 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..0s error "%[1]s" error.type="deadline_too_short" stoic.attempt.retryable=false stoic.rejection.reason="deadline_too_short"`, tooLate),
		},
		{
			name: "waits for a token", fn: takes(nil), ends: succeeded,
			stack: func() []stoic.Policy { return []stoic.Policy{attempts(3), dry(ratelimit.Wait(time.Minute))} },
			want: `
				payments 0s..10.1s unset stoic.call.attempts=1
				  attempt payments #1 0s..10.1s unset`,
		},
		{
			name: "rejections are retried", fn: takes(nil), ends: succeeded,
			stack: func() []stoic.Policy {
				every := retry.If(func(error) bool { return true })
				return []stoic.Policy{attempts(3, every, retry.MaxRetryAfter(9*time.Second)), dry()}
			},
			want: `
				payments 0s..10.1s unset stoic.call.attempts=1
				  attempt payments #1 0s..0s error "payments: ratelimit: rate limit reached: the client did not send this call (retry after 10s)" error.type="rate_limited" stoic.attempt.retryable=true stoic.rejection.reason="rate_limited"
				  attempt payments #1 9s..9s error "payments: ratelimit: rate limit reached: the client did not send this call (retry after 1s)" error.type="rate_limited" stoic.attempt.retryable=true stoic.rejection.reason="rate_limited" stoic.retry.delay=9.0
				  attempt payments #1 10s..10.1s unset stoic.retry.delay=1.0`,
		},
		{
			name: "budget spent", fn: takes(errBusy), ends: failedWith(budget.ErrExhausted),
			stack: func() []stoic.Policy { return []stoic.Policy{noBudget(), attempts(3)} },
			want: `
				payments 0s..100ms error "payments: retry stopped after 1 attempt: payments: retry budget spent: the client did not send this retry; last failure: 503 Service Unavailable" error.type="503" stoic.call.attempts=1 stoic.rejection.reason="budget_exhausted" stoic.retry.stop_reason="budget_exhausted"
				  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true`,
		},
		{
			name: "a layer of another package refuses", fn: takes(nil), ends: failedWith(errBoom),
			stack: layers(attempts(3), stoic.PolicyFunc("bulkhead", func(context.Context, stoic.Next) error {
				return &stoic.Rejection{Policy: "bulkhead", Reason: "full", Err: errBoom, Type: "bulkhead_full"}
			})),
			want: `
				payments 0s..0s error "bulkhead: full: the client did not send this call" error.type="bulkhead_full" stoic.call.attempts=0 stoic.retry.stop_reason="rejected"
				  attempt payments #1 0s..0s error "bulkhead: full: the client did not send this call" error.type="bulkhead_full" stoic.attempt.retryable=false`,
		},
	}
}
