package peers

import (
	"context"
	"errors"
	"time"

	"github.com/felixgeelhaar/fortify/circuitbreaker"
	"github.com/felixgeelhaar/fortify/ferrors"
	"github.com/felixgeelhaar/fortify/middleware"
	"github.com/felixgeelhaar/fortify/ratelimit"
	"github.com/felixgeelhaar/fortify/retry"
	"github.com/felixgeelhaar/fortify/timeout"
)

type (
	fortifyResult = struct{}
	fortifyFunc   = func(context.Context) (fortifyResult, error)
)

// The chain is made once. A single policy is used without one.
func fortifyContender() Contender {
	return Contender{
		Name:           "fortify",
		Modules:        []string{"github.com/felixgeelhaar/fortify"},
		WaitsForTokens: true,
		NoBudget:       true,
		Build:          buildFortify,
	}
}

func buildFortify(stack Stack, s Settings) Run {
	retries, breaks := fortifyRetry(s), fortifyBreaker(s)
	ends := timeout.New[fortifyResult](timeout.Config{DefaultTimeout: s.Total})
	switch stack {
	case Empty:
		return fortifyRun(middleware.New[fortifyResult]().Execute)
	case Retry:
		return fortifyRun(retries.Do)
	case Breaker:
		return fortifyRun(breaks.Execute)
	case Limiter:
		limits := fortifyLimiter(s)
		return func(ctx context.Context, op Op) error {
			if !limits.Allow(ctx, "p") {
				return ratelimit.ErrLimitExceeded
			}
			return op(ctx)
		}
	case Deadline:
		return fortifyRun(func(ctx context.Context, f fortifyFunc) (fortifyResult, error) {
			return ends.Execute(ctx, s.Total, f)
		})
	case Three:
		return fortifyRun(middleware.New[fortifyResult]().
			WithTimeout(ends, s.Total).
			WithRetry(retries).
			WithCircuitBreaker(breaks).Execute)
	case Four:
		return fortifyRun(middleware.New[fortifyResult]().
			WithRetry(retries).
			WithCircuitBreaker(breaks).
			WithRateLimit(fortifyLimiter(s), "p").Execute)
	case Full:
		return fortifyRun(middleware.New[fortifyResult]().
			WithTimeout(ends, s.Total).
			WithRetry(retries).
			WithCircuitBreaker(breaks).
			WithRateLimit(fortifyLimiter(s), "p").
			WithTimeout(ends, s.Each).Execute)
	default:
		return nil
	}
}

func fortifyRun(execute func(context.Context, fortifyFunc) (fortifyResult, error)) Run {
	return func(ctx context.Context, op Op) error {
		_, err := execute(ctx, func(ctx context.Context) (fortifyResult, error) {
			return fortifyResult{}, op(ctx)
		})
		return err
	}
}

// fortifyRetry has a backoff of at least one nanosecond: zero is the default.
func fortifyRetry(s Settings) retry.Retry[fortifyResult] {
	config := retry.Config{
		MaxAttempts:   s.Attempts,
		InitialDelay:  max(s.Base, time.Nanosecond),
		MaxDelay:      s.Max,
		Multiplier:    2,
		BackoffPolicy: retry.BackoffExponential,
		Jitter:        s.Base > 0,
		IsRetryable:   func(err error) bool { return !errors.Is(err, ferrors.ErrCircuitOpen) },
	}
	if s.Listen != nil {
		config.OnRetry = func(int, error) { s.Listen() }
	}
	return retry.New[fortifyResult](config)
}

func fortifyBreaker(s Settings) circuitbreaker.CircuitBreaker[fortifyResult] {
	config := circuitbreaker.Config{
		Interval: s.Window,
		Timeout:  s.OpenFor,
		ReadyToTrip: func(n circuitbreaker.Counts) bool {
			return int(n.ConsecutiveFailures) >= s.InARow ||
				int(n.Requests) >= s.MinCalls && float64(n.TotalFailures) >= s.Rate*float64(n.Requests)
		},
	}
	if s.Listen != nil {
		config.OnStateChange = func(circuitbreaker.State, circuitbreaker.State) { s.Listen() }
	}
	return circuitbreaker.New[fortifyResult](config)
}

// fortifyLimiter keeps its tokens in memory without a goroutine that cleans up: there
// is one key.
func fortifyLimiter(s Settings) ratelimit.RateLimiter {
	config := &ratelimit.Config{
		Rate: s.Limit, Burst: s.Limit, Interval: s.Per,
		Store: ratelimit.NewMemoryStoreWithOptions(ratelimit.WithCleanupInterval(0)),
	}
	if s.Listen != nil {
		config.OnLimit = func(context.Context, string) { s.Listen() }
	}
	return ratelimit.New(config)
}
