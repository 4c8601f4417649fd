package breaker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

// wantChain checks that each change begins where the one before ended.
func (r *rig) wantChain() {
	r.t.Helper()
	state := "closed"
	for i, c := range r.rec.Events() {
		if c.From == "" {
			continue // not a change
		}
		if c.From != state || c.To == state {
			r.t.Fatalf("event %d: %s->%s, but the state was %s", i, c.From, c.To, state)
		}
		state = c.To
	}
}

// wantRecovery checks that the breaker closes when the dependency is well again.
func (r *rig) wantRecovery() {
	r.t.Helper()
	for range 1_000_000 {
		_ = r.do(context.Background(), succeed)
		if r.b.State() == breaker.Closed {
			r.wantChain()
			return
		}
		runtime.Gosched()
	}
	r.t.Fatalf("does not close: %v, %+v", r.b.State(), r.b.Counts())
}

// chaos calls from several goroutines with random ends.
func (r *rig) chaos(goroutines, calls int) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range calls {
				how := outcomes[random.IntN(len(outcomes)-1)] // all but the cancel
				yield := random.IntN(4)
				run(func() error {
					return r.do(context.Background(), func(ctx context.Context) error {
						for range yield {
							runtime.Gosched()
						}
						return how.op(ctx)
					})
				})
				_, _ = r.b.State(), r.b.Counts()
			}
		})
	}
	wg.Wait()
}

func TestConcurrentChaosRecovers(t *testing.T) {
	tests := map[string][]breaker.Option{
		"in a row":     inARow(2, 20*time.Microsecond, 1),
		"three probes": inARow(2, 20*time.Microsecond, 3),
		"rate":         {breaker.FailureRate(0.3, 3, 10*time.Millisecond), breaker.OpenFor(time.Microsecond), breaker.Probes(2)},
		"of last":      {breaker.FailureRateOfLast(0.5, 6), breaker.OpenFor(time.Microsecond)},
		"hung probes":  inARow(1, time.Microsecond, 2, breaker.ProbeTimeout(time.Microsecond)),
	}
	for name, opts := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, append(opts, breaker.Judge(notFoundIsNeutral))...)
			r.chaos(8, 400)
			r.wantChain()
			r.wantRecovery()
		})
	}
}

func TestConcurrentForcing(t *testing.T) {
	r := newRig(t, inARow(1, 10*time.Microsecond, 1, breaker.Judge(notFoundIsNeutral))...)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 2))
			for !stop.Load() {
				switch random.IntN(4) {
				case 0:
					r.b.ForceOpen()
				case 1:
					r.b.ForceClosed()
				default:
					r.b.Auto()
				}
				runtime.Gosched()
			}
		})
	}
	r.chaos(4, 600)
	stop.Store(true)
	wg.Wait()
	r.wantChain()
	r.b.Auto()
	r.wantRecovery()
}

// Never more than p probes at a time: in each period calls come from many goroutines,
// all neutral but one, so that each neutral end frees its place.
func TestConcurrentProbesAreAtMostP(t *testing.T) {
	for p := 1; p <= 3; p++ {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, inARow(1, time.Second, p, breaker.Judge(notFoundIsNeutral))...)
			for range 20 {
				r.trip(time.Second)
				var in, most, sent atomic.Int64
				neutral := func(context.Context) error {
					sent.Add(1)
					raise(&most, in.Add(1))
					runtime.Gosched()
					in.Add(-1)
					return errNotFound
				}
				var wg sync.WaitGroup
				for range 16 {
					wg.Go(func() {
						for range 10 {
							_ = r.p.Do(context.Background(), neutral)
						}
					})
				}
				wg.Wait()
				if got := most.Load(); got > int64(p) || sent.Load() == 0 {
					t.Fatalf("%d probes at a time, want at most %d", got, p)
				}
				if got := r.succeedAtOnce(16); got != int64(p) {
					t.Fatalf("admitted %d, want %d", got, p)
				}
				r.wantState(breaker.Closed)
			}
			r.wantChain()
		})
	}
}

// raise raises most to n.
func raise(most *atomic.Int64, n int64) {
	for {
		m := most.Load()
		if n <= m || most.CompareAndSwap(m, n) {
			return
		}
	}
}

// succeedAtOnce makes calls from n goroutines that wait for each other to be admitted
// or rejected, and then succeed. It returns how many were admitted.
func (r *rig) succeedAtOnce(n int) int64 {
	var admitted atomic.Int64
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for range n {
		wg.Go(func() {
			err := r.p.Do(context.Background(), func(context.Context) error {
				admitted.Add(1)
				<-gate
				return nil
			})
			if err != nil && !errors.Is(err, stoic.ErrRejected) {
				r.t.Errorf("got %v", err)
			}
		})
	}
	synctest.Wait()
	close(gate)
	wg.Wait()
	return admitted.Load()
}

// Exactly one change although many fail at once.
func TestConcurrentFailuresOpenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(5, time.Hour, 1)...)
		calls := make([]*held, 64)
		for i := range calls {
			calls[i] = start(t, r.p)
		}
		synctest.Wait()
		for _, c := range calls {
			go func() { c.how <- fail }()
		}
		for _, c := range calls {
			<-c.end
		}
		r.wantState(breaker.Open)
		r.wantChanges("closed->open")
	})
}

// Every call that counts is counted, and each once.
func TestConcurrentCountsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, breaker.ConsecutiveFailures(1_000_000))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 100 {
					_ = r.p.Do(context.Background(), succeed)
					_ = r.p.Do(context.Background(), fail)
				}
			})
		}
		wg.Wait()
		if got := r.b.Counts(); got.Successes != 800 || got.Failures != 800 {
			t.Errorf("got %+v, want 800 each", got)
		}
	})
}
