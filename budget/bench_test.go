package budget_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

func benchSerial(b *testing.B, call func(context.Context) error) {
	b.Helper()
	b.Run("serial", func(b *testing.B) {
		ctx := context.Background()
		b.ReportAllocs()
		for b.Loop() {
			_ = call(ctx)
		}
	})
}

func benchParallel(b *testing.B, call func(context.Context) error) {
	b.Helper()
	b.Run("parallel", func(b *testing.B) {
		ctx := context.Background()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = call(ctx)
			}
		})
	})
}

// A call that works at once, through a budget around a retry.
func BenchmarkSuccess(b *testing.B) {
	p := stack(budget.New(), 3)
	call := func(ctx context.Context) error { return p.Do(ctx, succeed) }
	benchSerial(b, call)
	benchParallel(b, call)
}

// The same written by hand: a window under a mutex around a loop.
func BenchmarkSuccessByHand(b *testing.B) {
	w := handWindow{ratio: 0.1, slot: time.Second}
	call := func(ctx context.Context) error { return w.retry(ctx, 3, succeed) }
	benchSerial(b, call)
	benchParallel(b, call)
}

func BenchmarkGrantAndRefund(b *testing.B) {
	granting := budget.New(budget.MinPerSecond(1e6))
	call := func(context.Context) error {
		ticket, err := granting.Reserve()
		granting.Refund(ticket)
		return err
	}
	benchSerial(b, call)
	benchParallel(b, call)
}

func BenchmarkRefused(b *testing.B) {
	refusing := budget.New(budget.Ratio(0), budget.MinPerSecond(0))
	call := func(context.Context) error {
		_, err := refusing.Reserve()
		return err
	}
	benchSerial(b, call)
	benchParallel(b, call)
}

// handWindow is a budget as one writes it by hand.
type handWindow struct {
	ratio float64
	slot  time.Duration

	mu       sync.Mutex
	number   [10]int64
	requests [10]int
	retries  [10]int
}

func (w *handWindow) at(now time.Time) (int, int64) {
	n := now.UnixNano() / int64(w.slot)
	i := int(n % 10)
	if w.number[i] != n {
		w.number[i], w.requests[i], w.retries[i] = n, 0, 0
	}
	return i, n
}

func (w *handWindow) request() {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := w.at(time.Now())
	w.requests[i]++
}

func (w *handWindow) reserve() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, n := w.at(time.Now())
	requests, retries := 0, 0
	for k := range w.number {
		if n-w.number[k] < 10 {
			requests += w.requests[k]
			retries += w.retries[k]
		}
	}
	if float64(retries+1) > w.ratio*float64(requests) {
		return false
	}
	w.retries[i]++
	return true
}

func (w *handWindow) retry(ctx context.Context, n int, fn stoic.Func) error {
	w.request()
	var err error
	for i := range n {
		if err = fn(ctx); err == nil {
			return nil
		}
		if i == n-1 || !w.reserve() {
			break
		}
	}
	return err
}
