package lab_test

import (
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// outage is the model of experiment E10: 50 processes, two thirds of the capacity used.
func outage(faults ...lab.Fault) lab.Scenario {
	return lab.Scenario{
		Name:     "outage",
		Duration: 180 * time.Second,
		Clients:  lab.Clients{Processes: 50, Rate: 1000},
		Server: lab.Server{
			Workers: 75,
			Service: lab.Exp(50 * time.Millisecond),
			Hop:     lab.Fixed(time.Millisecond),
		},
		Faults: faults,
	}
}

func bareRetry(*lab.Env) *stoic.Pipeline {
	return stoic.MustNew("p", retry.New(retry.MaxAttempts(5)), deadline.New(500*time.Millisecond))
}

func breakerInside(*lab.Env) *stoic.Pipeline {
	return stoic.MustNew("p", retry.New(retry.MaxAttempts(5)),
		breaker.New("b", breaker.ConsecutiveFailures(5)), deadline.New(500*time.Millisecond))
}

// BenchmarkRun reports simulated attempts for each second of real time.
func BenchmarkRun(b *testing.B) {
	from, to := 30*time.Second, 60*time.Second
	faults := []struct {
		name string
		list []lab.Fault
	}{
		{"healthy", nil},
		{"fail-fast", []lab.Fault{{Kind: lab.FailFast, From: from, To: to}}},
		{"black-hole", []lab.Fault{{Kind: lab.BlackHole, From: from, To: to}}},
		{"brown-out", []lab.Fault{{Kind: lab.BrownOut, From: from, To: to, Speed: 0.2}}},
		{"30% errors", []lab.Fault{lab.Errors(0.3, from, to)}},
		{"60% errors", []lab.Fault{lab.Errors(0.6, from, to)}},
		{"blip", []lab.Fault{lab.Blip(from, 500*time.Millisecond)}},
	}
	stacks := []struct {
		name  string
		stack lab.Stack
	}{{"bare-retry", bareRetry}, {"breaker-inside", breakerInside}}
	for _, f := range faults {
		for _, s := range stacks {
			b.Run(f.name+"/"+s.name, func(b *testing.B) {
				b.ReportAllocs()
				attempts := uint64(0)
				for b.Loop() {
					res, err := lab.Run(outage(f.list...), s.stack)
					if err != nil {
						b.Fatal(err)
					}
					attempts += res.Attempts
				}
				b.ReportMetric(float64(attempts)/b.Elapsed().Seconds(), "attempts/s")
			})
		}
	}
}
