package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/labhook"
	"github.com/stoic-go/stoic/ratelimit"
)

// labHook sleeps for real and notes how long, until its context is done.
type labHook struct{ slept []time.Duration }

func (h *labHook) Sleep(ctx context.Context, d time.Duration) error {
	h.slept = append(h.slept, d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *labHook) Rand() float64 { return 0 }

func withHook(ctx context.Context, h labhook.Hook) context.Context {
	return context.WithValue(ctx, labhook.Key{}, h)
}

// The lab's way of waiting gives the same waits and the same errors as x/time's own.
func TestWaitBySleepOfTheHookInTheContext(t *testing.T) {
	for _, lab := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			hook := &labHook{}
			ctx := t.Context()
			if lab {
				ctx = withHook(ctx, hook)
			}
			p := stoic.MustNew("payments", ratelimit.New(10, 1, ratelimit.Wait(250*time.Millisecond)))
			o := newOp(succeed)
			for range 3 {
				if err := p.Do(ctx, o.run); err != nil {
					t.Error(err)
				}
			}
			o.want(t, 0, 100*time.Millisecond, 200*time.Millisecond)
			if want := []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}; lab && !slices.Equal(hook.slept, want) {
				t.Errorf("slept %v, want %v", hook.slept, want)
			}

			early, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			err := p.Do(early, o.run)
			if !errors.Is(err, ratelimit.ErrLimited) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want a refusal because of the deadline", err)
			}
			canceled, cancel := context.WithCancel(ctx)
			time.AfterFunc(30*time.Millisecond, cancel)
			if err := p.Do(canceled, o.run); !errors.Is(err, context.Canceled) || !errors.Is(err, stoic.ErrRejected) {
				t.Errorf("%v, want the end of the context", err)
			}
			// The token of the wait that was cancelled came back: the next is due as before.
			if err := p.Do(ctx, o.run); err != nil {
				t.Error(err)
			}
			o.want(t, 0, 100*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond)
		})
	}
}

func TestQueueBySleepOfTheHookRefusesWhatIsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := withHook(t.Context(), &labHook{})
		p := stoic.MustNew("payments", ratelimit.New(10, 1, ratelimit.Wait(250*time.Millisecond)))
		results := make(chan error, 5)
		for range 5 {
			go func() { results <- p.Do(ctx, succeed) }()
			synctest.Wait()
		}
		synctest.Wait()
		time.Sleep(time.Second)
		refused := 0
		for range 5 {
			if errors.Is(<-results, ratelimit.ErrLimited) {
				refused++
			}
		}
		if refused != 2 { // the first has its token at once, two wait 100 and 200 ms
			t.Errorf("%d refused, want 2", refused)
		}
	})
}
