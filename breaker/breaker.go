package breaker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// State is the state of a [Breaker].
type State uint8

// The states.
const (
	Closed   State = iota // calls pass and are counted
	HalfOpen              // a few calls pass, to see whether the dependency is back
	Open                  // calls are refused
)

// String returns "closed", "half-open" or "open".
func (s State) String() string {
	switch s {
	case Closed:
		return hooks.StateClosed
	case HalfOpen:
		return hooks.StateHalfOpen
	case Open:
		return hooks.StateOpen
	default:
		return "unknown"
	}
}

// Counts are what a [Breaker] has counted in its current state: in the window of
// [FailureRate], and without that rule since the state began.
type Counts struct {
	Successes           int
	Failures            int
	ConsecutiveFailures int // whatever the window
}

// FailureRate divides failures by successes and failures. It is 0 without calls.
func (c Counts) FailureRate() float64 {
	if c.Successes+c.Failures == 0 {
		return 0
	}
	return float64(c.Failures) / float64(c.Successes+c.Failures)
}

// Breaker is a circuit breaker. Its state is that of one dependency: every pipeline
// that holds the value shares it. It is safe for concurrent use. Make it with [New];
// the zero value is refused by stoic.New.
type Breaker struct {
	made   bool
	name   string
	config config
	// core is replaced as a whole by ForceOpen, ForceClosed and Auto, so that a call
	// that was admitted before reports to a core that nobody reads any more.
	core   atomic.Pointer[core]
	events queue
}

var (
	_ stoic.Policy     = (*Breaker)(nil)
	_ stoic.Describer  = (*Breaker)(nil)
	_ stoic.Validator  = (*Breaker)(nil)
	_ stoic.Identifier = (*Breaker)(nil)
)

// New makes a closed breaker. The name is that of the dependency; errors and telemetry
// carry it. Without options it opens at half of at least 50 calls in 10 s, or at 10
// failures in a row, for 5 s, and one probe closes it. Invalid options are reported by
// stoic.New.
func New(name string, opts ...Option) *Breaker {
	b := &Breaker{made: true, name: name, config: newConfig(opts)}
	b.config.problems.Check("name", name != "", "New", `""`, "the breaker needs a name")
	if b.Validate() == nil {
		b.core.Store(newCore(b, automatic))
	}
	return b
}

// Name is the name given to [New].
func (b *Breaker) Name() string { return b.name }

// State is the state now. It is computed from the clock and moves nothing: a breaker
// whose open time has passed is half-open, though the change is reported with the next
// call. Reading takes no probe.
func (b *Breaker) State() State {
	c := b.core.Load()
	if c == nil {
		return Closed
	}
	return c.current()
}

// Counts are the counts as of the last call that counted. Reading moves nothing. While
// the breaker is forced they are zero.
func (b *Breaker) Counts() Counts {
	c := b.core.Load()
	if c == nil {
		return Counts{}
	}
	return c.counts()
}

// ForceOpen refuses every call until [Breaker.ForceClosed] or [Breaker.Auto]. The state
// change is reported with the next call, since no call caused it.
func (b *Breaker) ForceOpen() { b.replace(forcedOpen) }

// ForceClosed lets every call through, and records none, until [Breaker.ForceOpen] or
// [Breaker.Auto].
func (b *Breaker) ForceClosed() { b.replace(forcedClosed) }

// Auto ends what ForceOpen or ForceClosed began. The breaker begins anew, closed and
// with empty counts; calls that were admitted before count no more.
func (b *Breaker) Auto() { b.replace(automatic) }

func (b *Breaker) replace(m mode) {
	if b.core.Load() != nil {
		fresh := newCore(b, m)
		b.events.replace(&b.core, fresh, fresh.current())
	}
}

// Run is called by the stack.
func (b *Breaker) Run(ctx context.Context, next stoic.Next) error {
	c := b.core.Load()
	if c == nil {
		return b.Validate()
	}
	if b.events.waiting() {
		b.events.deliver(ctx, b, next)
	}
	if c.mode != automatic {
		return c.runForced(ctx, next)
	}
	if seen := c.word.Load(); stateOf(seen) == Closed {
		return c.runClosed(ctx, next, seen)
	}
	return c.runGuarded(ctx, next)
}

// refuse reports a rejection and returns it.
func (b *Breaker) refuse(ctx context.Context, next stoic.Next, r *stoic.Rejection) error {
	r.Pipeline = next.Pipeline()
	next.Emit(ctx, hooks.Event{
		Kind: hooks.Reject, Policy: stoic.KindBreaker, Name: b.name, Attempt: next.Attempt(), Err: r, Reason: r.Type,
	})
	return r
}

// judge is the verdict on a call that returned err.
func (b *Breaker) judge(ctx context.Context, err error, started time.Time) stoic.Verdict {
	slow := b.config.slow > 0 && time.Since(started) > b.config.slow
	v := stoic.VerdictOf(ctx, err)
	if v == stoic.Failure && b.config.judge != nil {
		v = b.config.judge(err)
	}
	switch {
	case v == stoic.Neutral, v == stoic.Success && !slow:
		return v
	default:
		return stoic.Failure
	}
}

// started is the time now if a rule needs it.
func (b *Breaker) started() time.Time {
	if b.config.slow > 0 {
		return time.Now()
	}
	return time.Time{}
}
