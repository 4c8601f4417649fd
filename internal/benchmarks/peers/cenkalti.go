package peers

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

func cenkaltiContender() Contender {
	return Contender{
		Name:    "by hand, backoff/v5",
		Modules: []string{"github.com/cenkalti/backoff/v5"},
		Build: func(stack Stack, s Settings) Run {
			h := newByHand(s)
			switch stack {
			case Retry:
				return func(ctx context.Context, op Op) error { return h.cenkalti(ctx, op) }
			case Three:
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					return h.cenkalti(ctx, func(ctx context.Context) error { return h.breakerOnly(ctx, op) })
				}
			case Four:
				return func(ctx context.Context, op Op) error {
					return h.cenkalti(ctx, h.budgeted(func(ctx context.Context) error {
						return h.breakerOnly(ctx, func(ctx context.Context) error { return h.limiterOnly(ctx, op) })
					}))
				}
			case Full:
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					return h.cenkalti(ctx, h.budgeted(func(ctx context.Context) error { return h.attempt(ctx, op) }))
				}
			default:
				return nil // as by hand
			}
		},
	}
}

// cenkalti retries by backoff.Retry. Its backoffs are not safe for concurrent use: one
// per call.
func (h *byHand) cenkalti(ctx context.Context, attempt Op) error {
	var b backoff.BackOff = &backoff.ZeroBackOff{}
	if h.Base > 0 {
		exponential := backoff.NewExponentialBackOff()
		exponential.InitialInterval = h.Base
		exponential.Multiplier = 2
		exponential.MaxInterval = h.Max
		b = exponential
	}
	opts := []backoff.RetryOption{
		backoff.WithBackOff(b),
		backoff.WithMaxTries(uint(h.Attempts)),
		backoff.WithMaxElapsedTime(0),
	}
	if h.Listen != nil {
		opts = append(opts, backoff.WithNotify(func(error, time.Duration) { h.Listen() }))
	}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := attempt(ctx)
		if err != nil && refused(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, opts...)
	return err
}
