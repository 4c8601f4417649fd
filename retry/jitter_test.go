package retry_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoic-go/stoic/retry"
)

// series are the delays of calls that all fail.
func series(t *testing.T, calls, retries int, random func() float64, option retry.Option) [][]time.Duration {
	t.Helper()
	all := make([][]time.Duration, calls)
	for i := range all {
		var s sleeper
		p := plain(t, retry.New(retry.MaxAttempts(retries+1), retry.Sleep(s.sleep), retry.Rand(random), option))
		identical(t, p.Do(t.Context(), func(context.Context) error { return errBoom }), errBoom)
		all[i] = s.slept
	}
	return all
}

func TestEqualJitterNeverFallsBelowHalf(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)).Float64
	for _, delays := range series(t, 1000, 10, random, retry.EqualJitter(100*time.Millisecond, 10*time.Second)) {
		full := 100 * time.Millisecond
		for n, d := range delays {
			if d < full/2 || d > full {
				t.Errorf("retry %d: got %v, want from %v to %v", n, d, full/2, full)
			}
			full = min(2*full, 10*time.Second)
		}
	}
}

func TestDecorrelatedJitterStaysBetweenBaseAndThreeTimesThePrevious(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)).Float64
	base, ceiling := 100*time.Millisecond, 10*time.Second
	capped := 0
	for _, delays := range series(t, 1000, 10, random, retry.DecorrelatedJitter(base, ceiling)) {
		previous := base
		for n, d := range delays {
			if d < base || d > min(3*previous, ceiling) {
				t.Errorf("retry %d: got %v after %v", n, d, previous)
			}
			if d == ceiling {
				capped++
			}
			previous = d
		}
	}
	if capped == 0 {
		t.Error("no delay reached the max")
	}
}

// TestJitterIsUniform holds the distribution of each jitter against the uniform one
// over its range, by the test of Kolmogorov and Smirnov at the level of 0.1 %.
func TestJitterIsUniform(t *testing.T) {
	const n = 10_000
	tests := []struct {
		name      string
		option    retry.Option
		low, high time.Duration
	}{
		{"full", retry.FullJitter(time.Second, time.Minute), 0, time.Second},
		{"full at max", retry.FullJitter(time.Minute, time.Minute), 0, time.Minute},
		{"equal", retry.EqualJitter(time.Second, time.Minute), time.Second / 2, time.Second},
		{"decorrelated", retry.DecorrelatedJitter(time.Second, time.Minute), time.Second, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6)).Float64
			var xs []float64
			for _, delays := range series(t, n, 1, random, tt.option) {
				xs = append(xs, float64(delays[0]-tt.low)/float64(tt.high-tt.low))
			}
			slices.Sort(xs)
			var worst float64
			for i, x := range xs {
				worst = max(worst, x-float64(i)/n, float64(i+1)/n-x)
			}
			if limit := 1.95 / math.Sqrt(n); worst > limit {
				t.Errorf("distance from the uniform distribution: got %.4f, want at most %.4f", worst, limit)
			}
		})
	}
}

// The default source is the one of the process, not one that starts the same.
func TestDefaultRandIsUniform(t *testing.T) {
	var sum time.Duration
	const n = 10_000
	var s sleeper
	p := plain(t, retry.New(retry.MaxAttempts(n+1), retry.Sleep(s.sleep), retry.FullJitter(time.Second, time.Second)))
	identical(t, p.Do(t.Context(), func(context.Context) error { return errBoom }), errBoom)
	for _, d := range s.slept {
		sum += d
	}
	// The mean has a standard deviation of 2.9 ms: ten of them.
	if mean := sum / n; mean < 471*time.Millisecond || mean > 529*time.Millisecond {
		t.Errorf("mean of %d draws: got %v, want 500ms", n, mean)
	}
}
