package breaker

import (
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
)

// ErrOpen matches the error of every call that the breaker refused: open, or
// half-open with all probes out.
var ErrOpen = errors.New("breaker: open")

var (
	errOpenState = fmt.Errorf("%w (%w)", ErrOpen, gobreaker.ErrOpenState)
	errProbesOut = fmt.Errorf("%w (%w)", ErrOpen, gobreaker.ErrTooManyRequests)
)

func (b *Breaker) rejectOpen(after time.Duration) *stoic.Rejection {
	return &stoic.Rejection{
		Policy: stoic.KindBreaker, Name: b.name, Reason: "circuit breaker is open",
		Err: errOpenState, Type: "circuit_open", After: after,
	}
}

func (b *Breaker) rejectForced() *stoic.Rejection {
	r := b.rejectOpen(0)
	r.Reason = "circuit breaker is forced open"
	return r
}

func (b *Breaker) rejectProbesOut() *stoic.Rejection {
	return &stoic.Rejection{
		Policy: stoic.KindBreaker, Name: b.name, Reason: "circuit breaker is half-open, and all its probes are out",
		Err: errProbesOut, Type: "half_open_limit",
	}
}
