package measure

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// A Sample is one value a round, in the order of the rounds.
type Sample []float64

// A Summary is a median with its 95 % confidence interval, as benchstat computes it.
type Summary struct{ Center, Lo, Hi float64 }

// Summary returns that of the sample.
func (s Sample) Summary() Summary {
	sum := benchmath.AssumeNothing.Summary(
		benchmath.NewSample(slices.Clone(s), &benchmath.DefaultThresholds), 0.95)
	return Summary{Center: sum.Center, Lo: sum.Lo, Hi: sum.Hi}
}

// Over returns the ratios of the rounds.
func (s Sample) Over(other Sample) Sample {
	ratios := make(Sample, len(s))
	for i := range s {
		ratios[i] = s[i] / other[i]
	}
	return ratios
}

// Error is half of the confidence interval, relative to the median.
func (s Summary) Error() float64 {
	return math.Max(s.Hi-s.Center, s.Center-s.Lo) / s.Center
}
