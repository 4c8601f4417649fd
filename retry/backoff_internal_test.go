package retry

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"
)

var kinds = []jitterKind{fullJitter, equalJitter, decorrelatedJitter, noJitter, constant}

// almostOne is the most that a well-behaved rand returns.
var almostOne = math.Nextafter(1, 0)

func fixed(x float64) func() float64 { return func() float64 { return x } }

// exact is min(ceiling, base·2ⁿ) without a limit to the numbers. It is exact for
// n up to 1000; beyond, every base above 0 has passed every ceiling.
func exact(base, ceiling time.Duration, n int) time.Duration {
	if base == 0 {
		return 0
	}
	full := new(big.Int).Lsh(big.NewInt(int64(base)), uint(min(n, 1000)))
	if full.Cmp(big.NewInt(int64(ceiling))) >= 0 {
		return ceiling
	}
	return time.Duration(full.Int64())
}

func TestC07_DelaySaturatesAtMax(t *testing.T) {
	ks := []int{1000, 1 << 31}
	for k := 200; k >= 1; k-- {
		ks = append([]int{k}, ks...)
	}
	tests := []struct {
		name      string
		base, max time.Duration
		want      func(k int) time.Duration
	}{
		{"30ms to 1s", 30 * time.Millisecond, time.Second, func(k int) time.Duration {
			if k >= 7 {
				return time.Second
			}
			return []time.Duration{0, 30e6, 60e6, 120e6, 240e6, 480e6, 960e6}[k]
		}},
		{"1s without a max", time.Second, math.MaxInt64, func(k int) time.Duration {
			switch {
			case k == 34:
				return 2386092*time.Hour + 56*time.Minute + 32*time.Second
			case k >= 35:
				return math.MaxInt64
			default:
				return exact(time.Second, math.MaxInt64, k-1)
			}
		}},
		{"1ns without a max", 1, math.MaxInt64, func(k int) time.Duration { return exact(1, math.MaxInt64, k-1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			backoff := New(NoJitter(tt.base, tt.max)).backoff
			previous := time.Duration(1)
			for _, k := range ks {
				got := backoff.Delay(k-1, 0, fixed(0))
				if want := tt.want(k); got != want {
					t.Errorf("retry %d: got %v, want %v", k, got, want)
				}
				if got < previous || got <= 0 {
					t.Errorf("retry %d: got %v after %v", k, got, previous)
				}
				previous = got
			}
		})
	}
}

func TestGrowIsExact(t *testing.T) {
	bases := []time.Duration{0, 1, 2, 3, 5, 1e6, 1e8, 1 << 30, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	for _, base := range bases {
		for _, ceiling := range bases {
			if ceiling < base {
				continue
			}
			for _, n := range []int{0, 1, 2, 30, 31, 32, 33, 61, 62, 63, 64, 65, 127, 128, 1 << 20, math.MaxInt32} {
				if got, want := grow(base, ceiling, n), exact(base, ceiling, n); got != want {
					t.Errorf("grow(%d, %d, %d): got %d, want %d", base, ceiling, n, got, want)
				}
			}
		}
	}
}

func TestTripleSaturates(t *testing.T) {
	tests := []struct{ in, want time.Duration }{
		{0, 0},
		{1, 3},
		{math.MaxInt64 / 3, math.MaxInt64 / 3 * 3},
		{math.MaxInt64/3 + 1, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		if got := triple(tt.in); got != tt.want {
			t.Errorf("triple(%d): got %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestRandOutsideOfItsRangeIsClamped(t *testing.T) {
	tests := []struct{ in, want float64 }{
		{0, 0},
		{0.5, 0.5},
		{almostOne, almostOne},
		{1, almostOne},
		{2, almostOne},
		{math.Inf(1), almostOne},
		{math.MaxFloat64, almostOne},
		{math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		{math.Copysign(0, -1), 0},
		{-0.5, 0},
		{math.Inf(-1), 0},
		{math.NaN(), 0},
	}
	for _, tt := range tests {
		if got := unit(fixed(tt.in)); got != tt.want {
			t.Errorf("unit(%v): got %v, want %v", tt.in, got, tt.want)
		}
		for _, kind := range kinds {
			j := jittered{kind: kind, base: time.Second, ceiling: time.Minute}
			if got, want := j.Delay(2, time.Second, fixed(tt.in)), j.Delay(2, time.Second, fixed(tt.want)); got != want {
				t.Errorf("%v with rand %v: got %v, want %v as with %v", kind, tt.in, got, want, tt.want)
			}
		}
	}
}

// TestDelayFormulas holds each kind to its formula, with base 1 s and max 1 min.
func TestDelayFormulas(t *testing.T) {
	tests := []struct {
		kind     jitterKind
		n        int
		previous time.Duration
		rand     float64
		want     time.Duration
	}{
		{fullJitter, 0, 0, 0, 0},
		{fullJitter, 0, 0, 0.25, 250 * time.Millisecond},
		{fullJitter, 3, time.Hour, 0.5, 4 * time.Second},
		{fullJitter, 6, 0, 0.5, 30 * time.Second},
		{equalJitter, 0, 0, 0, 500 * time.Millisecond},
		{equalJitter, 0, 0, 0.5, 750 * time.Millisecond},
		{equalJitter, 3, time.Hour, 0.5, 6 * time.Second},
		{equalJitter, 6, 0, 0, 30 * time.Second},
		{decorrelatedJitter, 0, 0, 0, time.Second},
		{decorrelatedJitter, 0, 0, 0.5, 2 * time.Second},
		{decorrelatedJitter, 9, 4 * time.Second, 0.5, 6500 * time.Millisecond},
		{decorrelatedJitter, 1, time.Second, 0, time.Second},
		{decorrelatedJitter, 1, time.Minute, 0.9, time.Minute},
		{noJitter, 3, time.Hour, 0.5, 8 * time.Second},
		{noJitter, 6, 0, 0.5, time.Minute},
		{constant, 6, time.Hour, 0.5, time.Second},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%v/%d/%v/%v", tt.kind, tt.n, tt.previous, tt.rand), func(t *testing.T) {
			j := jittered{kind: tt.kind, base: time.Second, ceiling: time.Minute}
			if tt.kind == constant {
				j.ceiling = time.Second
			}
			if got := j.Delay(tt.n, tt.previous, fixed(tt.rand)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestCeilingIsTheMostThatDelayReturns follows the greatest delays that a series can
// reach: no series passes Ceiling, and that one comes within rounding of it.
func TestCeilingIsTheMostThatDelayReturns(t *testing.T) {
	limits := []struct{ base, ceiling time.Duration }{
		{0, 0},
		{0, time.Second},
		{1, 1},
		{1, math.MaxInt64},
		{30 * time.Millisecond, time.Second},
		{100 * time.Millisecond, 10 * time.Second},
		{time.Second, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
	}
	for _, kind := range kinds {
		for _, limit := range limits {
			j := jittered{kind: kind, base: limit.base, ceiling: limit.ceiling}
			var previous time.Duration
			for n := range 200 {
				ceiling := j.Ceiling(n)
				for _, x := range []float64{0, 0.5, almostOne, 1, math.Inf(1), math.NaN()} {
					if got := j.Delay(n, previous, fixed(x)); got > ceiling || got < 0 {
						t.Errorf("%v(%d, %d): retry %d after %d, rand %v: got %d, want at most %d",
							kind, j.base, j.ceiling, n, previous, x, got, ceiling)
					}
				}
				previous = j.Delay(n, previous, fixed(1))
				// Each step is rounded down to whole nanoseconds, which matters for tiny bases only.
				if lost := ceiling - previous; j.base > time.Millisecond && lost > ceiling/1e6 {
					t.Errorf("%v(%d, %d): retry %d: Ceiling is %d, the most that is reached %d",
						kind, j.base, j.ceiling, n, ceiling, previous)
				}
			}
		}
	}
}

func FuzzBackoff(f *testing.F) {
	f.Add(uint8(0), int64(100e6), int64(10e9), uint32(0), int64(0), math.Float64bits(0.5))
	f.Add(uint8(1), int64(1), int64(1), uint32(63), int64(1), math.Float64bits(1))
	f.Add(uint8(2), int64(1e9), int64(math.MaxInt64), uint32(1<<31-1), int64(math.MaxInt64), math.Float64bits(math.NaN()))
	f.Add(uint8(3), int64(30e6), int64(1e9), uint32(39), int64(-1), math.Float64bits(-1))
	f.Add(uint8(4), int64(math.MaxInt64), int64(math.MaxInt64), uint32(62), int64(0), math.Float64bits(math.Inf(1)))
	f.Add(uint8(2), int64(0), int64(0), uint32(1), int64(0), math.Float64bits(math.Inf(-1)))
	f.Fuzz(func(t *testing.T, kind uint8, base, ceiling int64, n uint32, previous int64, bits uint64) {
		if base < 0 || ceiling < base {
			return // refused by stoic.New
		}
		j := jittered{
			kind: kinds[int(kind)%len(kinds)], base: time.Duration(base), ceiling: time.Duration(ceiling),
		}
		k := int(n % (1 << 31))
		random := fixed(math.Float64frombits(bits))
		got := j.Delay(k, time.Duration(previous), random)
		if got < 0 || got > j.ceiling {
			t.Errorf("%v: got %d, want from 0 to %d", j, got, j.ceiling)
		}
		switch full := exact(j.base, j.ceiling, k); j.kind {
		case noJitter, constant:
			if got != full {
				t.Errorf("%v: got %d, want %d", j, got, full)
			}
			if next := j.Delay(k+1, got, random); next < got {
				t.Errorf("%v: retry %d waits %d after %d", j, k+1, next, got)
			}
		case fullJitter:
			if got > full {
				t.Errorf("%v: got %d, want at most %d", j, got, full)
			}
		case equalJitter:
			if got > full || got < full/2 {
				t.Errorf("%v: got %d, want from half of %d", j, got, full)
			}
		case decorrelatedJitter:
			if got < j.base {
				t.Errorf("%v: got %d, want at least %d", j, got, j.base)
			}
		}
	})
}
