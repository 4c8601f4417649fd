package ratelimit_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
	"golang.org/x/time/rate"
)

// The token of a call that panics or exits is used: the call was made. The limiter
// goes on.
func TestPanicAndGoexitPass(t *testing.T) {
	for _, opt := range []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			limiter := rate.NewLimiter(1, 2)
			p := single(limiter, opt)
			value := new(int)
			func() {
				defer func() {
					if got := recover(); got != value {
						t.Errorf("recovered %v, want the value itself", got)
					}
				}()
				_ = p.Do(t.Context(), func(context.Context) error { panic(value) })
			}()
			wantTokens(t, limiter, 1)
			var wg sync.WaitGroup
			wg.Go(func() {
				_ = p.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
				t.Error("Goexit did not reach the caller's goroutine")
			})
			wg.Wait()
			wantTokens(t, limiter, 0)
			time.Sleep(time.Second)
			if err := p.Do(t.Context(), succeed); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDoneContextTakesNoToken(t *testing.T) {
	for _, opt := range []ratelimit.Option{ratelimit.Reject(), ratelimit.Wait(time.Minute)} {
		synctest.Test(t, func(t *testing.T) {
			h := &hookstest.Recorder{}
			limiter := rate.NewLimiter(1, 1)
			p := stoic.MustNew("payments", stoic.Observe(h), ratelimit.From(limiter, opt))
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errDown)
			o := newOp(succeed)
			err := p.Do(ctx, o.run)
			o.want(t)
			wantIs(t, err, context.Canceled, errDown)
			wantNot(t, err, stoic.ErrRejected)
			wantTokens(t, limiter, 1)
			if got := h.Strings(); len(got) != 0 {
				t.Errorf("hooks heard %q", got)
			}
		})
	}
}

// A hook that panics on the rejection leaves the bucket as it is.
func TestPanickingHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := empty(1)
		p := stoic.MustNew("payments", stoic.Observe(panicking{}), ratelimit.From(limiter))
		func() {
			defer func() {
				if got := recover(); got != "hook" {
					t.Errorf("recovered %v", got)
				}
			}()
			_ = p.Do(t.Context(), succeed)
		}()
		wantTokens(t, limiter, 0)
		time.Sleep(time.Second)
		if err := p.Do(t.Context(), succeed); err != nil {
			t.Error(err)
		}
	})
}

type panicking struct{ hooks.Nop }

func (panicking) Event(context.Context, hooks.Event) { panic("hook") }
