package retry

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/internal/labhook"
	"github.com/stoic-go/stoic/internal/settings"
)

// Retry is a policy that runs what is inside it again when it failed. It keeps no
// state between calls: one value serves any number of pipelines and goroutines.
// Make it with [New]; the zero value is refused by stoic.New.
type Retry struct {
	config
	made, valid bool
}

type config struct {
	maxAttempts   int // math.MaxInt with Unlimited
	backoff       Backoff
	retryable     func(error) bool // nil: the default
	maxRetryAfter time.Duration
	sleep         func(context.Context, time.Duration) error // nil: the default
	rand          func() float64                             // nil: the default
	allowNested   bool
	problems      settings.Problems
}

var (
	_ stoic.Policy    = (*Retry)(nil)
	_ stoic.Describer = (*Retry)(nil)
	_ stoic.Validator = (*Retry)(nil)
)

// New makes a retry. Without options: three attempts, full jitter from 100 ms to
// 10 s, everything retried but cancelled callers and rejections. Invalid options
// are reported by stoic.New.
func New(opts ...Option) *Retry {
	r := &Retry{made: true, config: config{
		maxAttempts:   DefaultMaxAttempts,
		backoff:       jittered{kind: fullJitter, base: DefaultBase, ceiling: DefaultMax},
		maxRetryAfter: DefaultMaxRetryAfter,
	}}
	for _, opt := range opts {
		if opt == nil {
			r.problems.Check("option", false, "Option", "nil", "must not be nil")
			continue
		}
		opt(&r.config)
	}
	r.valid = r.problems.Err() == nil
	return r
}

// Do runs fn under a retry made of opts: for a call that has no stack. Build a
// stack where calls repeat, so that they can share a budget and a breaker.
func Do(ctx context.Context, fn stoic.Func, opts ...Option) error {
	p, err := stoic.New("retry.Do", New(opts...))
	if err != nil {
		return err
	}
	return p.Do(ctx, fn)
}

// Run is called by the stack.
func (r *Retry) Run(ctx context.Context, next stoic.Next) error {
	if !r.valid {
		return r.Validate() // a layer that stoic.New has not seen
	}
	err := next.Do(ctx)
	if err == nil {
		return nil
	}
	return r.again(ctx, next, err)
}

// loop is the state of one call from its first failed attempt on.
type loop struct {
	*Retry
	next     stoic.Next
	first    int           // the number of the first attempt: above 1 inside a resend
	number   int           // that of the last attempt: above first once one was sent before
	tries    int           // attempts so far, rejected ones included
	sent     int           // attempts that no layer further in refused
	previous time.Duration // the last computed delay
	failure  error         // the last error of an attempt that was sent

	pause func(context.Context, time.Duration) error // set by equip
	draw  func() float64
}

// again decides what follows the failure of the first attempt, and then of each.
func (r *Retry) again(ctx context.Context, next stoic.Next, err error) error {
	l := loop{Retry: r, next: next, first: next.Attempt(), number: next.Attempt()}
	if l.first > 1 && !r.allowNested {
		if stoic.VerdictOf(ctx, err) == stoic.Success { // an answer: nothing failed
			return err
		}
		next.Emit(ctx, hooks.Event{Kind: hooks.NestedRetry, Policy: stoic.KindRetry, Attempt: l.first, Err: err})
		return err
	}
	for {
		if stoic.VerdictOf(ctx, err) == stoic.Success { // an answer, or an attempt that worked
			return err
		}
		l.count(err)
		delay, stop := l.decide(ctx, err)
		if stop.why != "" {
			return l.giveUp(ctx, err, stop)
		}
		stop, result := l.attempt(ctx, err, delay)
		if stop.why != "" {
			return l.giveUp(ctx, err, stop)
		}
		err = result
	}
}

func (l *loop) count(err error) {
	l.tries++
	if !errors.Is(err, stoic.ErrRejected) {
		l.sent++
		l.failure = err
	}
}

// stop is why the loop ends: a hooks.Stop constant, and the error that says so
// where the last failure does not.
type stop struct {
	why    string
	reason error
}

// decide asks the questions that need no charge: context, worth, last, delay,
// deadline.
func (l *loop) decide(ctx context.Context, err error) (time.Duration, stop) {
	if s := contextStop(ctx); s.why != "" {
		return 0, s
	}
	if why := l.notWorth(ctx, err); why != "" {
		return 0, stop{why: why}
	}
	if l.tries >= l.maxAttempts {
		return 0, stop{why: hooks.StopMaxAttempts}
	}
	l.equip(ctx)
	delay := l.delay(err)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); delay >= left {
			return 0, stop{why: hooks.StopDeadline, reason: &tooLateError{delay: delay, left: left}}
		}
	}
	return delay, stop{}
}

// equip picks how to wait and to draw, once for each call that retries: as the options
// say, else as the lab does if the call runs in it, else the defaults.
func (l *loop) equip(ctx context.Context) {
	if l.pause != nil {
		return
	}
	l.pause, l.draw = sleep, random
	if l.sleep == nil || l.rand == nil {
		if hook := labhook.From(ctx); hook != nil {
			l.pause, l.draw = hook.Sleep, hook.Rand
		}
	}
	if l.sleep != nil {
		l.pause = l.sleep
	}
	if l.rand != nil {
		l.draw = l.rand
	}
}

func contextStop(ctx context.Context) stop {
	switch err := ctx.Err(); {
	case err == nil:
		return stop{}
	case errors.Is(err, context.DeadlineExceeded):
		return stop{why: hooks.StopDeadline, reason: stoic.ContextError(ctx)}
	default:
		return stop{why: hooks.StopCanceled, reason: stoic.ContextError(ctx)}
	}
}

// notWorth returns why err must not be retried, or "".
func (l *loop) notWorth(ctx context.Context, err error) string {
	rejected := errors.Is(err, stoic.ErrRejected)
	switch {
	case isPermanent(err):
		return hooks.StopNotRetryable
	case l.retryable == nil && rejected, l.retryable != nil && rejected && !l.retryable(err):
		return hooks.StopRejected
	case l.retryable != nil && !rejected && !l.retryable(err):
		return hooks.StopNotRetryable
	case stoic.NonIdempotent(ctx) && stoic.IdempotencyKey(ctx) == "" && !rejected && !notExecuted(err):
		return hooks.StopNonIdempotent
	default:
		return ""
	}
}

// delay is the hint in err where there is one, else the backoff.
func (l *loop) delay(err error) time.Duration {
	n := min(l.tries-1, math.MaxInt32)
	l.previous = max(l.backoff.Delay(n, l.previous, l.draw), 0)
	if hint, ok := hintOf(err); ok {
		return min(max(hint, 0), l.maxRetryAfter)
	}
	return l.previous
}

// attempt pays for one more attempt, waits and makes it. The budget's ticket goes
// back unless the attempt was sent: on a cancelled wait, a rejection further in, a
// panic or a Goexit before it.
func (l *loop) attempt(ctx context.Context, err error, delay time.Duration) (why stop, result error) {
	if budget := l.next.Budget(); budget != nil {
		ticket, refused := budget.Reserve()
		if refused != nil {
			return l.refused(ctx, refused), nil
		}
		sent := false
		defer func() {
			if !sent {
				budget.Refund(ticket)
			}
		}()
		if why = l.wait(ctx, err, delay); why.why != "" {
			return why, nil
		}
		sent = true // also when it panics: it was called
		result = l.send(ctx)
		sent = !errors.Is(result, stoic.ErrRejected)
		return stop{}, result
	}
	if why = l.wait(ctx, err, delay); why.why != "" {
		return why, nil
	}
	return stop{}, l.send(ctx)
}

// send makes the next attempt. Its number is above the first one's exactly when an
// attempt was sent before; it saturates in WithAttempt.
func (l *loop) send(ctx context.Context) error {
	l.number = l.first + l.sent
	return l.next.WithAttempt(l.number).Do(ctx)
}

// wait announces the attempt, sleeps, and looks at the context once more.
func (l *loop) wait(ctx context.Context, err error, delay time.Duration) stop {
	l.next.Emit(ctx, hooks.Event{
		Kind: hooks.Retry, Policy: stoic.KindRetry, Attempt: l.number, Delay: delay, Err: err,
	})
	var slept error
	if delay > 0 {
		slept = l.pause(ctx, delay)
	}
	if s := contextStop(ctx); s.why != "" {
		return s
	}
	if slept != nil {
		return stop{why: hooks.StopSleep, reason: slept}
	}
	return stop{}
}

// refused reports the budget's rejection under the name of this pipeline.
func (l *loop) refused(ctx context.Context, err error) stop {
	eventType := "budget_exhausted"
	if r, ok := errors.AsType[*stoic.Rejection](err); ok {
		named := *r
		named.Pipeline = l.next.Pipeline()
		err, eventType = &named, named.Type
	}
	l.next.Emit(ctx, hooks.Event{
		Kind: hooks.Reject, Policy: stoic.KindBudget, Attempt: l.number, Err: err, Reason: eventType,
	})
	return stop{why: hooks.StopBudget, reason: err}
}

// giveUp is the only exit with an error that was judged: it picks what the caller
// gets, and says so to the hooks once.
func (l *loop) giveUp(ctx context.Context, err error, s stop) error {
	rejected := errors.Is(err, stoic.ErrRejected)
	switch {
	case l.sent == 0: // nothing was sent: the rejection itself
	case rejected:
		if s.reason == nil {
			s.reason = err
		}
		err = l.stopped(s.reason)
	case s.reason != nil:
		err = l.stopped(s.reason)
	}
	l.next.Emit(ctx, hooks.Event{
		Kind: hooks.GaveUp, Policy: stoic.KindRetry, Attempt: l.number, Err: err, Reason: s.why,
	})
	return err
}

func (l *loop) stopped(reason error) error {
	return &StoppedError{Pipeline: l.next.Pipeline(), Reason: reason, Attempts: l.sent, Err: l.failure}
}

// sleep is the default: it returns early, and stops its timer, when ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
