package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stoic-go/stoic/internal/settings"
)

// FaultKind is what goes wrong.
type FaultKind uint8

// The kinds of [Fault].
const (
	// FailFast: calls are answered with an error after Latency, without a worker.
	FailFast FaultKind = iota + 1

	// BlackHole: calls vanish. There is no answer, and no work for the server.
	BlackHole

	// BrownOut: the server works at a fraction of its Speed.
	BrownOut

	// Hold: the network keeps the calls and delivers all at once when the fault ends.
	Hold
)

// String returns "fail-fast", "black-hole", "brown-out" or "hold".
func (k FaultKind) String() string {
	switch k {
	case FailFast:
		return "fail-fast"
	case BlackHole:
		return "black-hole"
	case BrownOut:
		return "brown-out"
	case Hold:
		return "hold"
	default:
		return fmt.Sprintf("FaultKind(%d)", uint8(k))
	}
}

// MarshalText makes the kind readable in JSON.
func (k FaultKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// DefaultFaultLatency is after what time a call fails fast.
const DefaultFaultLatency = 5 * time.Millisecond

// Fault is something that goes wrong from From until To, which is not part of it. It
// hits calls by when they arrive at the server, and a BrownOut by when they are begun.
type Fault struct {
	Kind FaultKind     `json:"kind"`
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`

	Share   float64       `json:"share,omitempty"`      // of the calls that FailFast and BlackHole hit; 0 is all
	Speed   float64       `json:"speed,omitempty"`      // BrownOut: what is left of the speed, above 0 and below 1
	Latency time.Duration `json:"latency_ns,omitempty"` // FailFast: until the error [5ms]

	// Ramp is how long the fault takes to grow from nothing to Share or Speed, linearly.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
}

// Errors makes a share of the calls fail fast.
func Errors(share float64, from, to time.Duration) Fault {
	return Fault{Kind: FailFast, From: from, To: to, Share: share}
}

// Blip makes every call fail fast for a short time.
func Blip(at, length time.Duration) Fault { return Fault{Kind: FailFast, From: at, To: at + length} }

// grown is how much of the fault there is at that moment, from 0 to 1.
func (f *Fault) grown(at time.Duration) float64 {
	switch {
	case at < f.From || at >= f.To:
		return 0
	case at-f.From >= f.Ramp:
		return 1
	default:
		return float64(at-f.From) / float64(f.Ramp)
	}
}

func (f *Fault) check(p *settings.Problems, field string) {
	p.Check(field+".Kind", f.Kind >= FailFast && f.Kind <= Hold, field+".Kind", f.Kind, "must be one of the FaultKind constants")
	p.Check(field+".From", f.From >= 0 && f.From <= longest, field+".From", f.From, "must be from 0 to "+longest.String())
	p.Check(field+".To", f.To > f.From && f.To <= longest, field+".To", f.To, "must be after From, and at most "+longest.String())
	p.Check(field+".Share", f.Share >= 0 && f.Share <= 1, field+".Share", f.Share, "must be from 0 to 1; 0 is all calls")
	if f.Kind == BrownOut {
		p.Check(field+".Speed", f.Speed > 0 && f.Speed < 1, field+".Speed", f.Speed, "must be above 0 and below 1")
	} else {
		p.Check(field+".Speed", f.Speed == 0, field+".Speed", f.Speed, "is for a BrownOut only")
	}
	share := f.Kind == FailFast || f.Kind == BlackHole
	p.Check(field+".Share of", share || f.Share == 0, field+".Share", f.Share, "is for FailFast and BlackHole only")
	p.Check(field+".Latency", f.Latency >= 0 && f.Latency <= longest, field+".Latency", f.Latency, "must be from 0 to "+longest.String())
	p.Check(field+".Latency of", f.Kind == FailFast || f.Latency == 0, field+".Latency", f.Latency, "is for FailFast only")
	p.Check(field+".Ramp", f.Ramp >= 0 && f.Ramp <= f.To-f.From, field+".Ramp", f.Ramp, "must be from 0 to the length of the fault")
}

// faults is the schedule.
type faults []Fault

func newFaults(list []Fault) faults {
	fs := slices.Clone(list)
	for i := range fs {
		if f := &fs[i]; f.Kind == FailFast && f.Latency == 0 {
			f.Latency = DefaultFaultLatency
		}
		if fs[i].Share == 0 {
			fs[i].Share = 1
		}
	}
	return fs
}

// hit is what the faults do to a call that arrives at the given moment: it is answered
// with an error after a latency, it vanishes, or it is delivered later.
func (fs faults) hit(at time.Duration, r *rand.Rand) (failAfter time.Duration, kind FaultKind, delivered time.Duration) {
	delivered = at
	for i := range fs {
		f := &fs[i]
		grown := f.grown(at)
		if grown == 0 {
			continue
		}
		switch f.Kind {
		case Hold:
			delivered = max(delivered, f.To)
		case FailFast, BlackHole:
			if share := f.Share * grown; share >= 1 || r.Float64() < share {
				return f.Latency, f.Kind, at
			}
		case BrownOut: // see speed
		}
	}
	return 0, 0, delivered
}

// speed is how fast the server works at that moment.
func (fs faults) speed(at time.Duration) float64 {
	speed := 1.0
	for i := range fs {
		if f := &fs[i]; f.Kind == BrownOut {
			speed *= 1 - (1-f.Speed)*f.grown(at)
		}
	}
	return speed
}

// span is from when until when there is any fault; to is 0 when there is none.
func (fs faults) span() (from, to time.Duration) {
	from = never
	for _, f := range fs {
		from, to = min(from, f.From), max(to, f.To)
	}
	return from, to
}
