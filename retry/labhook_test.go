package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/labhook"
	"github.com/stoic-go/stoic/retry"
)

// labHook notes what it is asked for.
type labHook struct {
	slept []time.Duration
	drawn int
	err   error
}

func (h *labHook) Sleep(_ context.Context, d time.Duration) error {
	h.slept = append(h.slept, d)
	return h.err
}

func (h *labHook) Rand() float64 {
	h.drawn++
	return 0.5
}

// labContext answers for the hook, as the lab's does, and counts how often it is asked.
type labContext struct {
	context.Context
	hook    labhook.Hook
	lookups int
}

func (c *labContext) Value(key any) any {
	if key == (labhook.Key{}) {
		c.lookups++
		return c.hook
	}
	return c.Context.Value(key)
}

func TestRetryWaitsAndDrawsByTheHookInTheContext(t *testing.T) {
	const ms = time.Millisecond
	mine := &sleeper{}
	for name, tt := range map[string]struct {
		opts    []retry.Option
		slept   []time.Duration // by the hook
		drawn   int
		lookups int
	}{
		"no option": {nil, []time.Duration{50 * ms, 100 * ms}, 2, 1},
		"own sleep": {[]retry.Option{retry.Sleep(mine.sleep)}, nil, 2, 1},
		"own rand":  {[]retry.Option{retry.Rand(func() float64 { return 0.1 })}, []time.Duration{10 * ms, 20 * ms}, 0, 1},
		"own both":  {[]retry.Option{retry.Sleep(mine.sleep), retry.Rand(func() float64 { return 0 })}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			hook := &labHook{}
			ctx := &labContext{Context: t.Context(), hook: hook}
			_ = plain(t, retry.New(tt.opts...)).Do(ctx, func(context.Context) error { return errBoom })
			if !slices.Equal(hook.slept, tt.slept) || hook.drawn != tt.drawn || ctx.lookups != tt.lookups {
				t.Errorf("slept %v, drew %d, %d lookups, want %v, %d and %d",
					hook.slept, hook.drawn, ctx.lookups, tt.slept, tt.drawn, tt.lookups)
			}
		})
	}
}

func TestSuccessNeverLooksForTheHook(t *testing.T) {
	ctx := &labContext{Context: t.Context(), hook: &labHook{}}
	if err := plain(t, retry.New()).Do(ctx, func(context.Context) error { return nil }); err != nil || ctx.lookups != 0 {
		t.Errorf("%v after %d lookups, want none", err, ctx.lookups)
	}
}

func TestErrorOfTheHooksSleepStopsTheRetry(t *testing.T) {
	hook := &labHook{err: errLast}
	ctx := &labContext{Context: t.Context(), hook: hook}
	calls := 0
	err := plain(t, retry.New()).Do(ctx, func(context.Context) error {
		calls++
		return errBoom
	})
	if calls != 1 || !errors.Is(err, errLast) || !errors.Is(err, errBoom) {
		t.Errorf("%d calls, %v, want one, and both errors", calls, err)
	}
	var stopped *retry.StoppedError
	if !errors.As(err, &stopped) || errors.Is(err, stoic.ErrRejected) {
		t.Errorf("%T, want a StoppedError that is no rejection", err)
	}
}
