// Package keys has the keys of context values that package stoic sets and that an adapter
// answers itself: a context.WithValue would be one more allocation for each call.
package keys

type (
	// Idempotency is the key of the idempotency key, a string.
	Idempotency struct{}
	// NonIdempotent is the key of the mark of a call that must not be repeated, true.
	NonIdempotent struct{}
)
