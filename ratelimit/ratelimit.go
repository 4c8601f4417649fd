package ratelimit

import (
	"context"
	"errors"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
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
	limiter  *rate.Limiter
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
	l := From(rate.NewLimiter(limit, burst), opts...)
	return l
}

// From makes a limiter that takes its tokens from an existing one.
func From(limiter *rate.Limiter, opts ...Option) *Limiter {
	l := &Limiter{limiter: limiter}
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// Per is the limit of n calls in d, spread evenly: Per(100, time.Minute).
func Per(n int, d time.Duration) rate.Limit {
	return rate.Limit(float64(n) / d.Seconds())
}

// An Option changes how a [Limiter] treats a call that finds no token. The last one
// counts.
type Option func(*Limiter)

// Reject refuses a call that finds no token. It is the default.
func Reject() Option {
	return func(l *Limiter) {
		l.maxWait = 0
		l.problems.Check("wait", true, "", nil, "")
	}
}

// Wait makes a call that finds no token wait for one, at most limit. A call that would
// have to wait longer, or as long as its context has left, is refused at once.
func Wait(limit time.Duration) Option {
	return func(l *Limiter) {
		l.maxWait = limit
		l.problems.Check("wait", limit > 0, "Wait", limit, "must be positive; use Reject() to refuse at once")
	}
}

// Run is called by the stack.
func (l *Limiter) Run(ctx context.Context, next stoic.Next) error {
	if l.limiter == nil {
		return l.Validate()
	}
	// Allow comes first: Wait would ask for ctx.Done, which makes a lazy deadline real.
	if !l.limiter.AllowN(time.Now(), 1) {
		if rejection := l.wait(ctx); rejection != nil {
			rejection.Pipeline = next.Pipeline()
			next.Emit(ctx, hooks.Event{
				Kind: hooks.Reject, Policy: stoic.KindRateLimit, Attempt: next.Attempt(), Err: rejection, Reason: rejection.Type,
			})
			return rejection
		}
	}
	return next.Do(ctx)
}

// wait returns nil when the call has a token.
func (l *Limiter) wait(ctx context.Context) *stoic.Rejection {
	now := time.Now()
	need := l.untilToken(now)
	left := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		left = deadline.Sub(now)
	}
	switch {
	case l.maxWait <= 0:
		return limited(need)
	case need >= left:
		return tooLate(need)
	case need > l.maxWait:
		return limited(need)
	}
	// Others may have taken tokens since: the limiter decides, by this deadline.
	err := l.limiter.WaitN(waitContext{Context: ctx, until: now.Add(min(l.maxWait, left-1))}, 1)
	if done := stoic.ContextError(ctx); done != nil {
		return ended(done)
	}
	if err != nil {
		return limited(l.untilToken(time.Now()))
	}
	return nil
}

// untilToken is how long it takes until there is a token, without taking one.
func (l *Limiter) untilToken(now time.Time) time.Duration {
	missing := 1 - l.limiter.TokensAt(now)
	limit := float64(l.limiter.Limit())
	if missing <= 0 || limit <= 0 {
		return 0
	}
	if d := missing / limit * float64(time.Second); d < math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
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

// Describe implements stoic.Describer.
func (l *Limiter) Describe() stoic.Description {
	d := stoic.Description{Kind: stoic.KindRateLimit}
	if l.limiter == nil {
		return d
	}
	var limit any = float64(l.limiter.Limit())
	if l.limiter.Limit() == rate.Inf {
		limit = "unlimited"
	}
	d.Params = []stoic.Param{{Name: "per second", Value: limit}, {Name: "burst", Value: l.limiter.Burst()}}
	if l.maxWait > 0 {
		d.Params = append(d.Params, stoic.Param{Name: "max wait", Value: l.maxWait})
	}
	return d
}

// Identity implements stoic.Identifier: the bucket is the state.
func (l *Limiter) Identity() any {
	if l.limiter == nil {
		return nil
	}
	return l.limiter
}

// Validate implements stoic.Validator.
func (l *Limiter) Validate() error {
	if l.limiter == nil {
		return &stoic.InvalidError{Field: "Limiter", Value: "nil", Reason: "must be made by ratelimit.New, or by From with a limiter"}
	}
	errs := []error{l.problems.Err()}
	limit, burst := l.limiter.Limit(), l.limiter.Burst()
	switch f := float64(limit); {
	case limit == rate.Inf:
		return errors.Join(errs...)
	case math.IsNaN(f) || math.IsInf(f, 0) || f <= 0:
		errs = append(errs, &stoic.InvalidError{
			Field: "limit", Value: f, Reason: "must be a positive, finite number of calls a second; rate.Inf is no limit",
		})
	}
	if burst < 1 {
		errs = append(errs, &stoic.InvalidError{
			Field: "burst", Value: burst, Reason: "must be at least 1, or no call could ever pass",
		})
	}
	return errors.Join(errs...)
}
