package hooks

import (
	"context"
	"time"
)

// A Hook is told what happens inside the stoic.Observe layer that holds it: when a
// call or an attempt begins and ends, and what the policies decide in between.
//
// Methods are called synchronously, on the goroutine of the call, with no lock
// held and also when the context is already done: a hook must not skip its work
// because of that. One Hook is used by many calls at once, so it must be safe
// for concurrent use. A hook may call the policies that report to it.
//
// A panic in a hook reaches the caller of the stack; the policies stay
// consistent and every Start that returned still gets its End.
//
// Embed [Nop] to implement only some of the methods and to stay a Hook when one
// is added.
type Hook interface {
	// Start says that a call or an attempt begins. The context that it returns
	// is used for everything inside; it must be ctx or derive from it. Nil is read as
	// ctx.
	Start(ctx context.Context, op Op) context.Context

	// End says that it is over. It is called exactly once for each Start that
	// returned: on return, on a panic and on runtime.Goexit. ctx is the one that
	// Start returned, op the same value.
	End(ctx context.Context, op Op, res Result)

	// Event says that a policy decided something at this moment. ctx is that of the call
	// or attempt which it concerns; it may be done, and the event of a breaker's state
	// change may come after the End of the call that caused it.
	Event(ctx context.Context, e Event)
}

// An Attacher is a [Hook] that wants to know the stack it is part of. Attach is
// called by stoic.New, once for each pipeline, after the stack was found valid
// and before the first call, with all its layers outermost first. Telemetry can
// create its series then, so that they exist before the first event.
type Attacher interface {
	Hook
	Attach(pipeline string, layers []LayerInfo)
}

// LayerInfo names one layer of a stack.
type LayerInfo struct {
	Kind   string // "retry", "breaker", …: what the layer is
	Name   string // its own name where it has one (a breaker), else empty
	Policy any    // the layer itself, for what it can be asked: a breaker its state, a budget its utilization
}

// OpKind tells calls from attempts.
type OpKind uint8

// The kinds of [Op].
const (
	KindCall    OpKind = iota + 1 // one call through an Observe layer, retries and waits included
	KindAttempt                   // one attempt made by a retry
)

// String returns "call" or "attempt".
func (k OpKind) String() string {
	switch k {
	case KindCall:
		return "call"
	case KindAttempt:
		return "attempt"
	default:
		return "unknown"
	}
}

// Op is what begins and ends. The same value is given to Start and End.
type Op struct {
	Kind      OpKind
	Pipeline  string // the name given to stoic.New
	Operation string // stoic.WithOperation, else the pipeline's name
	Attempt   int    // the number of the attempt, from 1; above 1 it is a resend
}

// Outcome says how a call or an attempt ended.
type Outcome uint8

// The outcomes of an [Op].
const (
	Succeeded Outcome = iota + 1 // nil error, or one that stoic.Benign calls an answer
	Failed                       // an error, deadlines included
	Canceled                     // an error, and the caller's context was canceled
	Rejected                     // a layer refused: the operation was not called
	Panicked                     // it panicked with Result.Panic
	Exited                       // it called runtime.Goexit
)

// String returns the outcome in lower case: "succeeded", "failed", "canceled",
// "rejected", "panicked" or "exited".
func (o Outcome) String() string {
	switch o {
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	case Canceled:
		return "canceled"
	case Rejected:
		return "rejected"
	case Panicked:
		return "panicked"
	case Exited:
		return "exited"
	default:
		return "unknown"
	}
}

// Result is how an [Op] ended.
type Result struct {
	Outcome  Outcome
	Err      error         // what the layer returned; with Succeeded it may be a benign error
	Panic    any           // the value of the panic, with Panicked
	Duration time.Duration // from Start to End; 0 where another hook's Start failed
}

// EventKind is what happened.
type EventKind uint8

// The kinds of [Event], with the fields that each one fills beside Kind,
// Pipeline, Operation, Policy and Name.
const (
	// Retry: another attempt follows after Delay. Attempt is the number of the
	// attempt that failed, Err its error. It comes before the wait.
	Retry EventKind = iota + 1

	// GaveUp: a retry returns an error after it judged its first attempt.
	// Attempt is the number of the last attempt, Err the error that the retry
	// returns, Reason one of the Stop constants. One for each such call.
	GaveUp

	// Reject: a policy did not call what is inside it. Err is the rejection,
	// Reason its error type ("circuit_open", "budget_exhausted", …), Delay how long it
	// had waited: above 0 where a limiter's wait was cut short.
	Reject

	// StateChange: a breaker went from From to To, each one of the State constants.
	// Delivered in order, after the change, to the hooks around the call that caused
	// it, whose Attempt it was. Reason is "forced" when the breaker was told to.
	StateChange

	// DeadlineExceeded: a deadline's own time ran out. Delay is its length, Err
	// the error that it returns.
	DeadlineExceeded

	// NestedRetry: a retry inside another one saw an attempt fail that is
	// itself a resend, and left it to the outer one. Err is the failure.
	NestedRetry

	// Waited: a limiter made the call wait for Delay, and now lets it pass. A call that
	// passes at once makes no event.
	Waited
)

// String returns the kind in snake case, as it is used in log lines.
func (k EventKind) String() string {
	switch k {
	case Retry:
		return "retry"
	case GaveUp:
		return "gave_up"
	case Reject:
		return "reject"
	case StateChange:
		return "state_change"
	case DeadlineExceeded:
		return "deadline_exceeded"
	case NestedRetry:
		return "nested_retry"
	case Waited:
		return "waited"
	default:
		return "unknown"
	}
}

// Event is a point in time. Which fields are set depends on the kind.
type Event struct {
	Kind      EventKind
	Pipeline  string        // the name given to stoic.New
	Operation string        // stoic.WithOperation, else the pipeline's name
	Policy    string        // the kind of the policy that decided: "retry", "breaker", …
	Name      string        // its own name where it has one
	Attempt   int           // the attempt it is about, from 1
	Delay     time.Duration // Retry: the wait that follows; Waited, Reject: the wait before; DeadlineExceeded: the limit
	Err       error
	Reason    string // GaveUp: a Stop constant; Reject: the error type
	From, To  string // StateChange: State constants
}

// The states of a breaker: the values of Event.From and Event.To for [StateChange].
const (
	StateClosed   = "closed"
	StateHalfOpen = "half-open"
	StateOpen     = "open"
)

// Why a retry gave up: the values of Event.Reason for [GaveUp].
const (
	StopMaxAttempts   = "max_attempts"     // the last attempt failed
	StopNotRetryable  = "not_retryable"    // the failure is not worth a retry
	StopNonIdempotent = "non_idempotent"   // the call may have been executed and must not be repeated
	StopBudget        = "budget_exhausted" // the retry budget refused
	StopDeadline      = "deadline"         // the deadline has passed, or the next attempt would start after it
	StopCanceled      = "canceled"         // the caller canceled
	StopRejected      = "rejected"         // a layer further in refused the attempt
	StopSleep         = "sleep"            // an injected sleep returned an error
)
