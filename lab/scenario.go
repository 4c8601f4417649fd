package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/internal/settings"
)

// The defaults.
const (
	DefaultDrain           = time.Minute
	DefaultWindow          = time.Second
	DefaultRecoveryWindow  = 2 * time.Second
	DefaultRecoverySuccess = 0.99
	DefaultStall           = 10 * time.Second
)

// maxWindows bounds the memory of a run: a window takes a few kilobytes.
const maxWindows = 20_000

// Scenario is an outage to live through: who calls, what they call, and what goes wrong.
// Times are virtual. Zero values mean the defaults in brackets.
type Scenario struct {
	Name string // for results and errors
	Seed uint64 // of all that is random

	// Duration is how long requests start.
	Duration time.Duration

	// Drain is how long requests may go on after Duration [1m]. Those that are not over
	// then are in flight, neither ok nor failed. The run ends when all are over.
	Drain time.Duration

	Clients Clients
	Server  Server
	Faults  []Fault

	// Op is a dependency of your own instead of Server and Faults. It is called once for
	// each attempt, must wait by Call.Sleep, and is used by many calls at once.
	Op func(ctx context.Context, c Call) error

	// Wait is how the modelled call waits [DeadlineOnly].
	Wait WaitMode

	// Window is the resolution of the series [1s].
	Window time.Duration

	Recovery Recovery

	// Stall is for how much real time virtual time may stand still before the run is given
	// up [10s].
	Stall time.Duration

	// Progress is told now and then, on a goroutine outside the run, how far it is.
	Progress func(at time.Duration)

	grain time.Duration // of tests
}

// Recovery is when the clients are said to be served again: at the beginning of the
// first Window [2s] after From [the end of the last fault] in which a share of at least
// Success [0.99] of the requests succeed.
type Recovery struct {
	From    time.Duration
	Window  time.Duration
	Success float64
}

// withDefaults fills in what is zero.
func (sc Scenario) withDefaults() Scenario {
	orDuration := func(d *time.Duration, or time.Duration) {
		if *d == 0 {
			*d = or
		}
	}
	orDuration(&sc.Drain, DefaultDrain)
	orDuration(&sc.Window, DefaultWindow)
	orDuration(&sc.Stall, DefaultStall)
	orDuration(&sc.Recovery.Window, DefaultRecoveryWindow)
	if sc.Recovery.Success == 0 {
		sc.Recovery.Success = DefaultRecoverySuccess
	}
	if sc.Clients.Processes == 0 {
		sc.Clients.Processes = 1
	}
	return sc
}

// Validate returns everything that is wrong with the scenario, each naming the field and
// the value, or nil. The error matches stoic.ErrInvalid. Run calls it.
func (sc Scenario) Validate() error {
	sc = sc.withDefaults()
	var p settings.Problems
	p.Check("Duration", sc.Duration > 0 && sc.Duration <= longest, "Duration", sc.Duration, "must be above 0 and at most "+longest.String())
	p.Check("Drain", sc.Drain > 0 && sc.Drain <= longest, "Drain", sc.Drain, "must be above 0 and at most "+longest.String())
	p.Check("Window", sc.Window >= time.Millisecond, "Window", sc.Window, "must be at least 1ms")
	p.Check("Windows", sc.Window <= 0 || (sc.Duration+sc.Drain)/sc.Window < maxWindows, "Window", sc.Window,
		fmt.Sprintf("Duration and Drain are %s, and a run keeps at most %d windows", sc.Duration+sc.Drain, maxWindows))
	p.Check("Wait", sc.Wait <= OnDone, "Wait", sc.Wait, "must be DeadlineOnly or OnDone")
	p.Check("Stall", sc.Stall > 0, "Stall", sc.Stall, "must be positive")
	p.Check("Recovery.From", sc.Recovery.From >= 0, "Recovery.From", sc.Recovery.From, "must not be negative")
	p.Check("Recovery.Window", sc.Recovery.Window > 0, "Recovery.Window", sc.Recovery.Window, "must be positive")
	p.Check("Recovery.Success", sc.Recovery.Success > 0 && sc.Recovery.Success <= 1, "Recovery.Success", sc.Recovery.Success, "must be above 0 and at most 1")
	sc.Clients.check(&p)
	sc.Server.check(&p)
	for i := range sc.Faults {
		sc.Faults[i].check(&p, fmt.Sprintf("Faults[%d]", i))
	}
	p.Check("Op", sc.Op == nil || len(sc.Faults) == 0, "Faults", len(sc.Faults), "are for the modelled Server; an Op must bring its own")
	return named(p.Err(), sc.Name)
}

// named puts the name of the scenario into the mistakes.
func named(err error, name string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	where := "lab"
	if name != "" {
		where += " " + name
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		if invalid, ok := errors.AsType[*stoic.InvalidError](e); ok {
			invalid.Pipeline = where
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
