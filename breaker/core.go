package breaker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
)

type mode uint8

const (
	automatic mode = iota
	forcedOpen
	forcedClosed
)

// core is one life of a breaker, from New or Auto on. gobreaker inside it is the state
// machine and the window, and nothing else: calls run outside it, and their verdicts
// are fed to it afterwards by an Execute that returns at once. So no foreign code runs
// under its lock, and none of its half-open slots is held while a call runs.
//
// word is the number of state changes and the state, in one. A call remembers the word
// that admitted it; a verdict whose word has changed is stale and is not fed.
type core struct {
	b    *Breaker
	mode mode
	cb   *gobreaker.CircuitBreaker[struct{}]
	word atomic.Uint64
	till atomic.Pointer[time.Time] // open until and including then

	// Under gobreaker's lock, in the functions that it calls:
	streak atomic.Int64            // failures in a row; gobreaker's own is cut by the window
	last   *ring                   // of FailureRateOfLast, or nil
	cause  atomic.Pointer[outcome] // what is being counted, for the event of a change that it causes

	opener atomic.Pointer[outcome] // the call that makes it half-open

	mu     sync.Mutex // the probes; never held while foreign code runs
	period uint64     // the word of the half-open period that probes and won are about
	probes []probe    // out
	won    int        // succeeded
	nextID uint64
}

// outcome is a verdict on its way into gobreaker, with the call that it belongs to. A
// nil *outcome is a success that cannot change the state.
type outcome struct {
	verdict stoic.Verdict
	ctx     context.Context //nolint:containedctx // of the call, for the hooks
	next    stoic.Next
}

func (o *outcome) Error() string { return o.verdict.String() }

// errStale is fed instead of a verdict that turned out to be stale.
var errStale = errors.New("breaker: stale verdict")

func newCore(b *Breaker, m mode) *core {
	c := &core{b: b, mode: m}
	cfg := b.config
	if cfg.lastRate > 0 {
		c.last = newRing(cfg.lastCalls)
	}
	settings := gobreaker.Settings{
		Name:          b.name,
		MaxRequests:   uint32(cfg.probes),
		Timeout:       cfg.openFor,
		ReadyToTrip:   c.readyToTrip,
		OnStateChange: c.onStateChange,
		IsSuccessful:  c.isSuccessful,
		IsExcluded:    c.isExcluded,
	}
	if cfg.rate > 0 {
		settings.Interval = cfg.window
		settings.BucketPeriod = (cfg.window + windowSlots - 1) / windowSlots
	}
	c.cb = gobreaker.NewCircuitBreaker[struct{}](settings)
	return c
}

func stateOf(word uint64) State { return State(word & 3) }

// current is the state as the clock has it.
func (c *core) current() State {
	switch c.mode {
	case forcedOpen:
		return Open
	case forcedClosed:
		return Closed
	default:
		s := stateOf(c.word.Load())
		if s == Open && c.openLeft(time.Now()) < 0 {
			return HalfOpen
		}
		return s
	}
}

// openLeft is the time for which the breaker is still open; below 0 it may probe.
func (c *core) openLeft(now time.Time) time.Duration {
	till := c.till.Load()
	if till == nil {
		return 0
	}
	return till.Sub(now)
}

func (c *core) counts() Counts {
	n := c.cb.Counts()
	return Counts{
		Successes:           int(n.TotalSuccesses),
		Failures:            int(n.TotalFailures),
		ConsecutiveFailures: int(c.streak.Load()),
	}
}

// feed hands a verdict to gobreaker, unless the state has changed since word was read.
// gobreaker notes its generation before it runs the closure, so a change before the
// closure's check is seen there and one after it by gobreaker: there is no gap.
//
// It reports whether gobreaker took it: a stale verdict that is just passing through a
// half-open gobreaker takes up a slot for a moment.
func (c *core) feed(word uint64, o *outcome) bool {
	_, err := c.cb.Execute(func() (struct{}, error) {
		if c.word.Load() != word {
			return struct{}{}, errStale
		}
		if o == nil {
			return struct{}{}, nil
		}
		return struct{}{}, o
	})
	if o != nil {
		c.cause.CompareAndSwap(o, nil) // keeps nothing of the call alive
	}
	return !errors.Is(err, gobreaker.ErrTooManyRequests)
}

// isExcluded runs first of the four, with gobreaker's lock held, as the others do.
func (c *core) isExcluded(err error) bool {
	//nolint:errorlint // feed made it
	if o, ok := err.(*outcome); ok {
		c.cause.Store(o)
		return false
	}
	return err != nil
}

// isSuccessful runs once for each verdict that counts, and for no other.
func (c *core) isSuccessful(err error) bool {
	//nolint:errorlint // feed made it
	o, ok := err.(*outcome)
	success := !ok || o.verdict == stoic.Success
	if success {
		c.streak.Store(0)
	} else {
		c.streak.Add(1)
	}
	if c.last != nil {
		c.last.add(!success)
	}
	return success
}

// readyToTrip runs after a failure in the closed state.
func (c *core) readyToTrip(n gobreaker.Counts) bool {
	cfg := &c.b.config
	switch {
	case cfg.consecutive > 0 && c.streak.Load() >= int64(cfg.consecutive):
		return true
	case cfg.rate > 0 && overRate(int(n.TotalFailures), int(n.TotalSuccesses+n.TotalFailures), cfg.minCalls, cfg.rate):
		return true
	default:
		return c.last != nil && overRate(c.last.failures, c.last.size, (len(c.last.failed)+1)/2, cfg.lastRate)
	}
}

// overRate divides, since a ratio such as 0.29 is the same float64 as 29.0/100.
func overRate(failures, calls, minCalls int, ratio float64) bool {
	return calls >= minCalls && float64(failures)/float64(calls) >= ratio
}

// onStateChange runs with gobreaker's lock held, so it only notes what happened.
func (c *core) onStateChange(_ string, from, to gobreaker.State) {
	c.streak.Store(0)
	if c.last != nil {
		c.last.clear()
	}
	owner := c.cause.Load()
	if to == gobreaker.StateHalfOpen {
		owner = c.opener.Load()
	}
	if to == gobreaker.StateOpen {
		till := time.Now().Add(c.b.config.openFor)
		c.till.Store(&till)
	}
	c.word.Store((c.word.Load()>>2+1)<<2 | uint64(stateFrom(to)))
	c.b.events.add(c, transition{from: stateFrom(from), to: stateFrom(to), owner: owner})
}

func stateFrom(s gobreaker.State) State {
	switch s {
	case gobreaker.StateClosed:
		return Closed
	case gobreaker.StateHalfOpen:
		return HalfOpen
	default:
		return Open
	}
}

// ring holds whether the last calls failed.
type ring struct {
	failed   []bool
	at, size int
	failures int
}

func newRing(n int) *ring { return &ring{failed: make([]bool, n)} }

func (r *ring) add(failed bool) {
	if r.size == len(r.failed) {
		if r.failed[r.at] {
			r.failures--
		}
	} else {
		r.size++
	}
	r.failed[r.at] = failed
	if failed {
		r.failures++
	}
	r.at = (r.at + 1) % len(r.failed)
}

func (r *ring) clear() { r.at, r.size, r.failures = 0, 0, 0 }
