package retry_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

func TestDefaultSleepReturnsAtOnceOnCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			p := plain(t, retry.New(retry.Constant(24*time.Hour)))
			op := newOp(errBoom)
			time.AfterFunc(time.Second, cancel)
			stoppedBy(t, p.Do(ctx, op.run), 1, errBoom, context.Canceled)
			equal(t, "returned after", time.Since(op.start), time.Second)
		}
	})
}

func TestDefaultSleepEndsByAContextThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plain(t, retry.New(retry.Constant(time.Hour)))
		op := newOp(errBoom)
		identical(t, p.Do(context.Background(), op.run), errBoom)
		equal(t, "returned after", time.Since(op.start), 2*time.Hour)
	})
}

func TestZeroDelayIsNoSleep(t *testing.T) {
	sleep := func(context.Context, time.Duration) error { t.Error("slept"); return nil }
	for name, opt := range map[string]retry.Option{
		"Constant(0)":          retry.Constant(0),
		"base 0":               retry.FullJitter(0, time.Second),
		"equal, base 0":        retry.EqualJitter(0, time.Second),
		"decorrelated, base 0": retry.DecorrelatedJitter(0, time.Second),
		"none, base 0":         retry.NoJitter(0, time.Second),
		"rand 0":               retry.Rand(func() float64 { return 0 }),
		"negative backoff": retry.WithBackoff(retry.BackoffFunc(
			func(int, time.Duration, func() float64) time.Duration { return -time.Hour })),
	} {
		t.Run(name, func(t *testing.T) {
			p := plain(t, retry.New(opt, retry.Sleep(sleep)))
			op := newOp(errBoom)
			identical(t, p.Do(t.Context(), op.run), errBoom)
			equal(t, "calls", op.calls(), 3)
		})
	}
}

func TestZeroDelayStillLooksAtTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := plain(t, retry.New(retry.Constant(0), retry.Rand(half), retry.If(func(error) bool { cancel(); return true })))
	op := newOp(errBoom)
	stoppedBy(t, p.Do(ctx, op.run), 1, errBoom, context.Canceled)
	equal(t, "calls", op.calls(), 1)
}

func TestZeroDelayAtTheDeadlineIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := plain(t, retry.New(retry.Constant(0)))
		calls := 0
		err := p.Do(ctx, func(ctx context.Context) error {
			calls++
			time.Sleep(time.Second)
			return errBoom
		})
		stoppedBy(t, err, 1, errBoom, context.DeadlineExceeded)
		equal(t, "calls", calls, 1)
	})
}

// granting is a budget without a limit, or memory.
type granting struct{}

func (granting) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (granting) Reserve() (stoic.Ticket, error)                 { return 0, nil }
func (granting) Refund(stoic.Ticket)                            {}

// Unlimited runs for weeks: what one attempt needs must be gone with it.
func TestUnlimitedRunsInConstantMemory(t *testing.T) {
	const first, last = 100, 10_000
	ctx, cancel := context.WithCancel(t.Context())
	var heap, depth [2]int
	sample := func(i int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap[i] = int(m.HeapAlloc)
		depth[i] = runtime.Callers(0, make([]uintptr, 1000))
	}
	p := plain(t, granting{}, retry.New(retry.Unlimited(), retry.Constant(0)))
	calls := 0
	err := p.Do(ctx, func(context.Context) error {
		switch calls++; calls {
		case first:
			sample(0)
		case last:
			sample(1)
			cancel()
		}
		return errBoom
	})
	stoppedBy(t, err, last, errBoom, context.Canceled)
	equal(t, "depth of the stack", depth[1], depth[0])
	// One pointer kept for each attempt would be 80 kB.
	if grown := heap[1] - heap[0]; grown > 40_000 {
		t.Errorf("%d attempts more keep %d bytes", last-first, grown)
	}
}

func TestUnlimitedEndsOnSuccess(t *testing.T) {
	p := plain(t, retry.New(retry.Unlimited(), retry.Constant(0)))
	calls := 0
	identical(t, p.Do(t.Context(), func(context.Context) error {
		if calls++; calls < 10_000 {
			return errBoom
		}
		return nil
	}), nil)
	equal(t, "calls", calls, 10_000)
}
