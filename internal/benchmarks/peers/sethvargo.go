package peers

import (
	"context"
	"time"

	"github.com/sethvargo/go-retry"
)

func sethvargoContender() Contender {
	return Contender{
		Name:    "by hand, go-retry",
		Modules: []string{"github.com/sethvargo/go-retry"},
		Build: func(stack Stack, s Settings) Run {
			if s.Listen != nil {
				return nil // it has no listener
			}
			h := newByHand(s)
			switch stack {
			case Retry:
				return func(ctx context.Context, op Op) error { return h.sethvargo(ctx, op) }
			case Three:
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					return h.sethvargo(ctx, func(ctx context.Context) error { return h.breakerOnly(ctx, op) })
				}
			case Four:
				return func(ctx context.Context, op Op) error {
					return h.sethvargo(ctx, h.budgeted(func(ctx context.Context) error {
						return h.breakerOnly(ctx, func(ctx context.Context) error { return h.limiterOnly(ctx, op) })
					}))
				}
			case Full:
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					return h.sethvargo(ctx, h.budgeted(func(ctx context.Context) error { return h.attempt(ctx, op) }))
				}
			default:
				return nil // as by hand
			}
		},
	}
}

// sethvargo retries by retry.Do. Its backoffs count the attempts: one per call. Errors
// worth a retry are marked.
func (h *byHand) sethvargo(ctx context.Context, attempt Op) error {
	var b retry.Backoff
	if h.Base > 0 {
		b = retry.WithFullJitter(retry.WithCappedDuration(h.Max, retry.NewExponential(h.Base)))
	} else { // a constant backoff of zero is refused
		b = retry.BackoffFunc(func() (time.Duration, bool) { return 0, false })
	}
	b = retry.WithMaxRetries(uint64(h.Attempts)-1, b)
	return retry.Do(ctx, b, func(ctx context.Context) error {
		err := attempt(ctx)
		if err != nil && !refused(err) {
			return retry.RetryableError(err)
		}
		return err
	})
}
