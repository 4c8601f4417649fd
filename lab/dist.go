package lab

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stoic-go/stoic/internal/settings"
)

// A Dist is a distribution of times: how long a service takes, a hop, a pause to think.
// The zero value is always 0. Draws are never negative.
type Dist struct {
	kind   distKind
	a, b   time.Duration
	weight float64
	k      int
	parts  *[2]Dist
}

type distKind uint8

const (
	fixed distKind = iota
	exponential
	uniform
	normal
	logNormal
	erlang
	mixture
)

// Fixed is always d.
func Fixed(d time.Duration) Dist { return Dist{kind: fixed, a: d} }

// Exp is exponential: most draws are short, a few are long.
func Exp(mean time.Duration) Dist { return Dist{kind: exponential, a: mean} }

// Uniform is anything from low to high, equally likely.
func Uniform(low, high time.Duration) Dist { return Dist{kind: uniform, a: low, b: high} }

// Normal is the absolute value of a normal distribution. sd is its standard deviation.
func Normal(mean, sd time.Duration) Dist { return Dist{kind: normal, a: mean, b: sd} }

// LogNormal has the shape of the latencies of most services: half of the draws are below
// median, one in a hundred is above p99.
func LogNormal(median, p99 time.Duration) Dist { return Dist{kind: logNormal, a: median, b: p99} }

// Erlang is the sum of k exponential times with that mean in all: the larger k, the
// closer to fixed.
func Erlang(k int, mean time.Duration) Dist { return Dist{kind: erlang, k: k, a: mean} }

// Mix draws from rare with probability p, else from usual: two kinds of calls.
func Mix(p float64, rare, usual Dist) Dist {
	return Dist{kind: mixture, weight: p, parts: &[2]Dist{rare, usual}}
}

// z99 is the quantile 0.99 of the standard normal distribution.
const z99 = 2.3263478740408408

// Draw returns one time.
func (d Dist) Draw(r *rand.Rand) time.Duration {
	switch d.kind {
	case exponential:
		return saturate(r.ExpFloat64() * float64(d.a))
	case uniform:
		return d.a + saturate(r.Float64()*float64(d.b-d.a))
	case normal:
		return saturate(math.Abs(float64(d.a) + r.NormFloat64()*float64(d.b)))
	case logNormal:
		return saturate(float64(d.a) * math.Exp(d.sigma()*r.NormFloat64()))
	case erlang:
		sum := 0.0
		for range d.k {
			sum += r.ExpFloat64()
		}
		return saturate(sum / float64(d.k) * float64(d.a))
	case mixture:
		if r.Float64() < d.weight {
			return d.parts[0].Draw(r)
		}
		return d.parts[1].Draw(r)
	default:
		return d.a
	}
}

func (d Dist) sigma() float64 { return math.Log(float64(d.b)/float64(d.a)) / z99 }

// saturate keeps a draw far from the end of time, so that sums do not overflow.
func saturate(ns float64) time.Duration {
	return time.Duration(min(ns, float64(never/4)))
}

// Mean is the average of the draws.
func (d Dist) Mean() time.Duration {
	switch d.kind {
	case uniform:
		return d.a + (d.b-d.a)/2
	case normal: // of the absolute value
		m, s := float64(d.a), float64(d.b)
		if s == 0 {
			return d.a
		}
		return time.Duration(s*math.Sqrt(2/math.Pi)*math.Exp(-m*m/(2*s*s)) + m*math.Erf(m/(s*math.Sqrt2)))
	case logNormal:
		s := d.sigma()
		return time.Duration(float64(d.a) * math.Exp(s*s/2))
	case mixture:
		return time.Duration(d.weight*float64(d.parts[0].Mean()) + (1-d.weight)*float64(d.parts[1].Mean()))
	default:
		return d.a
	}
}

// String reads like "exp 50ms".
func (d Dist) String() string {
	switch d.kind {
	case exponential:
		return fmt.Sprintf("exp %s", d.a)
	case uniform:
		return fmt.Sprintf("uniform %s to %s", d.a, d.b)
	case normal:
		return fmt.Sprintf("normal %s sd %s", d.a, d.b)
	case logNormal:
		return fmt.Sprintf("log-normal median %s p99 %s", d.a, d.b)
	case erlang:
		return fmt.Sprintf("erlang %d of %s", d.k, d.a)
	case mixture:
		return fmt.Sprintf("%v%% %s, else %s", 100*d.weight, d.parts[0], d.parts[1])
	default:
		return fmt.Sprintf("fixed %s", d.a)
	}
}

// isFixed reports whether every draw is the same.
func (d Dist) isFixed() bool { return d.kind == fixed }

// check notes what is wrong with the distribution in that field.
func (d Dist) check(p *settings.Problems, field string) {
	ok, reason := true, ""
	switch d.kind {
	case fixed:
		ok, reason = d.a >= 0, "must not be negative"
	case exponential:
		ok, reason = d.a > 0, "the mean must be positive"
	case uniform:
		ok, reason = d.a >= 0 && d.b >= d.a, "must not be negative, and low not above high"
	case normal:
		ok, reason = d.a >= 0 && d.b >= 0, "mean and sd must not be negative"
	case logNormal:
		ok, reason = d.a > 0 && d.b > d.a, "the median must be positive, and p99 above it"
	case erlang:
		ok, reason = d.a > 0 && d.k >= 1 && d.k <= 10_000, "the mean must be positive, and k from 1 to 10000"
	case mixture:
		d.parts[0].check(p, field+".rare")
		d.parts[1].check(p, field+".usual")
		ok, reason = d.weight >= 0 && d.weight <= 1, "the probability must be from 0 to 1"
	}
	p.Check(field, ok && d.a <= longest && d.b <= longest, field, d, reason+limitNote(d.a > longest || d.b > longest))
}

func limitNote(over bool) string {
	if over {
		return "; at most " + longest.String()
	}
	return ""
}
