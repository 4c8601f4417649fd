package lab

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/stoic-go/stoic/internal/settings"
)

const (
	// never is a moment that does not come.
	never = time.Duration(math.MaxInt64)

	// longest is the limit of all settings that are times: sums stay far from overflow.
	longest = 10_000 * time.Hour
)

// Errors with which the modelled server answers.
var (
	// ErrServer is the answer of a server that fails.
	ErrServer = errors.New("lab: the server answered with an error")

	// ErrFull is the answer of a server whose queue is full.
	ErrFull = errors.New("lab: the server is overloaded")
)

// Server is the dependency: some workers that take calls from one queue, first come
// first served.
type Server struct {
	// Workers is how many calls are served at once [unlimited].
	Workers int

	// Service is how long the work for a call takes one worker at full speed.
	Service Dist

	// Slowdown is added to the service time for each call that is inside, the call itself
	// counted, as when they share a lock. It is for unlimited Workers.
	Slowdown time.Duration

	// Hop is how long a call is on the network, and again its answer.
	Hop Dist

	// Queue is how many calls may wait for a worker [no limit]; [NoQueue] is none.
	Queue int

	// Full says what becomes of a call that finds no place [RejectFull].
	Full FullQueue

	// RejectCost is the work of answering that the queue is full, as a fraction of the
	// mean service time. It is done by a worker, after what is queued.
	RejectCost float64

	// Drop says which calls a worker that takes them from the queue throws away [DropNone].
	Drop DropRule

	// CutAbandoned makes a worker stop when the caller's deadline comes. Without it, work
	// that nobody waits for any more is done to its end, as in most servers.
	CutAbandoned bool
}

// NoQueue is for a [Server] in which no call waits.
const NoQueue = -1

// FullQueue is what a server does with a call that finds the queue full.
type FullQueue uint8

// What becomes of a call that finds the queue full.
const (
	RejectFull FullQueue = iota // it is answered at once with ErrFull
	IgnoreFull                  // it vanishes: the caller learns of it by a deadline
)

// DropRule is which calls a server throws away, without an answer, when it takes them
// from its queue. It knows the deadline of the attempt.
type DropRule uint8

// The rules.
const (
	DropNone    DropRule = iota
	DropExpired          // those whose deadline has passed
	DropTooLate          // those whose deadline would pass during the work
)

func (s *Server) check(p *settings.Problems) {
	p.Check("Workers", s.Workers >= 0 && s.Workers <= 1e6, "Server.Workers", s.Workers, "must be from 0 to 1000000; 0 is unlimited")
	s.Service.check(p, "Server.Service")
	s.Hop.check(p, "Server.Hop")
	p.Check("Slowdown", s.Slowdown >= 0 && s.Slowdown <= longest, "Server.Slowdown", s.Slowdown, "must be from 0 to "+longest.String())
	p.Check("Slowdown of", s.Slowdown == 0 || s.Workers == 0, "Server.Slowdown", s.Slowdown, "is for unlimited Workers")
	p.Check("Queue", s.Queue >= NoQueue, "Server.Queue", s.Queue, "must not be negative; 0 is no limit, NoQueue is none")
	p.Check("Queue of", s.Queue == 0 || s.Workers > 0, "Server.Queue", s.Queue, "needs Workers")
	p.Check("Full", s.Full <= IgnoreFull, "Server.Full", s.Full, "must be RejectFull or IgnoreFull")
	p.Check("RejectCost", s.RejectCost >= 0 && s.RejectCost <= 1000, "Server.RejectCost", s.RejectCost, "must be from 0 to 1000")
	p.Check("RejectCost of", s.RejectCost == 0 || s.Queue != 0, "Server.RejectCost", s.RejectCost, "needs a limited Queue")
	p.Check("Drop", s.Drop <= DropTooLate, "Server.Drop", s.Drop, "must be one of the DropRule constants")
	p.Check("Drop of", s.Drop == DropNone || s.Workers > 0, "Server.Drop", s.Drop, "needs Workers")
}

// String sums the server up.
func (s *Server) String() string {
	if s.Workers == 0 {
		return fmt.Sprintf("unlimited workers, %s", s.Service)
	}
	return fmt.Sprintf("%d workers, %s", s.Workers, s.Service)
}

// server decides about a call when it arrives: first come first served, with nothing to
// change its mind later, so the end of the work is known then. Calls must be given in
// the order of their arrival.
type server struct {
	cfg    Server
	faults faults
	free   instants // of the workers: when each of them is free
	starts fifo     // of the calls that wait, when each of them is begun
	inside instants // of the calls in it, for Slowdown: when each of them is out
	cost   time.Duration
}

func newServer(cfg Server, fs faults) *server {
	s := &server{cfg: cfg, faults: fs, cost: time.Duration(cfg.RejectCost * float64(cfg.Service.Mean()))}
	if cfg.Workers > 0 {
		s.free = make(instants, cfg.Workers)
	}
	return s
}

// serve decides about a call that arrives at the given moment with the given deadline:
// when it is answered (never, if it is not) and with which error.
func (s *server) serve(at, deadline time.Duration, r *rand.Rand) (answered time.Duration, err error) {
	service := s.cfg.Service.Draw(r) // always, so that all stacks see the same
	after, kind, at := s.faults.hit(at, r)
	switch kind {
	case FailFast:
		return at + after, ErrServer
	case BlackHole:
		return never, nil
	case BrownOut, Hold: // no answer of their own
	}
	if s.cfg.Workers == 0 {
		return s.unlimited(at, deadline, service), nil
	}
	if s.full(at) {
		if s.cost > 0 {
			s.free.replaceFirst(max(at, s.free[0]) + s.cost)
		}
		if s.cfg.Full == IgnoreFull {
			return never, nil
		}
		return at, ErrFull
	}
	return s.queued(at, deadline, service), nil
}

func (s *server) unlimited(at, deadline, service time.Duration) time.Duration {
	if s.cfg.Slowdown > 0 {
		for len(s.inside) > 0 && s.inside[0] <= at {
			s.inside.removeFirst()
		}
		service += s.cfg.Slowdown * time.Duration(len(s.inside)+1)
	}
	end := at + s.slowed(service, at)
	if s.cfg.Slowdown > 0 {
		out := end
		if s.cfg.CutAbandoned {
			out = min(end, max(deadline, at))
		}
		s.inside.add(out)
	}
	return end
}

// full reports whether a call that arrives now has to wait and finds no place.
func (s *server) full(at time.Duration) bool {
	if s.cfg.Queue == 0 {
		return false
	}
	for s.starts.len() > 0 && s.starts.first() <= at {
		s.starts.removeFirst()
	}
	return s.free[0] > at && s.starts.len() >= max(0, s.cfg.Queue)
}

func (s *server) queued(at, deadline, service time.Duration) time.Duration {
	start := max(at, s.free[0])
	if s.cfg.Queue > 0 && start > at {
		s.starts.add(start)
	}
	end := start + s.slowed(service, start)
	switch {
	case s.cfg.Drop != DropNone && start >= deadline, s.cfg.Drop == DropTooLate && end > deadline:
		return never
	case s.cfg.CutAbandoned && end > deadline:
		s.free.replaceFirst(max(start, deadline))
		return never
	}
	s.free.replaceFirst(end)
	return end
}

// slowed is how long work takes that is begun at the given moment.
func (s *server) slowed(service, start time.Duration) time.Duration {
	if speed := s.faults.speed(start); speed != 1 {
		return saturate(float64(service) / speed)
	}
	return service
}
