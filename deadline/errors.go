package deadline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic/internal/redact"
)

// ErrExceeded matches the error of a deadline layer whose own time ran out. The
// data is in [*ExceededError].
var ErrExceeded = errors.New("deadline: exceeded")

// ExceededError says that a deadline layer's own time ran out. It matches
// [ErrExceeded], context.DeadlineExceeded, and what the operation returned.
type ExceededError struct {
	Pipeline string
	Limit    time.Duration // the length of the deadline
	Err      error         // what came back when the time was up
}

// Error reads like "payments: deadline of 500ms exceeded: context deadline
// exceeded". URLs in the text of Err lose user, query and fragment.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%s: deadline of %s exceeded: %s", e.Pipeline, e.Limit, redact.Error(e.Err))
}

// Unwrap returns Err.
func (e *ExceededError) Unwrap() error { return e.Err }

// Is makes the error match [ErrExceeded] and context.DeadlineExceeded.
func (e *ExceededError) Is(target error) bool {
	return target == ErrExceeded || target == context.DeadlineExceeded
}

// Timeout is true: the error is a timeout in the sense of package net.
func (e *ExceededError) Timeout() bool { return true }

// ErrorType is "deadline_exceeded".
func (e *ExceededError) ErrorType() string { return "deadline_exceeded" }
