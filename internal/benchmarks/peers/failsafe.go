package peers

import (
	"context"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// The executor is made once and gets the context of each call; the operation takes its
// context from the execution, as the documentation of Timeout asks.
func failsafeContender() Contender {
	return Contender{
		Name:       Failsafe,
		Modules:    []string{"github.com/failsafe-go/failsafe-go"},
		NoDeadline: true,
		Build: func(stack Stack, s Settings) Run {
			executor := failsafe.With(failsafePolicies(stack, s)...)
			if s.Listen != nil {
				executor.OnDone(func(failsafe.ExecutionDoneEvent[any]) {})
			}
			return func(ctx context.Context, op Op) error {
				//nolint:contextcheck // the execution's context derives from ctx
				return executor.WithContext(ctx).RunWithExecution(func(exec failsafe.Execution[any]) error {
					return op(exec.Context())
				})
			}
		},
	}
}

func failsafePolicies(stack Stack, s Settings) []failsafe.Policy[any] {
	total := timeout.New[any](s.Total)
	breaks := failsafeBreaker(s)
	limits := ratelimiter.NewBurstyBuilder[any](uint(s.Limit), s.Per).Build()
	switch stack {
	case Retry:
		return []failsafe.Policy[any]{failsafeRetry(stack, s)}
	case Breaker:
		return []failsafe.Policy[any]{breaks}
	case Limiter:
		return []failsafe.Policy[any]{limits}
	case Deadline:
		return []failsafe.Policy[any]{total}
	case Three:
		return []failsafe.Policy[any]{total, failsafeRetry(stack, s), breaks}
	case Four:
		return []failsafe.Policy[any]{failsafeRetry(stack, s), breaks, limits}
	case Full:
		return []failsafe.Policy[any]{total, failsafeRetry(stack, s), breaks, limits, timeout.New[any](s.Each)}
	default:
		return nil
	}
}

// failsafeRetry has the budget in it: a share of the calls that are in flight, not of
// those within a window.
func failsafeRetry(stack Stack, s Settings) failsafe.Policy[any] {
	b := retrypolicy.NewBuilder[any]().
		WithMaxAttempts(s.Attempts).
		AbortOnErrors(circuitbreaker.ErrOpen, ratelimiter.ErrExceeded).
		ReturnLastFailure()
	if s.Base > 0 {
		b = b.WithBackoff(s.Base, s.Max).WithJitterFactor(0.5)
	}
	if stack.Budgets() {
		b = b.WithBudget(budget.NewBuilder().
			WithMaxRate(s.Ratio).
			WithMinConcurrency(uint(s.Spare)).
			Build())
	}
	if s.Listen != nil {
		b = b.OnRetryScheduled(func(failsafe.ExecutionScheduledEvent[any]) { s.Listen() })
	}
	return b.Build()
}

// failsafeBreaker has one rule; the other would replace it.
func failsafeBreaker(s Settings) failsafe.Policy[any] {
	b := circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(uint(s.InARow)).
		WithSuccessThreshold(1).
		WithDelay(s.OpenFor)
	if s.Listen != nil {
		b = b.OnStateChanged(func(circuitbreaker.StateChangedEvent) { s.Listen() })
	}
	return b.Build()
}
