package stoic_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
)

func TestPolicyFunc(t *testing.T) {
	errOwn := errors.New("own")
	p := stoic.MustNew("payments", stoic.PolicyFunc("own", func(ctx context.Context, next stoic.Next) error {
		if err := next.Do(ctx); err != nil {
			return errOwn
		}
		return nil
	}))
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
	if err := p.Do(t.Context(), fail); !same(err, errOwn) {
		t.Errorf("got %v, want the layer's error", err)
	}
}

func TestMiddleware(t *testing.T) {
	t.Run("order, and wrap runs on each call", func(t *testing.T) {
		var j journal
		wrap := func(name string) func(stoic.Func) stoic.Func {
			return func(next stoic.Func) stoic.Func {
				j.add("wrap " + name)
				return func(ctx context.Context) error {
					j.add("before " + name)
					defer j.add("after " + name)
					return next(ctx)
				}
			}
		}
		p := stoic.MustNew("payments", stoic.Middleware("a", wrap("a")), stoic.Middleware("b", wrap("b")))
		for range 2 {
			if err := p.Do(t.Context(), j.fn("fn")); err != nil {
				t.Error(err)
			}
		}
		once := []string{"wrap a", "before a", "wrap b", "before b", "fn", "after b", "after a"}
		j.want(t, append(once, once...)...)
	})
	t.Run("attempts go through", func(t *testing.T) {
		same := func(next stoic.Func) stoic.Func { return next }
		var last int
		p := stoic.MustNew("payments", attempts(3, 0), stoic.Middleware("same", same))
		_ = p.Do(t.Context(), func(ctx context.Context) error {
			last = stoic.Attempt(ctx)
			return errBoom
		})
		if last != 3 {
			t.Errorf("last attempt %d, want 3", last)
		}
	})
	t.Run("wrap that returns nil", func(t *testing.T) {
		op := &operation{}
		p := stoic.MustNew("payments", stoic.Middleware("broken", func(stoic.Func) stoic.Func { return nil }))
		err := p.Do(t.Context(), op.run)
		if !errors.Is(err, stoic.ErrInvalid) || err.Error() != "payments: Middleware(broken): its wrap function returned nil" {
			t.Errorf("got %v, want ErrInvalid", err)
		}
		op.want(t, 0)
	})
	t.Run("next may run on when the layer has returned", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			detached := make(chan error, 1)
			p := stoic.MustNew("payments",
				stoic.Middleware("detach", func(next stoic.Func) stoic.Func {
					return func(ctx context.Context) error {
						go func() { detached <- next(context.WithoutCancel(ctx)) }()
						return nil
					}
				}),
				attempts(2, time.Second))
			op := &operation{err: errBoom}
			start := time.Now()
			if err := p.Do(t.Context(), op.run); err != nil {
				t.Error(err)
			}
			if err := <-detached; !same(err, errBoom) {
				t.Errorf("detached: %v, want its error", err)
			}
			op.want(t, 2)
			if got := time.Since(start); got != time.Second {
				t.Errorf("took %v, want 1s", got)
			}
		})
	})
}
