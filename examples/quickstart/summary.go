package main

import (
	"fmt"
	"io"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
)

// counts are what became of the calls that began in one phase.
type counts struct {
	calls     int
	succeeded int
	failed    int
	rejected  int // no attempt reached the server
	canceled  int // by Ctrl-C
	attempts  int // that were sent

	retries int // attempts after the first, that were sent
	saved   int // retries that succeeded
	refused int // retries that the budget refused
	limited int // calls that the rate limit rejected
}

func (c *counts) end(op hooks.Op, res hooks.Result) {
	if op.Kind == hooks.KindAttempt {
		c.endAttempt(op, res)
		return
	}
	c.calls++
	switch res.Outcome {
	case hooks.Succeeded:
		c.succeeded++
	case hooks.Rejected:
		c.rejected++
	case hooks.Canceled:
		c.canceled++
	default:
		c.failed++
	}
}

func (c *counts) endAttempt(op hooks.Op, res hooks.Result) {
	if res.Outcome == hooks.Rejected {
		return
	}
	c.attempts++
	if op.Attempt > 1 {
		c.retries++
		if res.Outcome == hooks.Succeeded {
			c.saved++
		}
	}
}

func (c *counts) event(e hooks.Event) {
	switch {
	case e.Kind != hooks.Reject:
	case e.Policy == stoic.KindBudget:
		c.refused++
	case e.Policy == stoic.KindRateLimit && e.Attempt == 1:
		c.limited++
	}
}

func (c *counts) add(o counts) {
	c.calls += o.calls
	c.succeeded += o.succeeded
	c.failed += o.failed
	c.rejected += o.rejected
	c.canceled += o.canceled
	c.attempts += o.attempts
	c.retries += o.retries
	c.saved += o.saved
	c.refused += o.refused
	c.limited += o.limited
}

// amplification is the load on the server: 1 without retries and rejections.
func (c *counts) amplification() float64 {
	if c.calls == 0 {
		return 0
	}
	return float64(c.attempts) / float64(c.calls)
}

func (c *counts) row(w io.Writer, name string) {
	fmt.Fprintf(w, "%-16s %6d %10d %7d %9d %9d %14.2f\n",
		name, c.calls, c.succeeded, c.failed, c.rejected, c.attempts, c.amplification())
}

// summarize prints what was left to print, and the counts.
func (t *timeline) summarize() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.printer.flush()
	w := t.printer.w
	fmt.Fprintf(w, "\nSUMMARY\n%-16s %6s %10s %7s %9s %9s %14s\n",
		"", "calls", "succeeded", "failed", "rejected", "attempts", "amplification")
	var total counts
	for i, c := range t.counts {
		c.row(w, t.script[i].name)
		total.add(c)
	}
	total.row(w, "total")
	fmt.Fprintf(w, "\nretries:  %d sent, %d of them succeeded; %d more were refused by the budget\n",
		total.retries, total.saved, total.refused)
	fmt.Fprintf(w, "rejected: %d calls without calling the server, %d by the breaker and %d by the rate limit\n",
		total.rejected, total.rejected-total.limited, total.limited)
	if total.canceled > 0 {
		fmt.Fprintf(w, "canceled: %d calls\n", total.canceled)
	}
	fmt.Fprintln(w, "A call counts in the phase in which it began. Amplification is attempts / calls, the load on the server.")
}
