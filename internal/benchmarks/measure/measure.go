// Package measure compares code that allocates on a machine that is not quiet. Such
// code drifts by 40 % within seconds, so contenders take turns in short slices, in
// random order, within one process; a ratio is taken in each round, where both had the
// same weather, and reported is the median of the rounds.
package measure

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Subject is something to measure.
type Subject struct {
	Name string

	// Goroutines make the calls; zero is one.
	Goroutines int

	// Start prepares one goroutine: it returns a function that makes n calls and reports
	// whether all went well, and one that ends what was prepared.
	Start func() (calls func(n int) bool, stop func())
}

// Config says how long to measure.
type Config struct {
	Rounds int
	Slice  time.Duration
}

// Default is 30 rounds of 20 ms.
func Default() Config { return Config{Rounds: 30, Slice: 20 * time.Millisecond} }

// batch is how many calls are made between two looks at the clock.
const batch = 100

// Paired measures the subjects and returns for each the nanoseconds of a call in every
// round: the time that passed, divided by the calls of all goroutines.
func Paired(cfg Config, subjects []Subject) ([]Sample, error) {
	samples := make([]Sample, len(subjects))
	for _, s := range subjects {
		if _, err := slice(cfg.Slice/10, s); err != nil {
			return nil, err
		}
	}
	for range cfg.Rounds {
		for _, i := range rand.Perm(len(subjects)) {
			ns, err := slice(cfg.Slice, subjects[i])
			if err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], ns)
		}
	}
	return samples, nil
}

// slice returns the time that has passed for each call. The garbage of the others is
// collected before.
func slice(length time.Duration, s Subject) (nanoseconds float64, err error) {
	runtime.GC()
	var calls atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	work := func(start time.Time) {
		run, stop := s.Start()
		defer stop()
		n := 0
		for {
			if !run(batch) {
				failed.Store(true)
				return
			}
			n += batch
			if time.Since(start) >= length {
				break
			}
		}
		calls.Add(int64(n))
	}
	start := time.Now()
	for range s.Goroutines - 1 {
		wg.Go(func() { work(start) })
	}
	work(start)
	wg.Wait()
	elapsed := time.Since(start)
	if failed.Load() {
		return 0, fmt.Errorf("%s: a call did not go as it should", s.Name)
	}
	return float64(elapsed) / float64(calls.Load()), nil
}

// Allocs returns the allocations of a call, of its other goroutines too. The average
// of many calls is rounded down, as package testing does: what is more is the
// runtime's.
func Allocs(s Subject) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run, stop := s.Start()
	defer stop()
	if !run(batch) {
		return 0, fmt.Errorf("%s: a call did not go as it should", s.Name)
	}
	const n = 10 * batch
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ok := run(n)
	runtime.ReadMemStats(&after)
	if !ok {
		return 0, fmt.Errorf("%s: a call did not go as it should", s.Name)
	}
	return float64((after.Mallocs - before.Mallocs) / n), nil
}
