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
// value, with one exception: when the call failed because [FailIf] objects to the result
// of the last attempt, and it was not the caller's context that stopped the stack, that
// result is returned with a nil error, as it would be without a stack. A layer of your own
// that returns nil though no run succeeded gives the zero value and no error.
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
		if opt == nil {
			return zero, &InvalidError{Field: "GetOption", Value: "nil", Reason: "must not be nil"}
		}
		opt(g)
	}
	if g.invalid {
		return zero, &InvalidError{Field: "FailIf", Value: "nil", Reason: "needs a function that checks a result"}
	}
	err := p.Do(ctx, g.run)
	if err == nil {
		return g.result(), nil
	}
	if unwanted, ok := errors.AsType[*unwantedError[T]](err); ok && !stoppedBy(ctx, err) {
		return unwanted.value, nil
	}
	return zero, err
}

func stoppedBy(ctx context.Context, err error) bool {
	done := ctx.Err()
	return done != nil && errors.Is(err, done)
}

// unwantedError is the failure that a result is, for the layers; it carries the result
// back to Get. A call that fails for another reason does not match it.
type unwantedError[T any] struct {
	value T
	err   error
}

func (e *unwantedError[T]) Error() string { return e.err.Error() }
func (e *unwantedError[T]) Unwrap() error { return e.err }

// getter keeps the value of a run that succeeded. A layer may run fn concurrently, or
// still run it after Do has returned, so there is a lock, and what fails changes nothing.
type getter[T any] struct {
	fn     func(context.Context) (T, error)
	checks []func(T) error

	invalid bool // a check is nil

	mu    sync.Mutex
	value T
}

func (g *getter[T]) run(ctx context.Context) error {
	value, err := g.fn(ctx)
	if err != nil {
		return err
	}
	for _, check := range g.checks {
		if err := check(value); err != nil {
			return &unwantedError[T]{value: value, err: err}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.value = value
	return nil
}

func (g *getter[T]) result() T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.value
}
