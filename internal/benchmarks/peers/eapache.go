package peers

import (
	"context"
	"errors"
	"time"

	"github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	"github.com/eapache/go-resiliency/retrier"
	"golang.org/x/time/rate"
)

// eapache is go-resiliency. It has no limiter, and takes that of x/time/rate; its
// deadline runs the work on another goroutine and hands it a channel.
type eapache struct {
	retrier     *retrier.Retrier
	breaker     *breaker.Breaker
	total, each *deadline.Deadline
	tokens      *rate.Limiter
}

func eapacheContender() Contender {
	return Contender{
		Name:       "go-resiliency",
		Modules:    []string{"github.com/eapache/go-resiliency", "golang.org/x/time"},
		NoDeadline: true,
		NoBudget:   true,
		Build: func(stack Stack, s Settings) Run {
			if s.Listen != nil {
				return nil // it has no listener
			}
			e := newEapache(s)
			switch stack {
			case Retry:
				return func(ctx context.Context, op Op) error { return e.retrier.RunCtx(ctx, op) }
			case Breaker:
				return e.breaks
			case Deadline:
				return func(ctx context.Context, op Op) error { return within(ctx, e.total, op) }
			case Three:
				return func(ctx context.Context, op Op) error {
					return within(ctx, e.total, func(ctx context.Context) error {
						return e.retrier.RunCtx(ctx, func(ctx context.Context) error { return e.breaks(ctx, op) })
					})
				}
			case Four:
				return func(ctx context.Context, op Op) error {
					return e.retrier.RunCtx(ctx, func(ctx context.Context) error { return e.limited(ctx, op) })
				}
			case Full:
				return func(ctx context.Context, op Op) error {
					return within(ctx, e.total, func(ctx context.Context) error {
						return e.retrier.RunCtx(ctx, func(ctx context.Context) error {
							return e.limited(ctx, func(ctx context.Context) error { return within(ctx, e.each, op) })
						})
					})
				}
			default:
				return nil // nothing of its own
			}
		},
	}
}

func newEapache(s Settings) *eapache {
	backoff := retrier.LimitedExponentialBackoff(s.Attempts-1, s.Base, s.Max)
	r := retrier.New(backoff, retrier.BlacklistClassifier{breaker.ErrBreakerOpen, ErrLimited})
	r.SetJitter(0.5)
	return &eapache{
		retrier: r,
		breaker: breaker.New(s.InARow, 1, s.OpenFor),
		total:   deadline.New(s.Total),
		each:    deadline.New(s.Each),
		tokens:  rate.NewLimiter(rate.Limit(s.perSecond()), s.Limit),
	}
}

func (e *eapache) breaks(ctx context.Context, op Op) error {
	return e.breaker.Run(func() error { return op(ctx) })
}

func (e *eapache) limited(ctx context.Context, op Op) error {
	return e.breaks(ctx, func(ctx context.Context) error {
		if !e.tokens.Allow() {
			return ErrLimited
		}
		return op(ctx)
	})
}

// within gives op a context that ends when the deadline closes its channel. The
// parent's end does not reach it: a Deadline has no context.
func within(ctx context.Context, d *deadline.Deadline, op Op) error {
	return d.Run(func(stop <-chan struct{}) error {
		return op(stopContext{ctx, stop}) //nolint:contextcheck // it has the values of ctx
	})
}

// stopContext is a context with another Done.
type stopContext struct {
	context.Context //nolint:containedctx // it is a context
	stop            <-chan struct{}
}

func (c stopContext) Done() <-chan struct{} { return c.stop }

func (c stopContext) Err() error {
	select {
	case <-c.stop:
		return errStopped
	default:
		return nil
	}
}

var errStopped = errors.New("the deadline closed its channel")

func (stopContext) Deadline() (time.Time, bool) { return time.Time{}, false }
