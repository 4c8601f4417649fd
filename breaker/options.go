package breaker

import (
	"fmt"
	"math"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/settings"
)

// The defaults.
const (
	DefaultFailureRate         = 0.5
	DefaultMinCalls            = 50
	DefaultWindow              = 10 * time.Second
	DefaultConsecutiveFailures = 10
	DefaultOpenFor             = 5 * time.Second
	DefaultProbes              = 1
	DefaultProbeTimeout        = 30 * time.Second
)

// windowSlots is how finely the window slides.
const windowSlots = 10

// config is what the options set. A rule that is 0 is off.
type config struct {
	rate     float64
	minCalls int
	window   time.Duration

	lastRate  float64
	lastCalls int

	consecutive int

	openFor      time.Duration
	probes       int
	probeTimeout time.Duration
	slow         time.Duration
	judge        func(error) stoic.Verdict

	problems settings.Problems
}

// An Option changes one setting of a [Breaker]. Of several that set the same, the last
// counts.
type Option func(*config)

func newConfig(opts []Option) config {
	c := config{openFor: DefaultOpenFor, probes: DefaultProbes, probeTimeout: DefaultProbeTimeout}
	for _, opt := range opts {
		if opt == nil {
			c.problems.Check("option", false, "Option", "nil", "must not be nil")
			continue
		}
		opt(&c)
	}
	if c.rate == 0 && c.lastRate == 0 && c.consecutive == 0 {
		c.rate, c.minCalls, c.window = DefaultFailureRate, DefaultMinCalls, DefaultWindow
		c.consecutive = DefaultConsecutiveFailures
	}
	return c
}

// FailureRate opens the breaker when at least ratio of the calls in the window failed
// and there were at least minCalls of them [0.5, 50, 10 s]. The rate divides failures
// by successes and failures; only a failure can open. ratio is above 0 and at most 1;
// the window is from 10 ms to a day and slides in 10 slots, so a call counts for
// between nine tenths of it and the whole.
func FailureRate(ratio float64, minCalls int, window time.Duration) Option {
	return func(c *config) {
		c.rate, c.minCalls, c.window = ratio, minCalls, window
		ok := validRatio(ratio) && validCount(minCalls) && window >= 10*time.Millisecond && window <= 24*time.Hour
		c.problems.Check("rate", ok, "FailureRate", fmt.Sprintf("%v, %v, %v", ratio, minCalls, window),
			"ratio must be above 0 and at most 1, minCalls at least 1, window from 10ms to 24h")
	}
}

// FailureRateOfLast is the same rule over the last calls instead of a window of time:
// the breaker opens when at least ratio of the last calls failed. It judges as soon as
// half of them (rounded up) are in; only a failure can open.
func FailureRateOfLast(ratio float64, calls int) Option {
	return func(c *config) {
		c.lastRate, c.lastCalls = ratio, calls
		c.problems.Check("last", validRatio(ratio) && calls >= 1 && calls <= 1e6, "FailureRateOfLast",
			fmt.Sprintf("%v, %v", ratio, calls), "ratio must be above 0 and at most 1, calls from 1 to 1000000")
	}
}

// ConsecutiveFailures opens the breaker at the nth failure in a row [10], whatever the
// time between them. A success starts the count anew, a neutral outcome does not.
func ConsecutiveFailures(n int) Option {
	return func(c *config) {
		c.consecutive = n
		c.problems.Check("consecutive", validCount(n), "ConsecutiveFailures", n, "must be at least 1")
	}
}

// OpenFor sets how long the breaker refuses every call before it probes [5 s]. It is
// half-open strictly after that.
func OpenFor(d time.Duration) Option {
	return func(c *config) {
		c.openFor = d
		c.problems.Check("openFor", d > 0, "OpenFor", d, "must be positive")
	}
}

// Probes sets how many calls a half-open period admits, and how many successes close
// the breaker [1]. A probe whose outcome is neutral frees its place.
func Probes(n int) Option {
	return func(c *config) {
		c.probes = n
		c.problems.Check("probes", validCount(n), "Probes", n, "must be at least 1")
	}
}

// ProbeTimeout is how long a probe may take before the next call takes it for hung
// [30 s]: it counts as a failure, the breaker opens again, and the late result is
// ignored. Probes should end by a deadline inside the breaker before that.
func ProbeTimeout(d time.Duration) Option {
	return func(c *config) {
		c.probeTimeout = d
		c.problems.Check("probeTimeout", d > 0, "ProbeTimeout", d, "must be positive")
	}
}

// SlowCall makes a success that took longer than d count as a failure; the caller gets
// the result all the same [off].
func SlowCall(d time.Duration) Option {
	return func(c *config) {
		c.slow = d
		c.problems.Check("slow", d > 0, "SlowCall", d, "must be positive; leave it out for no limit")
	}
}

// Judge decides on the errors that stoic.VerdictOf calls failures: a 404, say, may be
// Neutral, or a Success. It must be safe for concurrent use. A panic in it counts as a
// failure and reaches the caller.
func Judge(judge func(error) stoic.Verdict) Option {
	return func(c *config) {
		c.judge = judge
		c.problems.Check("judge", judge != nil, "Judge", "nil", "needs a function that judges an error")
	}
}

func validRatio(r float64) bool { return r > 0 && r <= 1 } // false for NaN

func validCount(n int) bool { return n >= 1 && n <= math.MaxInt32 }
