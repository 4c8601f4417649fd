package bounds

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// memory makes many calls through one stack, of which some fail, some are retried, some
// cancelled and some refused, and compares the live heap before and after.
func memory(calls int) []Bound {
	grown := heapGrowth(memoryStack(), calls)
	return []Bound{{
		What: fmt.Sprintf("live heap after %d calls more than after %d", calls, calls/100),
		Got:  grown / 1024, Limit: 16, Unit: "KiB",
	}}
}

// memoryStack has windows that many slots pass through in the time that the calls take,
// and a breaker that trips now and then.
func memoryStack() *stoic.Pipeline {
	s := peers.Defaults()
	return stoic.MustNew("p",
		deadline.New(s.Total),
		budget.New(budget.Window(100*time.Millisecond), budget.MinPerSecond(1000)),
		retry.New(retry.MaxAttempts(s.Attempts), retry.Constant(0)),
		breaker.New("b", breaker.ConsecutiveFailures(s.InARow), breaker.OpenFor(time.Millisecond),
			breaker.FailureRate(s.Rate, s.MinCalls, 100*time.Millisecond), breaker.FailureRateOfLast(0.9, 100)),
		ratelimit.New(rate.Limit(1e9), s.Limit),
		deadline.New(s.Each),
	)
}

func heapGrowth(p *stoic.Pipeline, calls int) (bytes float64) {
	manyCalls(p, calls/100)
	before := liveHeap()
	manyCalls(p, calls)
	after := liveHeap()
	runtime.KeepAlive(p)
	return float64(after) - float64(before)
}

// manyCalls makes calls from as many goroutines as there are processors.
func manyCalls(p *stoic.Pipeline, calls int) {
	var next atomic.Int64
	op := func(ctx context.Context) error {
		switch n := next.Add(1); {
		case n%100_000 < 20: // the breaker trips
			return peers.ErrDown
		case n%100 == 0: // a retry
			return peers.ErrDown
		case n%10 == 0: // a deadline that is waited on
			select {
			case <-ctx.Done():
				return ctx.Err()
			default:
			}
		}
		return nil
	}
	live := context.Background()
	cancelled, cancel := context.WithCancel(live)
	cancel()
	var wg sync.WaitGroup
	goroutines := runtime.GOMAXPROCS(0)
	for range goroutines {
		wg.Go(func() {
			for i := range calls / goroutines {
				ctx := live
				if i%50 == 0 {
					ctx = cancelled
				}
				_ = p.Do(ctx, op)
			}
		})
	}
	wg.Wait()
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
