package retry

import (
	"fmt"
	"math"
	"reflect"
	"time"
)

// A Backoff computes the wait before a retry. n is 0 for the first retry; previous
// is the delay computed before it (0 for the first, and not a hint that replaced
// it); rand returns a number in [0, 1). It must keep no state and be safe for
// concurrent use. A negative result is 0.
//
// A Backoff that also has a method Ceiling(n int) time.Duration, the most that
// Delay returns for n, lets the stack compute its worst case.
type Backoff interface {
	Delay(n int, previous time.Duration, rand func() float64) time.Duration
}

// BackoffFunc makes a [Backoff] from a function.
type BackoffFunc func(n int, previous time.Duration, rand func() float64) time.Duration

// Delay calls f.
func (f BackoffFunc) Delay(n int, previous time.Duration, rand func() float64) time.Duration {
	return f(n, previous, rand)
}

// WithBackoff uses a backoff of the caller's.
func WithBackoff(b Backoff) Option {
	return func(c *config) {
		c.backoff = b
		c.problems.Check("backoff", !isNil(b), "WithBackoff", "nil", "needs a Backoff")
	}
}

func isNil(b Backoff) bool {
	switch v := reflect.ValueOf(b); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Func, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// FullJitter waits rand · min(max, base·2ⁿ), which spreads clients that failed
// together over the whole interval. It is the default, with 100 ms and 10 s.
// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
func FullJitter(base, ceiling time.Duration) Option {
	return exponential("FullJitter", fullJitter, base, ceiling)
}

// EqualJitter waits half of min(max, base·2ⁿ) and a random part of the other half:
// never less than half the backoff. Source: as for [FullJitter].
func EqualJitter(base, ceiling time.Duration) Option {
	return exponential("EqualJitter", equalJitter, base, ceiling)
}

// DecorrelatedJitter waits min(max, a random time from base to 3·previous), where
// previous is the delay before, and base at first. Source: as for [FullJitter].
func DecorrelatedJitter(base, ceiling time.Duration) Option {
	return exponential("DecorrelatedJitter", decorrelatedJitter, base, ceiling)
}

// NoJitter waits min(max, base·2ⁿ) exactly. Clients that fail together then come
// back together: for tests, or for one client alone.
func NoJitter(base, ceiling time.Duration) Option {
	return exponential("NoJitter", noJitter, base, ceiling)
}

// Constant waits d before each retry, without jitter. Zero retries at once.
func Constant(d time.Duration) Option {
	return func(c *config) {
		c.backoff = jittered{kind: constant, base: d, ceiling: d}
		c.problems.Check("backoff", d >= 0, "Constant", d, "must not be negative")
	}
}

func exponential(name string, kind jitterKind, base, ceiling time.Duration) Option {
	return func(c *config) {
		c.backoff = jittered{kind: kind, base: base, ceiling: ceiling}
		both := fmt.Sprintf("%v, %v", base, ceiling)
		c.problems.Check("backoff", base >= 0 && ceiling >= base, name, both, "base must not be negative, nor above max")
	}
}

type jitterKind uint8

const (
	fullJitter jitterKind = iota
	equalJitter
	decorrelatedJitter
	noJitter
	constant
)

func (k jitterKind) String() string {
	return [...]string{"full jitter", "equal jitter", "decorrelated jitter", "no jitter", "constant"}[k]
}

type jittered struct {
	kind          jitterKind
	base, ceiling time.Duration
}

// Delay never exceeds the ceiling and never overflows, for any n.
func (j jittered) Delay(n int, previous time.Duration, rand func() float64) time.Duration {
	switch j.kind {
	case equalJitter:
		full := grow(j.base, j.ceiling, n)
		half := full / 2
		return half + scale(full-half, rand)
	case decorrelatedJitter:
		top := triple(max(previous, j.base))
		return min(j.base+scale(top-j.base, rand), j.ceiling)
	case noJitter, constant:
		return grow(j.base, j.ceiling, n)
	default:
		return scale(grow(j.base, j.ceiling, n), rand)
	}
}

// Ceiling is the most that Delay returns for retry n.
func (j jittered) Ceiling(n int) time.Duration {
	if j.kind == decorrelatedJitter {
		d := j.base
		for range min(n+1, 64) {
			d = triple(d)
		}
		return min(d, j.ceiling)
	}
	return grow(j.base, j.ceiling, n)
}

// grow is min(ceiling, base·2ⁿ), saturating.
func grow(base, ceiling time.Duration, n int) time.Duration {
	if base <= 0 {
		return 0
	}
	if n >= 63 || base > ceiling>>n {
		return ceiling
	}
	return base << n
}

// triple is 3·d, saturating.
func triple(d time.Duration) time.Duration {
	if d > math.MaxInt64/3 {
		return math.MaxInt64
	}
	return 3 * d
}

// scale is a random part of d, in [0, d].
func scale(d time.Duration, rand func() float64) time.Duration {
	return min(time.Duration(unit(rand)*float64(d)), d)
}

// unit clamps what rand returns to [0, 1); NaN is 0.
func unit(rand func() float64) float64 {
	switch x := rand(); {
	case !(x > 0): // also NaN
		return 0
	case x >= 1:
		return math.Nextafter(1, 0)
	default:
		return x
	}
}
