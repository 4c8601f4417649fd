package peers

import (
	"context"

	"github.com/avast/retry-go/v5"
)

func avastContender() Contender {
	return Contender{
		Name:    "by hand, retry-go/v5",
		Modules: []string{"github.com/avast/retry-go/v5"},
		Build: func(stack Stack, s Settings) Run {
			h := newByHand(s)
			opts := h.avastOptions()
			switch stack {
			case Retry:
				// Without a context of the call there is one retrier for all calls. A caller who
				// cancels then waits for the end of the backoff.
				retrier := retry.New(opts...)
				return func(ctx context.Context, op Op) error {
					return retrier.Do(func() error { return op(ctx) })
				}
			case Three:
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					return avastDo(ctx, opts, func() error { return h.breakerOnly(ctx, op) })
				}
			case Four:
				opts = append(opts, retry.WithThrottle(avastBudget{h.budget}))
				retrier := retry.New(opts...)
				return func(ctx context.Context, op Op) error {
					h.budget.request()
					return retrier.Do(func() error {
						return h.breakerOnly(ctx, func(ctx context.Context) error { return h.limiterOnly(ctx, op) })
					})
				}
			case Full:
				opts = append(opts, retry.WithThrottle(avastBudget{h.budget}))
				return func(ctx context.Context, op Op) error {
					ctx, cancel := context.WithTimeout(ctx, h.Total)
					defer cancel()
					h.budget.request()
					return avastDo(ctx, opts, func() error { return h.attempt(ctx, op) })
				}
			default:
				return nil // as by hand
			}
		},
	}
}

// avastDo makes a retrier for one call: its context is an option.
func avastDo(ctx context.Context, opts []retry.Option, attempt func() error) error {
	return retry.New(append([]retry.Option{retry.Context(ctx)}, opts...)...).Do(attempt)
}

func (h *byHand) avastOptions() []retry.Option {
	delay := retry.FullJitterBackoffDelay
	if h.Base == 0 {
		delay = retry.FixedDelay
	}
	opts := []retry.Option{
		retry.Attempts(uint(h.Attempts)),
		retry.Delay(h.Base),
		retry.MaxDelay(h.Max),
		retry.DelayType(delay),
		retry.RetryIf(func(err error) bool { return !refused(err) }),
		retry.LastErrorOnly(true),
	}
	if h.Listen != nil {
		opts = append(opts, retry.OnRetry(func(uint, error) { h.Listen() }))
	}
	return opts
}

// avastBudget is the hand-written budget as the throttle of the retrier.
type avastBudget struct{ budget *handBudget }

func (b avastBudget) AllowRetry(uint, error) bool { return b.budget.retry() }
func (avastBudget) OnSuccess(uint)                {}
