// Package labhook is how the lab gives policies its own way to wait and to draw random
// numbers, so that the stacks of a user run there as they are, and repeatably.
//
// A policy looks the hook up where it waits, and never on the way of a success.
package labhook

import (
	"context"
	"time"
)

// A Hook waits and draws for one call.
type Hook interface {
	// Sleep waits for d. It returns early, with an error, when ctx is done.
	Sleep(ctx context.Context, d time.Duration) error

	// Rand returns a number in [0, 1).
	Rand() float64
}

// Key is the key under which the context of a call holds a Hook. The lab's context
// answers it itself: a context.WithValue would be one more allocation for each call.
type Key struct{}

// From returns the hook that ctx holds, or nil.
func From(ctx context.Context) Hook {
	h, _ := ctx.Value(Key{}).(Hook)
	return h
}
