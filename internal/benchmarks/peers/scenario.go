package peers

import (
	"context"
	"errors"
	"time"
)

// A Scenario is one row of the tables: a stack, what runs in it, and how.
type Scenario struct {
	Name  string
	Stack Stack

	// Settings changes the defaults.
	Settings func(*Settings)

	// Prepare brings the stack into the state that is measured.
	Prepare func(run Run)

	// NewOp makes the operation of one goroutine.
	NewOp func() Op

	// Cancellable gives the calls of a goroutine a parent that could be cancelled.
	Cancellable bool

	// Rejects says that every call is refused. Otherwise every call succeeds.
	Rejects bool
}

// ErrDown is what an operation that fails returns.
var ErrDown = errors.New("down")

// Scenarios lists the rows in the order of the tables.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "empty", Stack: Empty, NewOp: noWait},
		{Name: "retry", Stack: Retry, NewOp: noWait},
		{Name: "retry, one failure, zero delay", Stack: Retry, NewOp: failsFirst, Settings: noDelay},
		{Name: "breaker, closed", Stack: Breaker, NewOp: noWait},
		{Name: "breaker, open", Stack: Breaker, NewOp: noWait, Settings: staysOpen, Prepare: trip, Rejects: true},
		{Name: "limiter", Stack: Limiter, NewOp: noWait},
		{Name: "deadline", Stack: Deadline, NewOp: noWait},
		{Name: "deadline, waits", Stack: Deadline, NewOp: waits},
		{Name: "retry, breaker, deadline", Stack: Three, NewOp: noWait},
		{Name: "retry, breaker, deadline, waits", Stack: Three, NewOp: waits},
		{Name: "full stack without deadlines", Stack: Four, NewOp: noWait},
		{Name: "full stack", Stack: Full, NewOp: noWait},
		{Name: "full stack, cancellable parent", Stack: Full, NewOp: noWait, Cancellable: true},
		{Name: "full stack, waits", Stack: Full, NewOp: waits},
		{Name: "full stack, waits, cancellable parent", Stack: Full, NewOp: waits, Cancellable: true},
		{Name: "full stack with a hook", Stack: Full, NewOp: noWait, Settings: listened},
		{Name: "retry with a hook, one failure, zero delay", Stack: Retry, NewOp: failsFirst, Settings: listenedNoDelay},
	}
}

// Build makes the stack of a contender, in the state that is measured, or returns nil
// if it does not have it.
func (sc Scenario) Build(c Contender) Run {
	s := Defaults()
	if sc.Settings != nil {
		sc.Settings(&s)
	}
	run := c.Build(sc.Stack, s)
	if run != nil && sc.Prepare != nil {
		sc.Prepare(run)
	}
	return run
}

// Parent makes the context of the calls of one goroutine.
func (sc Scenario) Parent() (context.Context, context.CancelFunc) {
	if sc.Cancellable {
		return context.WithCancel(context.Background())
	}
	return context.Background(), func() {}
}

// OK reports whether a call went as it should.
func (sc Scenario) OK(err error) bool { return (err != nil) == sc.Rejects }

func staysOpen(s *Settings) { s.OpenFor = time.Hour }
func noDelay(s *Settings)   { s.Base = 0 }
func listened(s *Settings)  { s.Listen = func() {} }

func listenedNoDelay(s *Settings) {
	noDelay(s)
	listened(s)
}

// noWait makes an operation that does not look at its context.
func noWait() Op { return func(context.Context) error { return nil } }

// waits makes one that waits on its context, as far as that costs something: it asks
// for Done.
func waits() Op {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
			return nil
		}
	}
}

// failsFirst makes one whose every other call fails, beginning with the first.
func failsFirst() Op {
	failed := false
	return func(context.Context) error {
		failed = !failed
		if failed {
			return ErrDown
		}
		return nil
	}
}

// trip opens the breaker.
func trip(run Run) {
	for range Defaults().InARow {
		_ = run(context.Background(), func(context.Context) error { return ErrDown })
	}
}
