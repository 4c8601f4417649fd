package peers

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// byHand is how one writes a stack without a library that composes: two
// context.WithTimeout, gobreaker, x/time/rate, and a loop. The other files that wire by
// hand replace the loop by a library of retries.
type byHand struct {
	Settings
	cb     *gobreaker.CircuitBreaker[struct{}]
	tokens *rate.Limiter
	budget *handBudget
}

func byHandContender() Contender {
	return Contender{
		Name:    ByHand,
		Modules: []string{"github.com/sony/gobreaker/v2", "golang.org/x/time"},
		Build: func(stack Stack, s Settings) Run {
			h := newByHand(s)
			switch stack {
			case Empty:
				return func(ctx context.Context, op Op) error { return op(ctx) }
			case Retry:
				return h.retryOnly
			case Breaker:
				return h.breakerOnly
			case Limiter:
				return h.limiterOnly
			case Deadline:
				return h.deadlineOnly
			case Three:
				return h.three
			case Four:
				return h.four
			case Full:
				return h.full
			default:
				return nil
			}
		},
	}
}

func newByHand(s Settings) *byHand {
	settings := gobreaker.Settings{
		Name: "b", Interval: s.Window, BucketPeriod: s.Window / 10, Timeout: s.OpenFor,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return int(n.ConsecutiveFailures) >= s.InARow ||
				int(n.Requests) >= s.MinCalls && float64(n.TotalFailures) >= s.Rate*float64(n.Requests)
		},
	}
	if s.Listen != nil {
		settings.OnStateChange = func(string, gobreaker.State, gobreaker.State) { s.Listen() }
	}
	return &byHand{
		Settings: s,
		cb:       gobreaker.NewCircuitBreaker[struct{}](settings),
		tokens:   rate.NewLimiter(rate.Limit(s.perSecond()), s.Limit),
		budget:   newHandBudget(s),
	}
}

// The stacks are written out: this is what they cost when nothing is abstracted.

func (h *byHand) full(ctx context.Context, op Op) error {
	ctx, cancel := context.WithTimeout(ctx, h.Total)
	defer cancel()
	h.budget.request()
	for attempt := 1; ; attempt++ {
		err := h.attempt(ctx, op)
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt, err) || !h.budget.retry() || !h.wait(ctx, attempt) {
			return err
		}
	}
}

// attempt is what the full stack has inside its retry.
func (h *byHand) attempt(ctx context.Context, op Op) error {
	_, err := h.cb.Execute(func() (struct{}, error) {
		if !h.tokens.Allow() {
			return struct{}{}, ErrLimited
		}
		ctx, cancel := context.WithTimeout(ctx, h.Each)
		defer cancel()
		return struct{}{}, op(ctx)
	})
	return err
}

func (h *byHand) four(ctx context.Context, op Op) error {
	h.budget.request()
	for attempt := 1; ; attempt++ {
		_, err := h.cb.Execute(func() (struct{}, error) {
			if !h.tokens.Allow() {
				return struct{}{}, ErrLimited
			}
			return struct{}{}, op(ctx)
		})
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt, err) || !h.budget.retry() || !h.wait(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) three(ctx context.Context, op Op) error {
	ctx, cancel := context.WithTimeout(ctx, h.Total)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := h.breakerOnly(ctx, op)
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt, err) || !h.wait(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) retryOnly(ctx context.Context, op Op) error {
	for attempt := 1; ; attempt++ {
		err := op(ctx)
		if err == nil {
			return nil
		}
		if !h.again(ctx, attempt, err) || !h.wait(ctx, attempt) {
			return err
		}
	}
}

func (h *byHand) breakerOnly(ctx context.Context, op Op) error {
	_, err := h.cb.Execute(func() (struct{}, error) { return struct{}{}, op(ctx) })
	return err
}

func (h *byHand) limiterOnly(ctx context.Context, op Op) error {
	if !h.tokens.Allow() {
		return ErrLimited
	}
	return op(ctx)
}

func (h *byHand) deadlineOnly(ctx context.Context, op Op) error {
	ctx, cancel := context.WithTimeout(ctx, h.Total)
	defer cancel()
	return op(ctx)
}

// again reports whether a failed attempt is worth another one.
func (h *byHand) again(ctx context.Context, attempt int, err error) bool {
	return attempt < h.Attempts && ctx.Err() == nil && !refused(err)
}

// refused reports whether err says that the operation was not called.
func refused(err error) bool {
	if _, ok := errors.AsType[*refusedError](err); ok {
		return true
	}
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) ||
		errors.Is(err, ErrLimited)
}

// wait sleeps before another attempt, and reports whether there is to be one.
func (h *byHand) wait(ctx context.Context, attempt int) bool {
	if h.Listen != nil {
		h.Listen()
	}
	limit := min(h.Base<<(attempt-1), h.Max)
	if limit == 0 {
		return true
	}
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Bare is gobreaker around the limiter, and nothing else: the two parts that have
// locks whatever is around them.
func Bare(s Settings) Run {
	h := newByHand(s)
	return func(ctx context.Context, op Op) error {
		_, err := h.cb.Execute(func() (struct{}, error) {
			if !h.tokens.Allow() {
				return struct{}{}, ErrLimited
			}
			return struct{}{}, op(ctx)
		})
		return err
	}
}
