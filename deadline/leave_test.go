package deadline_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

func TestC78_PanicUnderADeadlineReachesTheCaller(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
	}{
		{"at once", 0},
		{"10ms after the deadline", time.Second + 10*time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New("api", breaker.ConsecutiveFailures(2), breaker.Probes(1))
				p, events := observed(deadline.New(time.Second), b)
				var inner context.Context
				op := func(ctx context.Context) error {
					inner = ctx
					_ = ctx.Done()
					time.Sleep(tt.after)
					panic(http.ErrAbortHandler)
				}
				for range 2 {
					func() {
						defer func() {
							if got := recover(); !same(got, http.ErrAbortHandler) {
								t.Errorf("recovered %v, want http.ErrAbortHandler itself", got)
							}
						}()
						t.Errorf("returned %v", p.Do(t.Context(), op))
					}()
					if inner.Err() == nil {
						t.Error("the context outlives the panic")
					}
				}
				// Both were judged, and the probe's place is free.
				if got := b.State(); got != breaker.Open {
					t.Errorf("breaker is %v after two panics, want open", got)
				}
				time.Sleep(6 * time.Second)
				if err := p.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
					t.Errorf("probe: %v", err)
				}
				if err := events.Check(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestGoexitEndsTheContext(t *testing.T) {
	for _, used := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var inner context.Context
			var wg sync.WaitGroup
			returned := false
			wg.Go(func() {
				_ = stoic.MustNew("payments", deadline.New(time.Second)).Do(t.Context(), func(ctx context.Context) error {
					inner = ctx
					if used {
						_ = ctx.Done()
					}
					runtime.Goexit()
					return nil
				})
				returned = true
			})
			wg.Wait()
			if returned {
				t.Error("Goexit did not reach the caller's goroutine")
			}
			wantDone(inner, t, context.Canceled, context.Canceled)
		})
	}
}

func TestDoneContextDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errDown)
		p, events := observed(deadline.New(time.Second))
		op := count(wait)
		err := p.Do(ctx, op.run)
		op.want(t, 0, 0)
		wantIs(t, err, context.Canceled, errDown)
		wantNot(t, err, deadline.ErrExceeded)
		if got := events.Strings(); len(got) != 0 {
			t.Errorf("hooks heard %q", got)
		}
	})
}

func TestC82_NothingOfAnAttemptOutlivesIt(t *testing.T) {
	ops := map[string]stoic.Func{
		"nobody waits": func(context.Context) error { return errDown },
		"somebody waits": func(ctx context.Context) error {
			_ = ctx.Done()
			return errDown
		},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stoic.MustNew("payments", attempts(3), deadline.New(time.Minute))
				var seen []context.Context
				_ = p.Do(t.Context(), func(ctx context.Context) error {
					for _, earlier := range seen {
						wantDone(earlier, t, context.Canceled, context.Canceled)
					}
					wantLive(ctx, t)
					seen = append(seen, ctx)
					return op(ctx)
				})
				if len(seen) != 3 {
					t.Fatalf("%d attempts, want 3", len(seen))
				}
				for _, ctx := range seen {
					wantDone(ctx, t, context.Canceled, context.Canceled)
				}
			})
		})
	}
}

// With a caller's deadline that is earlier the attempt's context still ends with the
// attempt: it is not the caller's own.
func TestC82_AlsoUnderAnEarlierDeadlineOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inner := capture(ctx, t, nil, deadline.New(time.Minute))
		wantDone(inner, t, context.Canceled, context.Canceled)
		wantLive(ctx, t)
	})
}

// Package context stops the timer of a context when it ends, and the retry stops its
// own: a minute early, every context is done and no goroutine is left.
func TestC82_CancelledCallsLeaveNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("payments",
			retry.New(retry.MaxAttempts(3), retry.Constant(time.Hour)), deadline.New(time.Minute))
		before, start := bubbleGoroutines(), time.Now()
		seen := make([]context.Context, 10_000)
		var wg sync.WaitGroup
		for i := range seen {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				err := p.Do(ctx, func(ctx context.Context) error {
					seen[i] = ctx
					_ = ctx.Done()
					return errDown
				})
				wantIs(t, err, context.Canceled, errDown)
			})
		}
		wg.Wait()
		if got := time.Since(start); got != time.Millisecond {
			t.Errorf("all returned at %v, want 1ms", got)
		}
		for _, ctx := range seen {
			if ctx.Err() == nil {
				t.Fatal("a context outlives its call")
			}
		}
		synctest.Wait()
		wantGoroutines(t, before)
	})
}
