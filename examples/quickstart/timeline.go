package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
)

// timeline is the hook of the stack: it prints what the policies decide, and counts.
type timeline struct {
	script []phase

	mu      sync.Mutex
	phase   int
	printer printer
	counts  []counts // one for each phase
}

func newTimeline(w io.Writer, script []phase) *timeline {
	fmt.Fprintf(w, "%d workers charge orders while the server fails on a script. The stack around each call:\n", workers)
	fmt.Fprintf(w, "deadline %s → budget 10 %% → retry, %d attempts → breaker → rate limit 100/s → deadline %s\n\n",
		callLimit, attempts, attemptLimit)
	fmt.Fprintln(w, "  time  layer     count  what happened")
	return &timeline{
		script:  script,
		printer: printer{w: w, begin: time.Now()},
		counts:  make([]counts, len(script)),
	}
}

// enter begins a phase of the script.
func (t *timeline) enter(phase int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phase = phase
	t.printer.headline(t.script[phase].says())
}

// phaseKey is where the context of a call keeps the phase in which the call began.
type phaseKey struct{}

// Start notes in which phase a call begins. Its attempts belong to the same one.
func (t *timeline) Start(ctx context.Context, op hooks.Op) context.Context {
	if op.Kind != hooks.KindCall {
		return ctx
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return context.WithValue(ctx, phaseKey{}, t.phase)
}

// End counts calls and attempts, and shows the attempts that succeeded.
func (t *timeline) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countsOf(ctx).end(op, res)
	if op.Kind == hooks.KindAttempt && res.Outcome == hooks.Succeeded {
		if op.Attempt == 1 {
			t.printer.add("call", "succeeded at the first attempt", 0)
		} else {
			t.printer.add("retry", "succeeded on a later attempt", 0)
		}
	}
}

// Event shows what a policy decided.
func (t *timeline) Event(ctx context.Context, e hooks.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countsOf(ctx).event(e)
	switch e.Kind {
	case hooks.Retry:
		t.printer.add("retry", failure(e.Err)+" → try again", e.Delay)
	case hooks.GaveUp:
		t.gaveUp(e)
	case hooks.Reject:
		t.rejected(e)
	case hooks.StateChange:
		t.printer.note("breaker", fmt.Sprintf("%s → %s: %s", e.From, strings.ToUpper(e.To), meaning(e)))
	default: // a deadline shows as the failure that it makes
	}
}

func (t *timeline) countsOf(ctx context.Context) *counts {
	phase, _ := ctx.Value(phaseKey{}).(int)
	return &t.counts[phase]
}

func (t *timeline) gaveUp(e hooks.Event) {
	switch e.Reason {
	case hooks.StopBudget:
		t.printer.add("budget", failure(e.Err)+" → retry refused, the call fails", 0)
	case hooks.StopMaxAttempts:
		t.printer.add("retry", fmt.Sprintf("%s → attempt %d was the last, the call fails", failure(e.Err), e.Attempt), 0)
	case hooks.StopDeadline:
		t.printer.add("retry", failure(e.Err)+" → no time left for another attempt, the call fails", 0)
	default: // a rejection, which rejected shows
	}
}

func (t *timeline) rejected(e hooks.Event) {
	rejection, ok := errors.AsType[*stoic.Rejection](e.Err)
	switch {
	case !ok || e.Policy == stoic.KindBudget: // gaveUp shows it, with the failure
	case e.Attempt > 1:
		t.printer.add(e.Policy, "retry not sent: "+rejection.Reason, 0)
	default:
		t.printer.add(e.Policy, "call rejected, not sent: "+rejection.Reason, 0)
	}
}

func meaning(e hooks.Event) string {
	switch {
	case e.To == "half-open":
		return "one call may probe the server"
	case e.To == "closed":
		return "the probe succeeded, calls pass again"
	case e.From == "half-open":
		return fmt.Sprintf("the probe failed, calls are rejected for another %s", openFor)
	default:
		return fmt.Sprintf("too many failures, calls are rejected for %s", openFor)
	}
}

// failure names an error in a few words.
func failure(err error) string {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.Error()
	}
	if errors.Is(err, deadline.ErrExceeded) {
		return fmt.Sprintf("no answer in %s", attemptLimit)
	}
	if network, ok := errors.AsType[*net.OpError](err); ok && network.Op == "dial" {
		return "connection refused"
	}
	return "connection lost"
}
