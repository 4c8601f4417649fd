package retry

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// The defaults.
const (
	DefaultMaxAttempts   = 3
	DefaultBase          = 100 * time.Millisecond
	DefaultMax           = 10 * time.Second
	DefaultMaxRetryAfter = 30 * time.Second
)

// An Option changes one setting of a [Retry]. Of several that set the same, the
// last counts.
type Option func(*config)

// MaxAttempts sets the most attempts for one call, the first included [3]. Below 1
// is invalid; for a loop that ends by its context see [Unlimited].
func MaxAttempts(n int) Option {
	return func(c *config) {
		c.maxAttempts = n
		c.problems.Check("attempts", n >= 1, "MaxAttempts", n,
			"must be at least 1 (the first call counts); for no limit use Unlimited()")
	}
}

// Unlimited retries until the call works, is not worth a retry, or its context
// ends. Memory stays constant. Use it with a context that ends.
func Unlimited() Option { return MaxAttempts(math.MaxInt) }

// If says which errors are worth a retry, instead of the default: everything but
// cancelled callers and rejections. It is asked about rejections too (ErrRejected);
// accepting them makes the loop wait for a breaker to let it through. It is never
// asked when the caller's context is done, nor about [Permanent] errors and
// [*StoppedError], which end every retry. It must be safe for concurrent use.
func If(retryable func(error) bool) Option {
	return func(c *config) {
		c.retryable = retryable
		c.problems.Check("if", retryable != nil, "If", "nil", "needs a function that tells which errors to retry")
	}
}

// MaxRetryAfter caps the wait that an error asks for ([After], RetryAfter) [30 s]:
// a longer hint waits the cap. It must be positive.
func MaxRetryAfter(d time.Duration) Option {
	return func(c *config) {
		c.maxRetryAfter = d
		c.problems.Check("maxRetryAfter", d > 0, "MaxRetryAfter", d, "must be positive")
	}
}

// Sleep replaces the wait before a retry, which is a timer that stops when ctx is
// done. It must return when ctx is done; an error that it returns without that
// stops the retry.
func Sleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *config) {
		c.sleep = sleep
		c.problems.Check("sleep", sleep != nil, "Sleep", "nil", "needs a function that waits")
	}
}

// Rand replaces the source of jitter, which is math/rand/v2. It returns a number in
// [0, 1), must be safe for concurrent use, and is clamped when it returns another.
func Rand(random func() float64) Option {
	return func(c *config) {
		c.rand = random
		c.problems.Check("rand", random != nil, "Rand", "nil", "needs a function that returns a number in [0, 1)")
	}
}

// AllowNested makes the retry work inside the resends of an outer retry too. The
// attempts then multiply: 4 around 3 are 12 calls instead of 6.
func AllowNested() Option { return func(c *config) { c.allowNested = true } }

func random() float64 {
	return rand.Float64() //nolint:gosec // jitter needs no secrecy
}
