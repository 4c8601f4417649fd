package stoic

import (
	"context"
	"errors"
	"sync"
)

// GetOption changes how [Get] treats a result.
type GetOption[T any] func(*getter[T])

// FailIf makes an unwanted result (an HTTP 503 without an error, say) a failure for
// every layer of the stack: it is retried, and it trips the breaker. check returns
// nil for a result that is fine, else the failure; give that a RetryAfter or a
// StatusCode method where the answer has one. With several FailIf the first that
// objects decides. check must be safe for concurrent use.
func FailIf[T any](check func(T) error) GetOption[T] {
	return func(g *getter[T]) {
		g.checks = append(g.checks, check)
		g.invalid = g.invalid || check == nil
	}
}

// Get runs fn through p and returns its value. With an error the value is the zero
// value, with one exception: when the last attempt gave a result that [FailIf]
// objects to, and the stack stopped for any reason but the caller's context, that
// result is returned with a nil error, as it would be without a stack.
//
// The context that fn gets ends when the attempt ends. A value whose life ends with
// it, the body of an *http.Response above all, must be used up inside fn.
func Get[T any](ctx context.Context, p *Pipeline, fn func(context.Context) (T, error), opts ...GetOption[T]) (T, error) {
	var zero T
	if fn == nil {
		return zero, p.Do(ctx, nil)
	}
	g := &getter[T]{fn: fn}
	for _, opt := range opts {
		opt(g)
	}
	if g.invalid {
		return zero, &InvalidError{Field: "FailIf", Value: "nil", Reason: "needs a function that checks a result"}
	}
	err := p.Do(ctx, g.run)
	value, unwanted := g.last()
	switch {
	case err == nil:
		return value, nil
	case unwanted && !stoppedBy(ctx, err):
		return value, nil
	default:
		return zero, err
	}
}

func stoppedBy(ctx context.Context, err error) bool {
	done := ctx.Err()
	return done != nil && errors.Is(err, done)
}

// getter keeps the last value. A layer may run fn concurrently, or still run it
// after Do has returned, so there is a lock.
type getter[T any] struct {
	fn     func(context.Context) (T, error)
	checks []func(T) error

	invalid bool // a check is nil

	mu       sync.Mutex
	value    T
	unwanted bool // value is one that a check objects to
}

func (g *getter[T]) run(ctx context.Context) error {
	value, err := g.fn(ctx)
	if err != nil {
		var zero T
		g.keep(zero, false)
		return err
	}
	for _, check := range g.checks {
		if err := check(value); err != nil {
			g.keep(value, true)
			return err
		}
	}
	g.keep(value, false)
	return nil
}

func (g *getter[T]) keep(value T, unwanted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value, g.unwanted = value, unwanted
}

func (g *getter[T]) last() (T, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value, g.unwanted
}
