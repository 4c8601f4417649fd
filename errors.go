package stoic

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrInvalid matches every mistake in the construction of a stack. The data is
	// in [*InvalidError].
	ErrInvalid = errors.New("stoic: invalid stack")

	// ErrRejected matches every error that means "the client refused, and did not
	// call": an open breaker, a rate limit, an exhausted budget. The data is in
	// [*Rejection]. An error that comes back after calls were made does not match
	// it, also when a rejection ended them.
	ErrRejected = errors.New("stoic: rejected by the client")

	errZeroNext error = &InvalidError{Field: "Next{}", Reason: "the zero Next has nothing to run"}
)

// InvalidError is one mistake in the construction of a stack. [New] joins all that
// it finds, each naming the pipeline, the layer, the field and the value; a policy
// returns it from Validate with Field, Value and Reason set, and New fills in the
// rest. It matches [ErrInvalid].
type InvalidError struct {
	Pipeline string
	Layer    int    // counted from 1, outermost first, nested pipelines flattened; 0 when it is about the whole
	Policy   string // what the layer is: "retry", `breaker "db"`
	Field    string // the option: "MaxAttempts"; empty when the mistake is the place
	Value    any    // what was given
	Reason   string // what must hold
	Code     Code   // of the finding, when the order is the mistake: CodeDuplicateLayer, CodeBudgetWithoutRetry
}

// Error reads like "payments: layer 2 (retry): MaxAttempts(0): must be at least 1".
func (e *InvalidError) Error() string {
	var b strings.Builder
	if e.Pipeline != "" {
		b.WriteString(e.Pipeline)
	} else {
		b.WriteString("stoic")
	}
	if e.Layer > 0 {
		fmt.Fprintf(&b, ": layer %d (%s)", e.Layer, e.Policy)
	}
	if e.Field != "" {
		b.WriteString(": ")
		b.WriteString(e.Field)
		if e.Value != nil {
			fmt.Fprintf(&b, "(%v)", e.Value)
		}
	}
	b.WriteString(": ")
	b.WriteString(e.Reason)
	return b.String()
}

// Is makes the error match [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// ErrorType is "invalid".
func (e *InvalidError) ErrorType() string { return "invalid" }

// Rejection is the error of a policy that refused to call what is inside it. It
// matches [ErrRejected] and whatever Err matches. Policies of other packages use
// it too; each refusal returns a value of its own, which nobody changes.
type Rejection struct { //nolint:errname // the field calls it that
	Pipeline string        // the pipeline's name
	Policy   string        // the kind of the policy: "breaker"
	Name     string        // the policy's own name, where it has one
	Reason   string        // plain words: "circuit breaker is open"
	Err      error         // the sentinel of the policy; joins more where there is more to match
	Type     string        // for telemetry, from a small fixed set: "circuit_open"
	After    time.Duration // when it may be worth another try; 0 or less if not known
}

// Error says that it was the client that refused: `payments: breaker "db": circuit
// breaker is open: the client did not send this call (retry after 4.2s)`.
func (r *Rejection) Error() string {
	var b strings.Builder
	if r.Pipeline != "" {
		b.WriteString(r.Pipeline)
		b.WriteString(": ")
	}
	if r.Name != "" {
		fmt.Fprintf(&b, "%s %q: ", r.Policy, r.Name)
	} else if !strings.Contains(r.Reason, r.Policy) {
		b.WriteString(r.Policy + ": ")
	}
	b.WriteString(r.Reason)
	what := "call"
	if r.Policy == KindBudget {
		what = "retry"
	}
	b.WriteString(": the client did not send this " + what)
	if r.After > 0 {
		fmt.Fprintf(&b, " (retry after %s)", readable(r.After))
	}
	return b.String()
}

// readable drops what no reader needs: 4.8s instead of 4.800000001s.
func readable(d time.Duration) time.Duration {
	if d >= time.Millisecond {
		return d.Round(time.Millisecond)
	}
	return d
}

// Is makes the error match [ErrRejected].
func (r *Rejection) Is(target error) bool { return target == ErrRejected }

// Unwrap returns Err.
func (r *Rejection) Unwrap() error { return r.Err }

// RetryAfter is how long to wait before another call may pass, where the policy
// knows it. It is never negative.
func (r *Rejection) RetryAfter() (time.Duration, bool) { return max(r.After, 0), r.After > 0 }

// ErrorType is Type.
func (r *Rejection) ErrorType() string { return r.Type }

// doneError is what Do returns for a context that was already done.
type doneError struct {
	pipeline string
	err      error
}

func (e *doneError) Error() string { return e.pipeline + ": not called: " + e.err.Error() }
func (e *doneError) Unwrap() error { return e.err }
