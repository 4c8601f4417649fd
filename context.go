package stoic

import (
	"context"

	"github.com/stoic-go/stoic/internal/keys"
	"github.com/stoic-go/stoic/internal/redact"
)

type (
	attemptKey   struct{}
	operationKey struct{}
)

// Attempt is the number of the attempt that runs with ctx: 1 for the first, 2 for
// the first resend. The context of a [Func] carries it from the second attempt
// on, so the success path pays nothing. Where stacks are nested by calling one
// inside the Func of another, the innermost that is past its first attempt counts.
func Attempt(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// WithOperation names the operation for the hooks ("charge", "list-orders"), which
// otherwise see the name of the pipeline. Telemetry makes it a label: use a small,
// fixed set of names, never an id or a URL.
func WithOperation(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, operationKey{}, name)
}

func operation(ctx context.Context, pipeline string) string {
	if name, ok := ctx.Value(operationKey{}).(string); ok && name != "" {
		return name
	}
	return pipeline
}

// WithIdempotencyKey gives the call a key under which the other side recognises a
// repetition. It is the same on every attempt of the call, and a call that has one
// may be retried although it is marked by [WithNonIdempotent]. Set it once per
// logical call, outside the stack. An empty key is none.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keys.Idempotency{}, key)
}

// IdempotencyKey is the key set by [WithIdempotencyKey], or "".
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(keys.Idempotency{}).(string)
	return key
}

// WithNonIdempotent marks a call that must not be repeated when it may have been
// executed (a payment, an e-mail). Without an idempotency key, a retry then sends
// it again only when the failure proves that it was not executed. The error of an
// http.Client proves nothing, not even a refused connection: it may have followed a
// redirect of a request that was executed.
func WithNonIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, keys.NonIdempotent{}, true)
}

// NonIdempotent reports whether the call is marked by [WithNonIdempotent].
func NonIdempotent(ctx context.Context) bool {
	marked, _ := ctx.Value(keys.NonIdempotent{}).(bool)
	return marked
}

// ContextError is nil while ctx is not done, and then an error that matches both
// ctx.Err() and [context.Cause]. A layer that stops because of its context
// returns it, so that errors.Is finds whichever of the two the caller knows.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	//nolint:errorlint // identity: is the cause the very same value, or one more thing to say?
	if cause == nil || cause == err {
		return err
	}
	return &causeError{err: err, cause: cause}
}

// causeError is a context's error together with its cause.
type causeError struct{ err, cause error }

// Error has the text of the cause without what URLs in it may keep secret: the cause is
// often the error of something else that failed.
func (e *causeError) Error() string   { return e.err.Error() + ": " + redact.Error(e.cause) }
func (e *causeError) Unwrap() []error { return []error{e.err, e.cause} }
