package lab_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
)

func TestValidateNamesFieldAndValue(t *testing.T) {
	fault := func(f lab.Fault) func(*lab.Scenario) { return func(sc *lab.Scenario) { sc.Faults = []lab.Fault{f} } }
	for _, tt := range []struct {
		want   string
		change func(*lab.Scenario)
	}{
		{"Duration(0s)", func(sc *lab.Scenario) { sc.Duration = 0 }},
		{"Duration(-1s)", func(sc *lab.Scenario) { sc.Duration = -time.Second }},
		{"Drain(-1s)", func(sc *lab.Scenario) { sc.Drain = -time.Second }},
		{"Window(1µs)", func(sc *lab.Scenario) { sc.Window = time.Microsecond }},
		{"at most 20000 windows", func(sc *lab.Scenario) { sc.Window = time.Millisecond }},
		{"Wait(9)", func(sc *lab.Scenario) { sc.Wait = 9 }},
		{"Stall(-1ns)", func(sc *lab.Scenario) { sc.Stall = -1 }},
		{"Recovery.Success(1.5)", func(sc *lab.Scenario) { sc.Recovery.Success = 1.5 }},
		{"Recovery.Success(NaN)", func(sc *lab.Scenario) { sc.Recovery.Success = math.NaN() }},
		{"Clients(0 of Rate, Load, Burst and Loop)", func(sc *lab.Scenario) { sc.Clients = lab.Clients{} }},
		{"Clients(2 of Rate, Load, Burst and Loop)", func(sc *lab.Scenario) { sc.Clients.Burst = 1 }},
		{"Clients.Rate(-1)", func(sc *lab.Scenario) { sc.Clients.Rate = -1 }},
		{"Clients.Rate(NaN)", func(sc *lab.Scenario) { sc.Clients.Rate = math.NaN() }},
		{"Clients.Rate(+Inf)", func(sc *lab.Scenario) { sc.Clients.Rate = math.Inf(1) }},
		{"Clients.Processes(-1)", func(sc *lab.Scenario) { sc.Clients.Processes = -1 }},
		{"Clients.Requests(3)", func(sc *lab.Scenario) { sc.Clients.Requests = 3 }},
		{"Clients.Load[1].At(1s)", func(sc *lab.Scenario) {
			sc.Clients = lab.Clients{Load: []lab.LoadPoint{{2 * time.Second, 1}, {time.Second, 1}}}
		}},
		{"Clients.Load[0].Rate(-1)", func(sc *lab.Scenario) { sc.Clients = lab.Clients{Load: []lab.LoadPoint{{0, -1}}} }},
		{"Server.Workers(-1)", func(sc *lab.Scenario) { sc.Server.Workers = -1 }},
		{"Server.Queue(-2)", func(sc *lab.Scenario) { sc.Server.Workers, sc.Server.Queue = 1, -2 }},
		{"Server.Queue(5): needs Workers", func(sc *lab.Scenario) { sc.Server.Queue = 5 }},
		{"Server.RejectCost(0.1): needs a limited Queue", func(sc *lab.Scenario) { sc.Server.RejectCost = 0.1 }},
		{"Server.Drop(7)", func(sc *lab.Scenario) { sc.Server.Workers, sc.Server.Drop = 1, 7 }},
		{"Server.Service(exp 0s)", func(sc *lab.Scenario) { sc.Server.Service = lab.Exp(0) }},
		{"Server.Service(uniform 2s to 1s)", func(sc *lab.Scenario) { sc.Server.Service = lab.Uniform(2*time.Second, time.Second) }},
		{"Server.Service.usual(fixed -1s)", func(sc *lab.Scenario) {
			sc.Server.Service = lab.Mix(0.5, lab.Fixed(0), lab.Fixed(-time.Second))
		}},
		{"Server.Hop(fixed -1ns)", func(sc *lab.Scenario) { sc.Server.Hop = lab.Fixed(-1) }},
		{"Faults[0].Kind(FaultKind(0))", fault(lab.Fault{To: 1})},
		{"Faults[0].To(0s)", fault(lab.Fault{Kind: lab.BlackHole})},
		{"Faults[0].Speed(0)", fault(lab.Fault{Kind: lab.BrownOut, To: 1})},
		{"Faults[0].Speed(0.5): is for a BrownOut", fault(lab.Fault{Kind: lab.Hold, To: 1, Speed: 0.5})},
		{"Faults[0].Share(2)", fault(lab.Errors(2, 0, 1))},
		{"Faults[0].Latency(1s): is for FailFast", fault(lab.Fault{Kind: lab.Hold, To: 1, Latency: time.Second})},
		{"Faults[0].Ramp(2s)", fault(lab.Fault{Kind: lab.FailFast, To: time.Second, Ramp: 2 * time.Second})},
		{"Faults(1)", func(sc *lab.Scenario) {
			sc.Op = nothing
			sc.Faults = []lab.Fault{lab.Blip(0, 1)}
		}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			sc := lab.Scenario{Name: "s", Duration: time.Minute, Clients: lab.Clients{Rate: 1}}
			tt.change(&sc)
			err := sc.Validate()
			if !errors.Is(err, stoic.ErrInvalid) || !strings.Contains(err.Error(), "lab s: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrInvalid with %q", err, tt.want)
			}
			if _, err := lab.Run(sc, bare); !errors.Is(err, stoic.ErrInvalid) {
				t.Errorf("Run: %v, want ErrInvalid", err)
			}
		})
	}
}

func TestValidateReportsEveryMistake(t *testing.T) {
	err := lab.Scenario{Clients: lab.Clients{Rate: -1}, Server: lab.Server{Workers: -1}}.Validate()
	for _, want := range []string{"Duration(0s)", "Clients.Rate(-1)", "Server.Workers(-1)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
}

func TestValidScenario(t *testing.T) {
	sc := lab.Scenario{Duration: time.Second, Clients: lab.Clients{Loop: 1}, Op: func(context.Context, lab.Call) error { return nil }}
	if err := sc.Validate(); err != nil {
		t.Error(err)
	}
}
