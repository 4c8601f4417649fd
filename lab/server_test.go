package lab_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
)

const ms = time.Millisecond

// ended is when a request started and ended, and how.
type ended struct {
	start, at time.Duration
	err       error
}

// ends runs the scenario and returns how each request ended, in that order. Instants are
// rounded to a microsecond: the lab moves those that meet by nanoseconds.
func ends(t *testing.T, sc lab.Scenario, layers ...stoic.Policy) []ended {
	t.Helper()
	var all []ended
	var env *lab.Env
	note := stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
		start := env.Now().Round(time.Microsecond)
		err := next.Do(ctx)
		all = append(all, ended{start, env.Now().Round(time.Microsecond), err})
		return err
	})
	run(t, sc, func(e *lab.Env) *stoic.Pipeline {
		env = e
		return stoic.MustNew("p", append([]stoic.Policy{note}, layers...)...)
	})
	return all
}

func at(all []ended) []time.Duration {
	var times []time.Duration
	for _, e := range all {
		times = append(times, e.at)
	}
	return times
}

// four is a burst of four for a server that takes 100 ms each.
func four(change func(*lab.Server)) lab.Scenario {
	sc := lab.Scenario{
		Duration: time.Second, Clients: lab.Clients{Burst: 4},
		Server: lab.Server{Workers: 1, Service: lab.Fixed(100 * ms), Hop: lab.Fixed(ms)},
	}
	change(&sc.Server)
	return sc
}

func TestServer(t *testing.T) {
	within := deadline.New(250 * ms)
	for _, tt := range []struct {
		name   string
		change func(*lab.Server)
		layers []stoic.Policy
		at     []time.Duration
		failed int // of these
	}{
		{"one worker, first come first served", func(*lab.Server) {}, nil, []time.Duration{102 * ms, 202 * ms, 302 * ms, 402 * ms}, 0},
		{"three workers", func(s *lab.Server) { s.Workers = 3 }, nil, []time.Duration{102 * ms, 102 * ms, 102 * ms, 202 * ms}, 0},
		{"unlimited workers", func(s *lab.Server) { s.Workers = 0 }, nil, []time.Duration{102 * ms, 102 * ms, 102 * ms, 102 * ms}, 0},
		{"slowdown", func(s *lab.Server) { s.Workers, s.Slowdown = 0, 10*ms }, nil, []time.Duration{112 * ms, 122 * ms, 132 * ms, 142 * ms}, 0},
		{"queue of one", func(s *lab.Server) { s.Queue = 1 }, nil, []time.Duration{2 * ms, 2 * ms, 102 * ms, 202 * ms}, 2},
		{"no queue", func(s *lab.Server) { s.Queue = lab.NoQueue }, nil, []time.Duration{2 * ms, 2 * ms, 2 * ms, 102 * ms}, 3},
		{"full and silent", func(s *lab.Server) { s.Queue, s.Full = 1, lab.IgnoreFull }, []stoic.Policy{within}, []time.Duration{102 * ms, 202 * ms, 250 * ms, 250 * ms}, 2},
		{"the late are served all the same", func(*lab.Server) {}, []stoic.Policy{within}, []time.Duration{102 * ms, 202 * ms, 250 * ms, 250 * ms}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := ends(t, four(tt.change), tt.layers...)
			if got := at(all); !slices.Equal(got, tt.at) {
				t.Errorf("ended at %v, want %v", got, tt.at)
			}
			failed := 0
			for _, e := range all {
				if e.err != nil {
					failed++
				}
			}
			if failed != tt.failed {
				t.Errorf("%d failed, want %d: %v", failed, tt.failed, all)
			}
		})
	}
}

// busy is until when the worker has work after four calls with a deadline of 250 ms: a
// fifth call, sent when they are over, shows it.
func TestServerAndAbandonedCalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*lab.Server)
		fifth  time.Duration // when it is answered
	}{
		{"done to the end", func(*lab.Server) {}, 502 * ms},
		{"cut", func(s *lab.Server) { s.CutAbandoned = true }, 361_500 * time.Microsecond},                      // idle from 250 ms on
		{"expired ones dropped", func(s *lab.Server) { s.Drop = lab.DropExpired }, 402 * ms},                    // the third is begun at 201
		{"too late ones dropped", func(s *lab.Server) { s.Drop = lab.DropTooLate }, 361_500 * time.Microsecond}, // none is begun after 201
	} {
		t.Run(tt.name, func(t *testing.T) {
			sc := four(tt.change)
			sc.Clients = lab.Clients{Even: true, Load: []lab.LoadPoint{
				{0, 1e6},
				{4500 * time.Nanosecond, 1e6}, // four within 4 µs
				{4500 * time.Nanosecond, 0},
				{259 * ms, 0},
				{259 * ms, 1000},
				{260 * ms, 1000},
				{260 * ms, 0}, // one at 259.5 ms
			}}
			all := ends(t, sc, deadline.New(250*ms))
			last := all[len(all)-1]
			if len(all) != 5 || last.err != nil || (last.at-tt.fifth).Abs() > 20*time.Microsecond {
				t.Errorf("%d ended, the last at %v with %v, want five, the last at %v: %v", len(all), last.at, last.err, tt.fifth, all)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name  string
		fault lab.Fault
		took  time.Duration // of the request in the fault
		err   error
	}{
		{"fail fast", lab.Fault{Kind: lab.FailFast, From: s, To: 2 * s}, 7 * ms, lab.ErrServer},
		{"fail slowly", lab.Fault{Kind: lab.FailFast, From: s, To: 2 * s, Latency: 50 * ms}, 52 * ms, lab.ErrServer},
		{"black hole", lab.Fault{Kind: lab.BlackHole, From: s, To: 2 * s}, 800 * ms, context.DeadlineExceeded},
		{"brown-out", lab.Fault{Kind: lab.BrownOut, From: s, To: 2 * s, Speed: 0.5}, 202 * ms, nil},
		{"brown-out that grows", lab.Fault{Kind: lab.BrownOut, From: s, To: 3 * s, Speed: 0.5, Ramp: 2*s - 2*ms}, 0, nil},
		{"hold", lab.Fault{Kind: lab.Hold, From: s, To: 2 * s}, 701 * ms, nil}, // behind the request of 1 s,
	} {
		t.Run(tt.name, func(t *testing.T) {
			// One request each half second; that of 1.5 s is in the fault.
			sc := lab.Scenario{
				Duration: 4 * s, Clients: lab.Clients{Rate: 2, Even: true},
				Server: lab.Server{Workers: 1, Service: lab.Fixed(100 * ms), Hop: lab.Fixed(ms)},
				Faults: []lab.Fault{tt.fault},
			}
			all := ends(t, sc, deadline.New(800*ms))
			byStart := map[time.Duration]ended{}
			for _, e := range all {
				byStart[e.start] = e
			}
			if e := byStart[500*ms]; e.at != 602*ms || e.err != nil {
				t.Errorf("before the fault: %+v, want ok after 102ms", e)
			}
			e := byStart[1500*ms]
			switch {
			case tt.fault.Ramp > 0:
				grown := 501.0 / 1998 // it arrives after 501 ms of 1998
				want := time.Duration(float64(100*ms)/(1-0.5*grown)) + 2*ms
				if (e.at - 1500*ms - want).Abs() > time.Microsecond {
					t.Errorf("took %v, want %v", e.at-1500*ms, want)
				}
			case e.at-1500*ms != tt.took || !errors.Is(e.err, tt.err):
				t.Errorf("took %v with %v, want %v with %v", e.at-1500*ms, e.err, tt.took, tt.err)
			}
		})
	}
}

func TestRejectionsCostWork(t *testing.T) {
	// Three of four are refused, at half a call each: the worker is busy until 251 ms.
	sc := four(func(s *lab.Server) { s.Queue, s.RejectCost = lab.NoQueue, 0.5 })
	sc.Clients = lab.Clients{Even: true, Load: []lab.LoadPoint{
		{0, 1e6},
		{4500 * time.Nanosecond, 1e6},
		{4500 * time.Nanosecond, 0},
		{100 * ms, 0},
		{100 * ms, 5},
		{400 * ms, 5},
		{400 * ms, 0}, // at 200 and 400 ms
	}}
	all := ends(t, sc)
	for i := range all {
		all[i].at = all[i].at.Round(10 * time.Microsecond)
	}
	if want := []time.Duration{2 * ms, 2 * ms, 2 * ms, 102 * ms, 202 * ms, 502 * ms}; !slices.Equal(at(all), want) {
		t.Errorf("ended at %v, want %v", at(all), want)
	}
}

// A call whose caller gave up while it was on the network still comes to the server, and
// keeps others waiting there.
func TestCallsArriveAfterTheirCallersGaveUp(t *testing.T) {
	slow := lab.Mix(1, lab.Fixed(300*ms), lab.Exp(1)) // not the same for all, as far as the lab knows
	sc := lab.Scenario{
		Duration: time.Second, Clients: lab.Clients{Burst: 3},
		Server: lab.Server{Workers: 1, Service: lab.Fixed(200 * ms), Hop: slow},
	}
	var n int
	impatient := stoic.PolicyFunc("impatient", func(ctx context.Context, next stoic.Next) error {
		n++
		limit := 100 * ms
		if n == 3 {
			limit = time.Hour
		}
		return stoic.MustNew("limit", deadline.New(limit)).Do(ctx, next.Do)
	})
	all := ends(t, sc, impatient)
	if want := []time.Duration{100 * ms, 100 * ms, 1200 * ms}; !slices.Equal(at(all), want) {
		t.Errorf("ended at %v, want %v: there at 300 ms, behind two others until 700, done at 900, back at 1200", at(all), want)
	}
	// The one that comes last has nobody to wait for it, but it comes.
	sc.Clients.Burst, sc.Drain = 2, time.Second
	patient := stoic.PolicyFunc("patient", func(ctx context.Context, next stoic.Next) error {
		if n++; n == 5 {
			return stoic.MustNew("limit", deadline.New(100*ms)).Do(ctx, next.Do)
		}
		return next.Do(ctx)
	})
	if res := run(t, sc, func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", patient) }); res.PeakArrivals != 2 {
		t.Errorf("%d arrivals in the worst 10 ms, want 2", res.PeakArrivals)
	}
}
