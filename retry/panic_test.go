package retry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// onCall does what f does in its nth call.
func onCall(n int, f func() error) func() error {
	calls := 0
	return func() error {
		if calls++; calls == n {
			return f()
		}
		return nil
	}
}

// TestForeignCodeThatDoesNotReturn lets everything that a retry calls panic and exit:
// the value arrives unchanged, nothing stays taken, and the next call works.
func TestForeignCodeThatDoesNotReturn(t *testing.T) {
	type places struct {
		op, asked, delay, random, sleep, hook func() error
	}
	tests := []struct {
		name  string
		place func(f func() error) places
		sent  int // retries that were sent
		calls int
	}{
		{"operation, attempt 1", func(f func() error) places { return places{op: onCall(1, f)} }, 0, 1},
		{"operation, attempt 2", func(f func() error) places { return places{op: onCall(2, f)} }, 1, 2},
		{"If", func(f func() error) places { return places{asked: onCall(1, f)} }, 0, 1},
		{"If, after attempt 2", func(f func() error) places { return places{asked: onCall(2, f)} }, 1, 2},
		{"Backoff", func(f func() error) places { return places{delay: onCall(1, f)} }, 0, 1},
		{"Rand", func(f func() error) places { return places{random: onCall(1, f)} }, 0, 1},
		{"Rand, after attempt 2", func(f func() error) places { return places{random: onCall(2, f)} }, 1, 2},
		{"Sleep", func(f func() error) places { return places{sleep: onCall(1, f)} }, 0, 1},
		{"Sleep, after attempt 2", func(f func() error) places { return places{sleep: onCall(2, f)} }, 1, 2},
		{"hook on Retry", func(f func() error) places { return places{hook: onCall(1, f)} }, 0, 1},
		{"hook on GaveUp", func(f func() error) places { return places{hook: onCall(3, f)} }, 2, 3},
	}
	value := &struct{ name string }{"the value"}
	ends := map[string]struct {
		f    func() error
		want ending
	}{
		"panic":  {func() error { panic(value) }, ending{panicked: value}},
		"Goexit": {goexit, ending{exited: true}},
	}
	call := func(f func() error) {
		if f != nil {
			_ = f()
		}
	}
	for _, tt := range tests {
		for name, end := range ends {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				at := tt.place(end.f)
				b := newBudget(10)
				calls := 0
				h := hooks.OnEvent(func(context.Context, hooks.Event) { call(at.hook) })
				p := plain(t, stoic.Observe(h), b, retry.New(
					retry.If(func(error) bool { call(at.asked); return true }),
					retry.WithBackoff(retry.BackoffFunc(func(_ int, _ time.Duration, rand func() float64) time.Duration {
						call(at.delay)
						return time.Duration(1 + rand())
					})),
					retry.Rand(func() float64 { call(at.random); return 0.5 }),
					retry.Sleep(func(context.Context, time.Duration) error { call(at.sleep); return nil }),
				))
				fn := func(context.Context) error { calls++; call(at.op); return errBoom }
				run := func() error { return p.Do(t.Context(), fn) }

				equal(t, "end", endOf(run), end.want)
				equal(t, "calls", calls, tt.calls)
				b.check(t, tt.sent+len(b.refunds), len(b.refunds))

				at, calls = places{}, 0
				equal(t, "end of a later call", endOf(run), ending{err: errBoom})
				equal(t, "later calls", calls, 3)
			})
		}
	}
}

func TestPanicValueArrivesUnchanged(t *testing.T) {
	for _, want := range []any{errBoom, "text", 7, context.Canceled, errors.ErrUnsupported} {
		p := plain(t, newBudget(1), retry.New(retry.Constant(0)))
		got := endOf(func() error {
			return p.Do(t.Context(), func(context.Context) error { panic(want) })
		})
		equal(t, "panic", got.panicked, want)
	}
}
