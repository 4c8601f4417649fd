package stoic_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// benchRun runs an operation under something.
type benchRun func(ctx context.Context, fn stoic.Func) error

// benchNoWait is an operation that does not look at its context.
func benchNoWait(context.Context) error { return nil }

// benchWait is one that waits on its context, as far as that costs something: it
// asks for Done.
func benchWait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return nil
	}
}

// BenchmarkStoic is the success path of the policies and of stacks of them.
func BenchmarkStoic(b *testing.B) {
	for _, s := range benchStacks() {
		benchBoth(b, s.name, benchNoWait, stoic.MustNew("p", s.layers...).Do)
		if s.deadlines {
			benchBoth(b, s.name+"-wait", benchWait, stoic.MustNew("p", s.layers...).Do)
		}
	}
	observed := append([]stoic.Policy{stoic.Observe(hooks.Nop{})}, benchFull()...)
	benchBoth(b, "full-observed", benchNoWait, stoic.MustNew("p", observed...).Do)
}

// BenchmarkByHand is the same with the same parts, written by hand.
func BenchmarkByHand(b *testing.B) {
	for _, s := range benchStacks() {
		if s.byHand == nil {
			continue
		}
		benchBoth(b, s.name, benchNoWait, s.byHand(newByHand()))
		if s.deadlines {
			benchBoth(b, s.name+"-wait", benchWait, s.byHand(newByHand()))
		}
	}
}

// benchBoth runs one goroutine, and then as many as there are processors.
func benchBoth(b *testing.B, name string, fn stoic.Func, run benchRun) {
	b.Helper()
	ctx := context.Background()
	b.Run("success/"+name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := run(ctx, fn); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("success/"+name+"/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := run(ctx, fn); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

type benchStack struct {
	name      string
	layers    []stoic.Policy
	byHand    func(*byHand) benchRun // nil where there is nothing to compare with
	deadlines bool
}

func benchStacks() []benchStack {
	return []benchStack{
		{name: "empty"},
		{name: "deadline", layers: []stoic.Policy{deadline.New(2 * time.Second)}, deadlines: true, byHand: func(h *byHand) benchRun { return h.deadline }},
		{name: "budget-retry", layers: []stoic.Policy{budget.New(), retry.New()}, byHand: func(h *byHand) benchRun { return h.retry }},
		{name: "retry", layers: []stoic.Policy{retry.New()}},
		{name: "breaker", layers: []stoic.Policy{breaker.New("b")}, byHand: func(h *byHand) benchRun { return h.breaker }},
		{name: "ratelimit", layers: []stoic.Policy{benchLimiter()}, byHand: func(h *byHand) benchRun { return h.limiter }},
		{name: "four", layers: benchFour(), byHand: func(h *byHand) benchRun { return h.four }},
		{name: "full", layers: benchFull(), deadlines: true, byHand: func(h *byHand) benchRun { return h.full }},
	}
}

func benchLimiter() stoic.Policy { return ratelimit.New(1e9, 1e9) }

// benchFour are the four policies that do nothing to the context.
func benchFour() []stoic.Policy {
	return []stoic.Policy{budget.New(), retry.New(), breaker.New("b"), benchLimiter()}
}

// benchFull is the recommended stack of six layers.
func benchFull() []stoic.Policy {
	layers := append([]stoic.Policy{deadline.New(2 * time.Second)}, benchFour()...)
	return append(layers, deadline.New(500*time.Millisecond))
}

// byHand is a stack as one writes it without a library.
type byHand struct {
	cb     *gobreaker.CircuitBreaker[struct{}]
	tokens *rate.Limiter
	budget handBudget
}

var errHandLimited = errors.New("rate limited")

func newByHand() *byHand {
	return &byHand{
		cb: gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			Name: "b", Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: 5 * time.Second,
			ReadyToTrip: func(n gobreaker.Counts) bool {
				return n.ConsecutiveFailures >= 10 || n.Requests >= 50 && 2*n.TotalFailures >= n.Requests
			},
		}),
		tokens: rate.NewLimiter(1e9, 1e9),
	}
}

func (h *byHand) full(ctx context.Context, fn stoic.Func) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h.budget.request()
	for attempt := 1; ; attempt++ {
		_, err := h.cb.Execute(func() (struct{}, error) {
			if !h.tokens.Allow() {
				return struct{}{}, errHandLimited
			}
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			return struct{}{}, fn(ctx)
		})
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) four(ctx context.Context, fn stoic.Func) error {
	h.budget.request()
	for attempt := 1; ; attempt++ {
		_, err := h.cb.Execute(func() (struct{}, error) {
			if !h.tokens.Allow() {
				return struct{}{}, errHandLimited
			}
			return struct{}{}, fn(ctx)
		})
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) retry(ctx context.Context, fn stoic.Func) error {
	h.budget.request()
	for attempt := 1; ; attempt++ {
		err := fn(ctx)
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) deadline(ctx context.Context, fn stoic.Func) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return fn(ctx)
}

func (h *byHand) breaker(ctx context.Context, fn stoic.Func) error {
	_, err := h.cb.Execute(func() (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

func (h *byHand) limiter(ctx context.Context, fn stoic.Func) error {
	if !h.tokens.Allow() {
		return errHandLimited
	}
	return fn(ctx)
}

// again waits before another attempt, unless there should be none.
func (h *byHand) again(ctx context.Context, attempt int) bool {
	if attempt == 3 || !h.budget.retry() {
		return false
	}
	timer := time.NewTimer(rand.N(100 * time.Millisecond << attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// handBudget allows one retry for ten requests, and one a second, within 10 s.
type handBudget struct {
	mu                sync.Mutex
	second            int64
	requests, retries [10]int
}

func (b *handBudget) request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests[b.slot()]++
}

func (b *handBudget) retry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot, requests, retries := b.slot(), 0, 0
	for i := range b.requests {
		requests += b.requests[i]
		retries += b.retries[i]
	}
	if retries >= requests/10+10 {
		return false
	}
	b.retries[slot]++
	return true
}

// slot is that of this second, after those that have left the window were emptied.
func (b *handBudget) slot() int64 {
	now := time.Now().Unix()
	for b.second = max(b.second, now-10); b.second < now; {
		b.second++
		b.requests[b.second%10], b.retries[b.second%10] = 0, 0
	}
	return b.second % 10
}
