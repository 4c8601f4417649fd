package experiments_test

import (
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/lab/experiments"
)

// The scenarios and stacks, for a few virtual seconds: for the race detector, under which
// the figures would take too long.
func TestScenariosRun(t *testing.T) {
	brief := func(sc lab.Scenario, length time.Duration) lab.Scenario {
		sc.Duration = min(sc.Duration, length)
		return sc
	}
	run := func(sc lab.Scenario, stack lab.Stack) {
		t.Helper()
		res, err := lab.Run(sc, stack)
		if err != nil {
			t.Fatal(err)
		}
		if res.Ties != 0 || res.Requests == 0 || res.Requests != res.OK+res.Failed+res.Rejected+res.InFlight {
			t.Errorf("%s: %d ties, %+v", sc.Name, res.Ties, res.Summary)
		}
	}
	order := experiments.OrderStacks()
	for i, fault := range experiments.OrderFaults() {
		fault.From, fault.To = time.Second/2, min(time.Second, fault.To-fault.From+time.Second/2)
		for j := i % 2; j < len(order); j += 2 {
			run(brief(experiments.OrderScenario(fault), 1500*time.Millisecond), order[j].Stack)
		}
	}
	bare := order[0].Stack
	run(experiments.JitterScenario(), bare)
	run(experiments.ContentionScenario(1), bare)
	for _, stack := range experiments.FailurePolicies() {
		run(brief(experiments.FailureScenario(0.3, 10, 100), 5*time.Second), stack)
	}
	run(brief(experiments.AmplificationScenario(100), 5*time.Second), bare)
	run(brief(experiments.RampScenario(0.05, 0.05, 50*time.Millisecond), 5*time.Second), bare)
	run(brief(experiments.StormScenario(140), 25*time.Second), bare)
	run(brief(experiments.DatabaseScenario(0.38, 0.8, time.Second), 2*time.Second), bare)
	run(brief(experiments.CollapseScenario(experiments.CollapseSpike()), 25*time.Second), bare)
	run(brief(experiments.CollapseScenario(experiments.CollapseRamp()), 5*time.Second), bare)
	run(brief(experiments.ThrottleOverload(100, 50), 5*time.Second), bare)
	run(brief(experiments.ThrottleOutage(10, time.Second, time.Second), 5*time.Second), bare)
	nothing := func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("client") } // no deadline
	total, contention := make([]float64, 2), make([]float64, 2)
	for _, cfg := range experiments.PatternConfigs() {
		run(experiments.PatternScenario(cfg, 0.5, 2, total, contention), nothing)
		if total[1] <= contention[1] || contention[1] <= 0 {
			t.Errorf("%s: %v s, %v s of them waiting", cfg.Name, total[1], contention[1])
		}
	}
}

func TestAllAreNamedInOrder(t *testing.T) {
	all := experiments.All()
	if len(all) != 10 || all[0].Name != "e1" || all[9].Name != "e10" {
		t.Errorf("%d experiments", len(all))
	}
	for _, e := range all {
		if e.Title == "" || e.Run == nil {
			t.Errorf("%s has no title or does not run", e.Name)
		}
	}
}
