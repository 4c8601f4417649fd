package ratelimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

// queue starts n calls, one after the other at the same moment, and returns when
// each was admitted; -1 if it was not. cancel of i comes at the given time.
func queue(t *testing.T, p *stoic.Pipeline, n int, cancels map[int]time.Duration) []time.Duration {
	t.Helper()
	admitted := make([]time.Duration, n)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		admitted[i] = -1
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if d, ok := cancels[i]; ok {
			time.AfterFunc(d, cancel)
		}
		wg.Go(func() {
			_ = p.Do(ctx, func(context.Context) error {
				admitted[i] = time.Since(start)
				return nil
			})
		})
		synctest.Wait()
	}
	wg.Wait()
	return admitted
}

func wantAdmitted(t *testing.T, got, want []time.Duration) {
	t.Helper()
	near := func(a, b time.Duration) bool { return a-b <= 1 && b-a <= 1 }
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("admitted at %v, want %v (± 1ns)", got, want)
	}
}

func TestWaitersAreAdmittedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := single(empty(1), ratelimit.Wait(5*time.Second))
		got := queue(t, p, 7, nil)
		const s = time.Second
		wantAdmitted(t, got, []time.Duration{s, 2 * s, 3 * s, 4 * s, 5 * s, -1, -1}) // two would wait more than 5s
	})
}

// The token of a waiter who is cancelled goes back as far as x/time can.
func TestTokenOfACancelledWaiter(t *testing.T) {
	const s = time.Second
	t.Run("the last one's is given to the next call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := empty(1)
			p := single(limiter, ratelimit.Wait(time.Minute))
			got := queue(t, p, 3, map[int]time.Duration{2: s / 2})
			wantAdmitted(t, got, []time.Duration{s, 2 * s, -1})
			wantAdmitted(t, queue(t, p, 1, nil), []time.Duration{s}) // 3s after the start: not 4s
		})
	})
	t.Run("one in the middle is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := empty(1)
			p := single(limiter, ratelimit.Wait(time.Minute))
			got := queue(t, p, 3, map[int]time.Duration{1: s / 2})
			wantAdmitted(t, got, []time.Duration{s, -1, 3 * s}) // nobody moves up
			wantAdmitted(t, queue(t, p, 1, nil), []time.Duration{s})
		})
	})
}

// The sum of what is admitted in any window is at most burst + rate * window,
// whatever arrives when, waits, gives up, or is refused.
func TestRateIsNeverExceeded(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		limit, burst := rate.Limit(1+rng.Float64()*50), 1+rng.IntN(5)
		opts := []ratelimit.Option{ratelimit.Reject()}
		if rng.IntN(3) > 0 {
			opts = []ratelimit.Option{ratelimit.Wait(time.Duration(1 + rng.Int64N(int64(2*time.Second))))}
		}
		synctest.Test(t, func(t *testing.T) {
			p := stoic.MustNew("payments", ratelimit.New(limit, burst, opts...))
			admitted := arrivals(t, rng, p)
			if len(admitted) == 0 {
				t.Fatal("nobody was admitted")
			}
			for i := range admitted {
				for j := i; j < len(admitted); j++ {
					window := admitted[j] - admitted[i] + 2 // two waits may end 1ns early
					if n, most := float64(j-i+1), float64(burst)+float64(limit)*window.Seconds(); n > most+1e-9 {
						t.Fatalf("%v/s, burst %d: %v admitted within %v", limit, burst, n, window)
					}
				}
			}
		})
	}
}

// arrivals makes 200 calls at random times, and returns when they were admitted.
func arrivals(t *testing.T, rng *rand.Rand, p *stoic.Pipeline) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var admitted []time.Duration
	var wg sync.WaitGroup
	start := time.Now()
	for range 200 {
		at, patience := time.Duration(rng.Int64N(int64(4*time.Second))), time.Duration(1+rng.Int64N(int64(3*time.Second)))
		impatient := rng.IntN(2) == 0
		wg.Go(func() {
			time.Sleep(at)
			ctx := t.Context()
			switch {
			case impatient && at%2 == 0:
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(patience, cancel)
			case impatient:
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, patience)
				defer cancel()
			}
			_ = p.Do(ctx, func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				admitted = append(admitted, time.Since(start))
				return nil
			})
		})
	}
	wg.Wait()
	slices.Sort(admitted)
	return admitted
}

// overtaken is a context in whose Done somebody else takes a token: after the limiter
// has looked, and before it waits.
type overtaken struct {
	context.Context
	take func()
}

func (c *overtaken) Done() <-chan struct{} {
	c.take()
	return c.Context.Done()
}

func TestOvertakenBetweenLookAndWait(t *testing.T) {
	const sec = time.Second
	tests := []struct {
		name          string
		max, deadline time.Duration
		admitted      bool
		tooLate       bool
	}{
		{"still fits", time.Minute, time.Minute, true, false},
		{"just before the deadline", time.Minute, 2*sec + 1, true, false},
		{"now at the deadline", time.Minute, 2 * sec, false, true},
		{"now after the deadline", time.Minute, 2*sec - 1, false, true},
		{"now max", 2 * sec, time.Minute, true, false},
		{"now longer than max", 2*sec - 1, time.Minute, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := empty(1)
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				take := sync.OnceFunc(func() { limiter.Reserve() })
				o := newOp(succeed)
				err := single(limiter, ratelimit.Wait(tt.max)).Do(&overtaken{ctx, take}, o.run)
				if tt.admitted {
					if err != nil {
						t.Error(err)
					}
					o.want(t, 2*sec)
					return
				}
				o.want(t)
				o.elapsed(t, 0)
				wantTokens(t, limiter, -1) // that of the other one
				wantIs(t, err, ratelimit.ErrLimited)
				if got := errors.Is(err, context.DeadlineExceeded); got != tt.tooLate {
					t.Errorf("matches DeadlineExceeded: %v, want %v", got, tt.tooLate)
				}
				if after, ok := rejection(t, err).RetryAfter(); !ok || after != 2*sec {
					t.Errorf("RetryAfter = %v, %v; want 2s", after, ok)
				}
			})
		})
	}
}

// Others may take the token between the look and the wait: then the limiter decides.
func TestRaceForTheLastToken(t *testing.T) {
	limiter := rate.NewLimiter(1e-9, 100)
	p := single(limiter, ratelimit.Wait(time.Hour))
	var wg sync.WaitGroup
	var mu sync.Mutex
	passed := 0
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range 100 {
				err := p.Do(t.Context(), func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					passed++
					return nil
				})
				if err != nil {
					wantIs(t, err, ratelimit.ErrLimited)
				}
			}
		})
	}
	wg.Wait()
	if passed != 100 {
		t.Errorf("%d passed, want the burst of 100", passed)
	}
}
