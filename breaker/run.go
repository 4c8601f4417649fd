package breaker

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/stoic-go/stoic"
)

// runForced passes or refuses, and records nothing.
func (c *core) runForced(ctx context.Context, next stoic.Next) error {
	if c.mode == forcedOpen {
		return c.b.refuse(ctx, next, c.b.rejectForced())
	}
	return next.Do(ctx)
}

// runClosed runs a call that the closed breaker admitted. Whatever ends it without a
// verdict is a failure: a panic, a Goexit, a panic in Judge. There is no recover, so
// the value and the stack trace of a panic stay as they are.
func (c *core) runClosed(ctx context.Context, next stoic.Next, word uint64) error {
	started := c.b.started()
	judged := false
	defer func() {
		if !judged {
			c.report(ctx, next, word, stoic.Failure)
		}
	}()
	err := next.Do(ctx)
	if err == nil && c.b.config.slow == 0 { // the way of nearly all calls: no more frames than it must have
		judged = true
		if c.word.Load() == word {
			c.feed(word, nil)
		}
		return nil
	}
	verdict := c.b.judge(ctx, err, started)
	judged = true
	c.report(ctx, next, word, verdict)
	return err
}

// report feeds the verdict on a call that was admitted closed.
func (c *core) report(ctx context.Context, next stoic.Next, word uint64, v stoic.Verdict) {
	if v == stoic.Neutral || c.word.Load() != word {
		return
	}
	var o *outcome
	if v == stoic.Failure {
		o = &outcome{verdict: v, ctx: ctx, next: next}
	}
	c.feed(word, o)
	c.deliver(ctx, next)
}

func (c *core) deliver(ctx context.Context, next stoic.Next) {
	if c.b.events.waiting() {
		c.b.events.deliver(ctx, c.b, next)
	}
}

// runGuarded is the way of a call that did not find the breaker closed.
func (c *core) runGuarded(ctx context.Context, next stoic.Next) error {
	now := time.Now()
	if stateOf(c.word.Load()) == Open {
		if left := c.openLeft(now); left >= 0 {
			return c.b.refuse(ctx, next, c.b.rejectOpen(after(left)))
		}
	}
	word, id, rejection := c.admit(ctx, next, now)
	switch {
	case rejection != nil:
		c.deliver(ctx, next)
		return c.b.refuse(ctx, next, rejection)
	case stateOf(word) == Closed:
		return c.runClosed(ctx, next, word)
	default:
		return c.runProbe(ctx, next, word, id)
	}
}

// after is the wait until the breaker probes: strictly after what is left.
func after(left time.Duration) time.Duration { return max(left, left+1) }

// probe is a call that was admitted half-open and has not ended.
type probe struct {
	id    uint64
	start time.Time
}

// admit makes the breaker half-open if it is time, and gives the call one of the
// probes. The breaker may have been closed by then; word says what it is.
func (c *core) admit(ctx context.Context, next stoic.Next, now time.Time) (word, id uint64, r *stoic.Rejection) {
	self := &outcome{verdict: stoic.Failure, ctx: ctx, next: next}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stateOf(c.word.Load()) == Open {
		if left := c.openLeft(now); left >= 0 {
			return 0, 0, c.b.rejectOpen(after(left))
		}
		c.opener.Store(self)
		c.feed(0, nil) // word 0 is stale by now: this only lets gobreaker look at its clock
		c.opener.Store(nil)
	}
	word = c.word.Load()
	if stateOf(word) == Closed {
		return word, 0, nil
	}
	if stateOf(word) == Open { // gobreaker's clock is not there yet
		return 0, 0, c.b.rejectOpen(1)
	}
	if c.period != word {
		c.period, c.probes, c.won = word, nil, 0
	}
	if c.failHung(word, now, self) {
		return 0, 0, c.b.rejectOpen(after(c.openLeft(now)))
	}
	if len(c.probes)+c.won >= c.b.config.probes {
		return 0, 0, c.b.rejectProbesOut()
	}
	c.nextID++
	c.probes = append(c.probes, probe{id: c.nextID, start: now})
	return word, c.nextID, nil
}

// failHung opens the breaker if a probe has been out for longer than ProbeTimeout.
func (c *core) failHung(word uint64, now time.Time, self *outcome) bool {
	for _, p := range c.probes {
		if now.Sub(p.start) > c.b.config.probeTimeout {
			c.feedProbe(word, self)
			return true
		}
	}
	return false
}

// feedProbe feeds the verdict on a probe. A stale verdict of an earlier call may be
// passing through gobreaker's half-open slots at this moment; it is out at once. mu is
// held.
func (c *core) feedProbe(word uint64, o *outcome) {
	for !c.feed(word, o) {
		runtime.Gosched()
	}
}

// runProbe runs a call that was admitted half-open. What ends it without a verdict is a
// failure; a hook that panics before it is sent only frees the probe.
func (c *core) runProbe(ctx context.Context, next stoic.Next, word, id uint64) error {
	verdict := stoic.Neutral
	settled := false
	defer func() {
		if !settled {
			c.settle(ctx, next, word, id, verdict)
		}
	}()
	c.deliver(ctx, next)
	verdict = stoic.Failure
	started := c.b.started()
	err := next.Do(ctx)
	verdict = c.b.judge(ctx, err, started)
	settled = true
	c.settle(ctx, next, word, id, verdict)
	return err
}

// settle ends a probe. One whose half-open period is over, because it hung or another
// probe failed, is ignored.
func (c *core) settle(ctx context.Context, next stoic.Next, word, id uint64, v stoic.Verdict) {
	if c.end(word, id, &outcome{verdict: v, ctx: ctx, next: next}) {
		c.deliver(ctx, next)
	}
}

func (c *core) end(word, id uint64, o *outcome) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.word.Load() != word {
		return false
	}
	c.probes = slices.DeleteFunc(c.probes, func(p probe) bool { return p.id == id })
	if o.verdict == stoic.Neutral {
		return false
	}
	if o.verdict == stoic.Success {
		c.won++
	}
	c.feedProbe(word, o)
	return true
}
