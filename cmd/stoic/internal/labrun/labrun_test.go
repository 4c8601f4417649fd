package labrun_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/labrun"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/lab"
)

// Numbers are averages over the seeds that have them; the recovery is the longest.
func TestValue(t *testing.T) {
	first := &lab.Result{
		Summary:   lab.Summary{Requests: 10, OK: 5, Amplification: 1, Success: 0.5, RejectedShare: 0.2, Goodput: 3, PeakArrivals: 4, BreakerOpenShare: 0.1, OKP50: time.Second, OKP99: 3 * time.Second},
		Fault:     &lab.Summary{Requests: 2, Amplification: 4},
		Recovered: true, TimeToRecover: time.Second, Ties: 1,
	}
	second := &lab.Result{
		Summary:   lab.Summary{Requests: 30, Failed: 30, Amplification: 3, Success: 0, RejectedShare: 0.4, Goodput: 5, PeakArrivals: 8, BreakerOpenShare: 0.3, FailedP50: 2 * time.Second, FailedP99: 4 * time.Second},
		Fault:     &lab.Summary{},
		Recovered: true, TimeToRecover: 5 * time.Second, Ties: 2,
	}
	o := labrun.Outcome{Results: []*lab.Result{first, second}}
	for _, tt := range []struct {
		metric string
		fault  bool
		want   float64
	}{
		{"amplification", false, 2},
		{"amplification", true, 4}, // no request of the second one started in its fault
		{"success", false, 0.25},
		{"success", true, 0},
		{"rejected_share", false, 0.3},
		{"goodput", false, 4},
		{"peak_10ms", false, 6},
		{"open_share", false, 0.2},
		{"good_p50", false, 1},
		{"good_p99", false, 3},
		{"failed_p50", false, 2},
		{"failed_p99", false, 4},
		{"good_p99", true, math.NaN()},
		{"recovery", false, 5},
	} {
		got := o.Value(tt.metric, tt.fault)
		if math.Abs(got-tt.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(tt.want) {
			t.Errorf("%s, fault %v: got %v, want %v", tt.metric, tt.fault, got, tt.want)
		}
	}
	if got := o.Ties(); got != 3 {
		t.Errorf("got %d ties, want 3", got)
	}
	first.Recovered = false
	if got := o.Value("recovery", false); !math.IsInf(got, 1) {
		t.Errorf("got %v, want never", got)
	}
	first.Fault = nil
	if got := o.Value("recovery", false); !math.IsNaN(got) {
		t.Errorf("got %v, want none", got)
	}
}

func file(t *testing.T) *labfile.File {
	t.Helper()
	f, err := source.Parse("lab.yaml", []byte(`name: x
duration: 1h
seeds: [1, 2]
clients: {rate: 1000}
server: {service: {exp: 1ms}}
stacks: [{name: a, layers: []}, {name: b, layers: []}]
`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := labfile.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A run that is interrupted ends soon, says so, and gives nothing.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	all := labrun.New(file(t))
	type ended struct {
		outcomes []labrun.Outcome
		err      error
	}
	done := make(chan ended)
	go func() {
		outcomes, err := all.Run(ctx)
		done <- ended{outcomes, err}
	}()
	for all.Progress.Share() == 0 { // until it is under way
		select {
		case e := <-done:
			t.Fatalf("got %+v before the interrupt", e)
		default:
		}
	}
	cancel()
	if e := <-done; e.outcomes != nil || e.err == nil || e.err.Error() != "stopped, and nothing written" {
		t.Errorf("got %+v", e)
	}
	if over, runs := all.Progress.Runs(); over != 0 || runs != 4 {
		t.Errorf("%d of %d runs are over", over, runs)
	}
}

// What goes wrong in a run names the stack and the seed.
func TestErrorNamesTheRun(t *testing.T) {
	f := file(t)
	f.Scenario.Duration = 0 // which Load would have refused
	_, err := labrun.New(f).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), `stack "a", seed 1: `) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
