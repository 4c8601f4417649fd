package ratelimit

import (
	"context"
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/internal/labhook"
	"github.com/stoic-go/stoic/internal/settings"
)

var (
	// ErrLimited matches a call that was refused because the rate was used up.
	ErrLimited = errors.New("ratelimit: limited")

	// errTooLate is the sentinel of a wait that would end at the deadline or later.
	errTooLate = errors.Join(ErrLimited, context.DeadlineExceeded)
)

// Limiter is a policy that bounds the rate of calls. Its state is a token bucket:
// every pipeline that holds the value shares the rate. It is safe for concurrent
// use. Make it with [New] or [From]; the zero value is refused by stoic.New.
type Limiter struct {
	limiter *rate.Limiter
	config
	start time.Time // of monotonic time
	valid bool      // when it was made
}

type config struct {
	maxWait  time.Duration // 0: reject
	problems settings.Problems
}

var (
	_ stoic.Policy     = (*Limiter)(nil)
	_ stoic.Describer  = (*Limiter)(nil)
	_ stoic.Validator  = (*Limiter)(nil)
	_ stoic.Identifier = (*Limiter)(nil)
)

// New makes a limiter of limit calls a second, with bursts of at most burst; for
// other units see [Per]. rate.Inf is no limit, and burst is ignored then. A limit
// that is zero, negative, NaN or infinite is refused by stoic.New, as is a burst
// below 1, which would never let a call pass.
func New(limit rate.Limit, burst int, opts ...Option) *Limiter {
	return From(rate.NewLimiter(limit, burst), opts...)
}

// From makes a limiter that takes its tokens from an existing one.
func From(limiter *rate.Limiter, opts ...Option) *Limiter {
	l := &Limiter{limiter: limiter, start: time.Now()}
	for _, opt := range opts {
		if opt == nil {
			l.problems.Check("option", false, "Option", "nil", "must not be nil")
			continue
		}
		opt(&l.config)
	}
	l.valid = l.Validate() == nil
	return l
}

// Per is the limit of n calls in d, spread evenly: Per(100, time.Minute). Without a
// positive d it is no limit that New accepts.
func Per(n int, d time.Duration) rate.Limit {
	if d <= 0 {
		return rate.Limit(math.NaN()) // not n/d: both may be negative
	}
	return rate.Limit(float64(n) / d.Seconds())
}

// An Option changes how a [Limiter] treats a call that finds no token. The last one
// counts.
type Option func(*config)

// Reject refuses a call that finds no token. It is the default.
func Reject() Option {
	return func(c *config) {
		c.maxWait = 0
		c.problems.Check("wait", true, "", nil, "")
	}
}

// Wait makes a call that finds no token wait for one, at most limit. A call that would
// have to wait longer, or as long as its context has left, is refused at once.
func Wait(limit time.Duration) Option {
	return func(c *config) {
		c.maxWait = limit
		c.problems.Check("wait", limit > 0, "Wait", limit, "must be positive; use Reject() to refuse at once")
	}
}

// Run is called by the stack.
func (l *Limiter) Run(ctx context.Context, next stoic.Next) error {
	if !l.valid {
		if err := l.Validate(); err != nil {
			return err // a layer that stoic.New has not seen
		}
	}
	// Allow comes first: Wait would ask for ctx.Done, which makes a lazy deadline real.
	if !l.limiter.AllowN(l.now(), 1) {
		if err := l.queue(ctx, next); err != nil {
			return err
		}
	}
	return next.Do(ctx)
}

// now is time.Now at half its cost: x/time only looks at differences of times.
func (l *Limiter) now() time.Time { return l.start.Add(time.Since(l.start)) }

// queue returns nil when the call has a token, and says what came of the wait.
func (l *Limiter) queue(ctx context.Context, next stoic.Next) error {
	var start time.Time
	if next.Observed() {
		start = time.Now()
	}
	rejection := l.wait(ctx)
	e := hooks.Event{Kind: hooks.Waited, Policy: stoic.KindRateLimit, Attempt: next.Attempt()}
	if next.Observed() {
		e.Delay = time.Since(start)
	}
	if rejection == nil {
		next.Emit(ctx, e)
		return nil
	}
	rejection.Pipeline = next.Pipeline()
	e.Kind, e.Err, e.Reason = hooks.Reject, rejection, rejection.Type
	if ctx.Err() == nil {
		e.Delay = 0 // refused at once
	}
	next.Emit(ctx, e)
	return rejection
}

// wait returns nil when the call has a token.
func (l *Limiter) wait(ctx context.Context) *stoic.Rejection {
	until, rejection := l.plan(ctx)
	if rejection != nil {
		return rejection
	}
	// Others may have taken tokens since: the limiter decides, by this deadline.
	var err error
	if hook := labhook.From(ctx); hook != nil {
		err = l.waitInLab(ctx, hook, until)
	} else {
		err = l.limiter.WaitN(waitContext{Context: ctx, until: until}, 1) //nolint:contextcheck // it derives from ctx
	}
	if done := stoic.ContextError(ctx); done != nil {
		return ended(done)
	}
	if err == nil {
		return nil
	}
	if _, rejection = l.plan(ctx); rejection != nil {
		return rejection
	}
	_, after := l.untilToken(time.Now())
	return limited(after)
}

// waitInLab is WaitN with the lab's sleep, which keeps the calls of one instant in order.
// Nothing runs beside it there, so a token that it gives back is not missed by anybody.
func (l *Limiter) waitInLab(ctx context.Context, hook labhook.Hook, until time.Time) error {
	now := time.Now()
	r := l.limiter.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > until.Sub(now) {
		r.CancelAt(now)
		return errTooLate
	}
	err := hook.Sleep(ctx, wait)
	if err != nil {
		r.Cancel()
	}
	return err
}

// plan returns when a wait must be over, or the rejection of one that cannot be.
func (l *Limiter) plan(ctx context.Context) (until time.Time, rejection *stoic.Rejection) {
	now := time.Now()
	need, after := l.untilToken(now)
	longest := l.maxWait
	if deadline, ok := ctx.Deadline(); ok && longest > 0 {
		left := deadline.Sub(now)
		if need >= left { // also when it is above the longest wait: both are true
			return until, tooLate(after)
		}
		longest = min(longest, left-1)
	}
	if longest <= 0 || need > longest || need == never {
		return until, limited(after)
	}
	return now.Add(longest), nil
}

const (
	// never is the time until a token where there will be none: somebody changed a
	// limiter that is shared by From.
	never = time.Duration(math.MaxInt64)

	// slack, in tokens, is more than what float64 loses of one: at one call in 50
	// days that is a nanosecond, and a caller who waited RetryAfter was refused again.
	slack = 1e-15
)

// untilToken takes no token. need is how long x/time would wait for one, after how
// long another call must wait to be sure to find one, 0 if that is not known.
func (l *Limiter) untilToken(now time.Time) (need, after time.Duration) {
	limit := float64(l.limiter.Limit())
	if limit <= 0 || l.limiter.Burst() < 1 {
		return never, 0
	}
	missing := max(0, 1-l.limiter.TokensAt(now))
	after = seconds((missing + slack) / limit)
	if after == never {
		return never, 0
	}
	return seconds(missing / limit), after
}

// seconds saturates at never.
func seconds(s float64) time.Duration {
	if ns := s * float64(time.Second); ns < float64(never) {
		return time.Duration(ns)
	}
	return never
}

// waitContext is the caller's context with an earlier deadline, which x/time only
// reads: it needs no timer.
type waitContext struct {
	context.Context //nolint:containedctx // it is a context
	until           time.Time
}

func (c waitContext) Deadline() (time.Time, bool) { return c.until, true }

func limited(after time.Duration) *stoic.Rejection {
	return &stoic.Rejection{
		Policy: stoic.KindRateLimit, Reason: "rate limit reached", Err: ErrLimited, Type: "rate_limited", After: after,
	}
}

func tooLate(after time.Duration) *stoic.Rejection {
	return &stoic.Rejection{
		Policy: stoic.KindRateLimit, Reason: "rate limit reached, and the next token comes after the deadline",
		Err: errTooLate, Type: "deadline_too_short", After: after,
	}
}

func ended(err error) *stoic.Rejection {
	kind := "canceled"
	if errors.Is(err, context.DeadlineExceeded) {
		kind = "deadline_exceeded"
	}
	return &stoic.Rejection{
		Policy: stoic.KindRateLimit, Reason: "the context ended while waiting for a token: " + err.Error(), Err: err, Type: kind,
	}
}
