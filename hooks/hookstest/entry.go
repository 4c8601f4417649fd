package hookstest

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoic-go/stoic/hooks"
)

// Method is the method of a [Recorder] that an [Entry] is about.
type Method uint8

// The methods of a hook.
const (
	Start Method = iota + 1
	End
	Event
)

// String returns "start", "end" or "event".
func (m Method) String() string {
	switch m {
	case Start:
		return "start"
	case End:
		return "end"
	case Event:
		return "event"
	default:
		return "unknown"
	}
}

// Entry is one call of a method of a [Recorder].
type Entry struct {
	Method  Method
	Context context.Context //nolint:containedctx // with Start the one it returned, else the one it was given
	Op      hooks.Op        // with Start and End
	Result  hooks.Result    // with End
	Event   hooks.Event     // with Event
}

// String returns the entry as one short line that is the same in each run of a
// testing/synctest bubble:
//
//	start call payments #1
//	end attempt payments/refund #2 failed
//	retry retry payments #1 100ms
//	gave_up retry payments #3 max_attempts
//	waited ratelimit payments #1 250ms
//	reject ratelimit payments #1 300ms canceled
//	reject breaker(api) payments #1 circuit_open
//	state_change breaker(api) payments #1 closed->open
//	deadline_exceeded deadline payments #1 2s
//
// That is what happened, of what kind or by which policy, in which pipeline and
// operation (if it has a name of its own), in which attempt (if it is known),
// and the rest: a delay for a rejection only where there was one. Errors, values of
// panics and how long calls and attempts took are left out.
func (e Entry) String() string {
	if e.Method == Event {
		return eventLine(e.Event)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", e.Method, e.Op.Kind, place(e.Op.Pipeline, e.Op.Operation))
	number(&b, e.Op.Attempt)
	if e.Method == End {
		fmt.Fprintf(&b, " %s", e.Result.Outcome)
	}
	return b.String()
}

func eventLine(e hooks.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Kind, e.Policy)
	if e.Name != "" {
		fmt.Fprintf(&b, "(%s)", e.Name)
	}
	fmt.Fprintf(&b, " %s", place(e.Pipeline, e.Operation))
	number(&b, e.Attempt)
	switch e.Kind { //nolint:exhaustive // the others have no delay
	case hooks.Retry, hooks.Waited, hooks.DeadlineExceeded:
		fmt.Fprintf(&b, " %s", e.Delay)
	case hooks.Reject:
		if e.Delay > 0 {
			fmt.Fprintf(&b, " %s", e.Delay)
		}
	}
	if e.Reason != "" {
		fmt.Fprintf(&b, " %s", e.Reason)
	}
	if e.Kind == hooks.StateChange {
		fmt.Fprintf(&b, " %s->%s", e.From, e.To)
	}
	return b.String()
}

// place names the operation only where it differs from the pipeline.
func place(pipeline, operation string) string {
	if operation == "" || operation == pipeline {
		return pipeline
	}
	return pipeline + "/" + operation
}

func number(b *strings.Builder, attempt int) {
	if attempt > 0 {
		fmt.Fprintf(b, " #%d", attempt)
	}
}
