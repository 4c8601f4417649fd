package stoichttp

import (
	"net/http"
	"slices"
	"time"

	"github.com/stoic-go/stoic/internal/settings"
)

// The defaults of [Drain].
const (
	DefaultDrainBytes = 64 << 10
	DefaultDrainTime  = 50 * time.Millisecond
)

// An Option changes one setting of a [Transport]. Of several that set the same, the
// last counts.
type Option func(*config)

type config struct {
	retryStatus []int
	failIf      func(*http.Response) bool // nil: the default
	drainBytes  int64
	drainTime   time.Duration
	problems    settings.Problems
}

func defaults() config {
	return config{
		retryStatus: []int{
			http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		},
		drainBytes: DefaultDrainBytes,
		drainTime:  DefaultDrainTime,
	}
}

// RetryStatus replaces the list of statuses that are worth a retry [429, 502, 503, 504].
// A status in the list is a failure, unless [FailIf] says otherwise. An empty list retries
// no response at all, only errors. A status below 200 or above 999 is invalid.
func RetryStatus(codes ...int) Option {
	codes = slices.Clone(codes)
	return func(c *config) {
		c.retryStatus = codes
		i := slices.IndexFunc(codes, func(code int) bool { return code < 200 || code > 999 })
		c.problems.Check("retryStatus", i < 0, "RetryStatus", codes, "each must be the status of an answer, 200 to 999")
	}
}

// FailIf replaces the rule that tells which responses are failures for the stack [429,
// 500 and above, and those of RetryStatus]: they count against a breaker, and those whose status
// is one of [RetryStatus] are retried. failed must leave the body alone, and must be safe
// for concurrent use.
func FailIf(failed func(*http.Response) bool) Option {
	return func(c *config) {
		c.failIf = failed
		c.problems.Check("failIf", failed != nil, "FailIf", "nil", "needs a function that tells which responses are failures")
	}
}

// Drain sets how much of the body of a response is read, at most, and for how long, before the
// next attempt is sent [64 KiB, 50 ms]: a connection whose response was read to its end
// can be used again. Beyond that the response is closed, and HTTP/1 closes its connection. Zero
// of either reads nothing; negative is invalid.
func Drain(bytes int64, d time.Duration) Option {
	return func(c *config) {
		c.drainBytes, c.drainTime = bytes, d
		c.problems.Check("drainBytes", bytes >= 0, "Drain", bytes, "the bytes must not be negative")
		c.problems.Check("drainTime", d >= 0, "Drain", d, "the time must not be negative")
	}
}

// failed reports whether resp is a failure for the stack.
func (c *config) failed(resp *http.Response) bool {
	if c.failIf != nil {
		return c.failIf(resp)
	}
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 || c.worthRetry(resp.StatusCode)
}

func (c *config) worthRetry(code int) bool { return slices.Contains(c.retryStatus, code) }
