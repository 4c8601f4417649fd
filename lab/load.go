package lab

import (
	"math"
	"math/rand/v2"
	"time"
)

// LoadPoint is the load at one moment. Between two points it changes linearly; two
// points of the same moment are a step.
type LoadPoint struct {
	At   time.Duration `json:"at_ns"`
	Rate float64       `json:"rate"` // requests a second, of all processes together
}

// Spike is base requests a second, and peak from From to To.
func Spike(base, peak float64, from, to time.Duration) []LoadPoint {
	return []LoadPoint{{0, base}, {from, base}, {from, peak}, {to, peak}, {to, base}}
}

// arrivals makes the instants at which requests start: a Poisson process of varying
// rate, or one without randomness, by inverting the integral of the rate.
type arrivals struct {
	points []LoadPoint
	i      int     // the segment in which the last one was, from points[i] to the next
	used   float64 // of the integral over that segment: reckoned from its beginning, nothing drifts
	even   bool
	r      *rand.Rand
}

func newArrivals(c *Clients, r *rand.Rand) *arrivals {
	points := c.Load
	if len(points) == 0 {
		points = []LoadPoint{{0, c.Rate}}
	}
	return &arrivals{points: points, even: c.Even, r: r}
}

// next returns the following instant, or never.
func (a *arrivals) next() time.Duration {
	need := 1.0
	if !a.even {
		need = a.r.ExpFloat64()
	}
	a.used += need
	for ; a.i+1 < len(a.points); a.i++ {
		from, to := a.points[a.i], a.points[a.i+1]
		length := (to.At - from.At).Seconds()
		whole := length * (from.Rate + to.Rate) / 2
		if a.used <= whole {
			slope := (to.Rate - from.Rate) / length
			return after(from, 2*a.used/(from.Rate+math.Sqrt(max(0, from.Rate*from.Rate+2*slope*a.used))))
		}
		a.used -= whole
	}
	last := a.points[a.i]
	return after(last, a.used/last.Rate)
}

// after is so many seconds after the point, or never.
func after(p LoadPoint, seconds float64) time.Duration {
	if ns := seconds * float64(time.Second); ns < float64(never/2) {
		return p.At + time.Duration(math.Round(ns))
	}
	return never
}
