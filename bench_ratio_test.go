package stoic_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
)

// How the ratio is measured: code that allocates drifts by 40 % within seconds on a
// shared machine, so contenders take turns in short slices, in random order.
const (
	ratioRounds = 60
	ratioSlice  = 20 * time.Millisecond
)

// BenchmarkRatio is the time of a success in a stack, divided by that of the same
// written by hand ([byHand]). One round is a slice of each; reported is the median of
// the rounds' ratios, with their quartiles, and the median nanoseconds of each.
//
//	go test -run '^$' -bench Ratio -benchtime 1x .
func BenchmarkRatio(b *testing.B) {
	hand := newByHand()
	full := stoic.MustNew("p", benchFull()...).Do
	four := stoic.MustNew("p", benchFour()...).Do
	brk := stoic.MustNew("p", breaker.New("b")).Do
	limit := stoic.MustNew("p", deadline.New(2*time.Second)).Do
	for _, bb := range []struct {
		name          string
		stack, byHand benchRun
		fn            stoic.Func
		goroutines    int
	}{
		{"full/nowait", full, hand.full, benchNoWait, 1},
		{"full/nowait/two cores", full, hand.full, benchNoWait, 2},
		{"full/wait", full, hand.full, benchWait, 1},
		{"full/wait/two cores", full, hand.full, benchWait, 2},
		{"four", four, hand.four, benchNoWait, 1},
		{"four/parallel", four, hand.four, benchNoWait, 2},
		{"breaker", brk, hand.breaker, benchNoWait, 1},
		{"deadline/nowait", limit, hand.deadline, benchNoWait, 1},
		{"deadline/wait", limit, hand.deadline, benchWait, 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				ratioReport(b, bb.goroutines, bb.fn, bb.stack, bb.byHand)
			}
			b.ReportMetric(0, "ns/op") // of this benchmark, which nobody wants to know
		})
	}
}

func ratioReport(b *testing.B, goroutines int, fn stoic.Func, stack, byHand benchRun) {
	b.Helper()
	contenders := [2]benchRun{stack, byHand}
	var nanos [2][]float64
	var ratios []float64
	for range ratioRounds {
		var ns [2]float64
		for _, i := range rand.Perm(2) {
			ns[i] = ratioSliceOf(b, goroutines, fn, contenders[i])
			nanos[i] = append(nanos[i], ns[i])
		}
		ratios = append(ratios, ns[0]/ns[1])
	}
	b.ReportMetric(ratioQuantile(ratios, 0.25), "ratio-q1")
	b.ReportMetric(ratioQuantile(ratios, 0.5), "ratio")
	b.ReportMetric(ratioQuantile(ratios, 0.75), "ratio-q3")
	b.ReportMetric(ratioQuantile(nanos[0], 0.5), "stack-ns")
	b.ReportMetric(ratioQuantile(nanos[1], 0.5), "byhand-ns")
}

// ratioSliceOf returns the nanoseconds of a call in one slice. The garbage of the
// other contender is collected before.
func ratioSliceOf(b *testing.B, goroutines int, fn stoic.Func, run benchRun) float64 {
	b.Helper()
	runtime.GC()
	var total float64 // calls in a nanosecond
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			n, elapsed := ratioLoop(fn, run)
			mu.Lock()
			defer mu.Unlock()
			total += float64(n) / float64(elapsed)
		})
	}
	wg.Wait()
	if total == 0 {
		b.Fatal("a call failed")
	}
	return 1 / total
}

func ratioLoop(fn stoic.Func, run benchRun) (n int, elapsed time.Duration) {
	ctx := context.Background()
	for start := time.Now(); elapsed < ratioSlice; elapsed = time.Since(start) {
		for range 100 {
			if run(ctx, fn) != nil {
				return 0, 1
			}
		}
		n += 100
	}
	return n, elapsed
}

func ratioQuantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
