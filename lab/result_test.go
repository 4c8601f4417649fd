package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// steady is ten requests a second, evenly, that take 100 ms, for ten seconds, with an
// outage from 3 to 6 s.
func steady() lab.Scenario {
	return lab.Scenario{
		Name:     "steady",
		Duration: 10 * time.Second,
		Clients:  lab.Clients{Rate: 10, Even: true},
		Server:   lab.Server{Service: lab.Fixed(100 * ms)},
		Faults:   []lab.Fault{{Kind: lab.FailFast, From: 3 * time.Second, To: 6 * time.Second}},
	}
}

func TestResultCountsByStart(t *testing.T) {
	res := run(t, steady(), bare)
	// Requests start at 0.1, 0.2, … 9.9 s; those of 3.0 to 5.9 fail.
	if res.Requests != 99 || res.OK != 69 || res.Failed != 30 || res.Attempts != 99 || res.Amplification != 1 {
		t.Errorf("%+v", res.Summary)
	}
	if got := res.Fault; got.Requests != 30 || got.OK != 0 || got.Failed != 30 || got.Success != 0 {
		t.Errorf("in the fault: %+v", got)
	}
	if s := res.Series[2]; s.At != 2*time.Second || s.Requests != 10 || s.OK != 10 || s.Success != 1 || s.Load != 10 {
		t.Errorf("window 2: %+v", s)
	}
	if s := res.Series[3]; s.Requests != 10 || s.OK != 0 || s.Goodput != 1 { // the one of 2.9 s is answered at 3.0
		t.Errorf("window 3: %+v", s)
	}
	if !res.Recovered || res.TimeToRecover != 0 {
		t.Errorf("recovered %t after %v, want at once", res.Recovered, res.TimeToRecover)
	}
	near(t, "OK p50", res.OKP50, 100*ms, 0.02)
	near(t, "OK p99", res.OKP99, 100*ms, 0.02)
	near(t, "failed p99", res.FailedP99, 5*ms, 0.02)
	near(t, "failed p99 in the fault", res.Fault.FailedP99, 5*ms, 0.13)
	near(t, "mean time", res.MeanTime, (69*100*ms+30*5*ms)/99, 1e-6)
	if want := (69*0.1 + 30*0.005) / res.Length.Seconds(); math.Abs(res.MeanInFlight-want) > 1e-6 {
		t.Errorf("%v in flight on the average, want %v", res.MeanInFlight, want)
	}
}

func near(t *testing.T, name string, got, want time.Duration, tolerance float64) {
	t.Helper()
	if d := (got - want).Abs(); float64(d) > tolerance*float64(want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func TestResultOfRetryBreakerAndBudget(t *testing.T) {
	stacks := map[string]struct {
		layers                        []stoic.Policy
		attempts, ok, rejected, spent uint64 // of the 30 requests in the fault; spent: retries that a budget refused
		open                          float64
	}{
		"retry": {[]stoic.Policy{retry.New(retry.MaxAttempts(3), retry.Constant(0))}, 90, 0, 0, 0, 0},
		// Opens at the fifth failure, 3.405 s. Probes at 8.5 s, the first after 8.405 s, and closes at 8.6 s.
		"breaker": {[]stoic.Policy{breaker.New("b", breaker.ConsecutiveFailures(5))}, 5, 0, 25, 0, 5.195 / 10},
		// The 59 requests until 5.9 s allow five retries.
		"budget": {[]stoic.Policy{budget.New(budget.MinPerSecond(0)), retry.New(retry.MaxAttempts(2), retry.Constant(0))}, 35, 0, 0, 25, 0},
	}
	for name, tt := range stacks {
		t.Run(name, func(t *testing.T) {
			res := run(t, steady(), func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", tt.layers...) })
			if f := res.Fault; f.Attempts != tt.attempts || f.OK != tt.ok || f.Rejected != tt.rejected {
				t.Errorf("%d attempts, %d ok, %d rejected, want %d, %d, %d", f.Attempts, f.OK, f.Rejected, tt.attempts, tt.ok, tt.rejected)
			}
			if got := res.Fault.BudgetStops * 30; math.Abs(got-float64(tt.spent)) > 1e-9 {
				t.Errorf("%v retries refused by the budget, want %d", got, tt.spent)
			}
			if name == "breaker" {
				for i, want := range []float64{2: 0, 3: 0.595, 4: 1, 5: 1, 6: 1, 7: 1, 8: 0.6, 9: 0} {
					if got := res.Series[i].BreakerOpenShare; math.Abs(got-want) > 1e-6 {
						t.Errorf("window %d: open for %v of the time, want %v", i, got, want)
					}
				}
			}
			if got := res.Between(0, 10*time.Second).BreakerOpenShare; math.Abs(got-tt.open) > 1e-6 {
				t.Errorf("open for %v of the time, want %v", got, tt.open)
			}
			// The breaker rejects until its probe of 8.5 s succeeds, in the window from 8 s.
			want := time.Duration(0)
			if name == "breaker" {
				want = 3 * time.Second
			}
			if !res.Recovered || res.TimeToRecover != want {
				t.Errorf("recovered %t after %v, want %v", res.Recovered, res.TimeToRecover, want)
			}
		})
	}
}

func TestPeakIsHalfOpenAndSlides(t *testing.T) {
	at := func(times ...time.Duration) int {
		sc := lab.Scenario{Duration: time.Second, Clients: lab.Clients{Burst: len(times)}}
		// Each request waits for its time on the network.
		sc.Op = func(context.Context, lab.Call) error { return nil }
		wait := func(env *lab.Env) *stoic.Pipeline {
			i := 0
			return stoic.MustNew("p", stoic.PolicyFunc("wait", func(ctx context.Context, next stoic.Next) error {
				d := times[i] - env.Now()
				i++
				if err := env.Sleep(ctx, d); err != nil {
					return err
				}
				return next.Do(ctx)
			}))
		}
		return run(t, sc, wait).PeakArrivals
	}
	if got := at(5*ms, 15*ms, 25*ms); got != 1 {
		t.Errorf("10 ms apart: %d, want 1: the window is half-open", got)
	}
	if got := at(5*ms, 15*ms-1, 25*ms); got != 2 {
		t.Errorf("a nanosecond less: %d, want 2", got)
	}
	if got := at(9*ms, 11*ms, 18*ms); got != 3 {
		t.Errorf("across a multiple of 10 ms: %d, want 3", got)
	}
}

func TestEachProcessHasAStackUnlessShared(t *testing.T) {
	for _, tt := range []struct {
		shared bool
		want   int
	}{{false, 5}, {true, 1}} {
		made := 0
		sc := steady()
		sc.Clients.Processes, sc.Clients.Shared = 5, tt.shared
		run(t, sc, func(env *lab.Env) *stoic.Pipeline {
			if env.Process != made {
				t.Errorf("process %d, want %d", env.Process, made)
			}
			made++
			return stoic.MustNew("p")
		})
		if made != tt.want {
			t.Errorf("shared %t: %d stacks, want %d", tt.shared, made, tt.want)
		}
	}
}

// Stacks are compared under the same traffic: what one draws does not move what another
// request, or the server, draws.
func TestSameTrafficForEveryStack(t *testing.T) {
	sc := outage(lab.Errors(0.5, time.Second, 4*time.Second))
	sc.Duration = 5 * time.Second
	var want []time.Duration
	for i, stack := range []lab.Stack{bare, bareRetry, breakerInside} {
		var starts []time.Duration
		res := run(t, sc, func(env *lab.Env) *stoic.Pipeline {
			return stoic.MustNew("p", stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
				starts = append(starts, env.Now().Round(time.Microsecond))
				return next.Do(ctx)
			}), stack(env))
		})
		if i == 0 {
			want = starts
		}
		same := len(starts) == len(want)
		for j := 0; same && j < len(want); j++ {
			same = (starts[j] - want[j]).Abs() <= time.Microsecond
		}
		if !same || res.Requests == 0 {
			t.Errorf("stack %d: %d requests started at other times than %d", i, len(starts), len(want))
		}
	}
}

func TestClosedLoop(t *testing.T) {
	sc := lab.Scenario{
		Duration: 10 * time.Second,
		Clients:  lab.Clients{Loop: 3, Think: lab.Fixed(900 * ms)},
		Server:   lab.Server{Service: lab.Fixed(100 * ms)},
	}
	if res := run(t, sc, bare); res.Requests != 30 || res.OK != 30 { // at 0.9, 1.9, … 9.9 s
		t.Errorf("%d requests, %d ok, want 30 each", res.Requests, res.OK)
	}
	sc.Clients.Requests = 4
	if res := run(t, sc, bare); res.Requests != 12 || res.Length.Round(ms) != 4*time.Second {
		t.Errorf("%d requests in %v, want 12 in 4s", res.Requests, res.Length)
	}
}

func TestWaitModes(t *testing.T) {
	// A layer that cancels after 50 ms is seen by a call that waits on Done only.
	cancelling := func(*lab.Env) *stoic.Pipeline {
		return stoic.MustNew("p", stoic.Middleware("cancel", func(next stoic.Func) stoic.Func {
			return func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				timer := time.AfterFunc(50*ms, cancel)
				defer timer.Stop()
				return next(ctx)
			}
		}))
	}
	for _, tt := range []struct {
		mode lab.WaitMode
		ok   uint64
	}{{lab.DeadlineOnly, 69}, {lab.OnDone, 0}} {
		sc := steady()
		sc.Wait = tt.mode
		res := run(t, sc, cancelling)
		if res.OK != tt.ok {
			t.Errorf("mode %d: %d ok, want %d", tt.mode, res.OK, tt.ok)
		}
		if tt.mode == lab.OnDone {
			near(t, "cancelled p99", res.FailedP99, 50*ms, 0.001)
		}
		// A deadline ends both at the same time.
		sc.Faults = []lab.Fault{{Kind: lab.BlackHole, From: 3 * time.Second, To: 6 * time.Second}}
		res = run(t, sc, func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", deadline.New(300*ms)) })
		if res.Failed != 30 || res.OK != 69 {
			t.Errorf("mode %d: %d failed, %d ok, want 30 and 69", tt.mode, res.Failed, res.OK)
		}
		near(t, "failed p50", res.FailedP50, 300*ms, 0.02)
	}
}

func TestCallSleepEndsWithTheDeadline(t *testing.T) {
	for _, mode := range []lab.WaitMode{lab.DeadlineOnly, lab.OnDone} {
		sc := lab.Scenario{Duration: time.Second, Wait: mode, Clients: lab.Clients{Burst: 1}}
		var err error
		sc.Op = func(ctx context.Context, c lab.Call) error {
			err = c.Sleep(ctx, time.Hour)
			return err
		}
		res := run(t, sc, func(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p", deadline.New(300*ms)) })
		if !errors.Is(err, context.DeadlineExceeded) || res.Length.Round(ms) != 300*ms {
			t.Errorf("mode %d: %v after %v, want the deadline after 300ms", mode, err, res.Length)
		}
	}
}

func TestResultIsJSON(t *testing.T) {
	res := run(t, steady(), breakerInside)
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var back lab.Result
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(back)
	if string(b) != string(again) || back.Requests != res.Requests || len(back.Series) != len(res.Series) {
		t.Errorf("%s\nbecame\n%s", b, again)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scenario", "seed", "amplification", "goodput", "success", "ok_p50_ns", "failed_p99_ns", "time_to_recover_ns", "peak_arrivals", "breaker_open_share", "rejected_share", "series", "ties"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %s", name, b)
		}
	}
}

func TestRecoveryAfter(t *testing.T) {
	sc := steady()
	sc.Recovery = lab.Recovery{From: 4 * time.Second, Window: time.Second, Success: 0.5}
	if res := run(t, sc, bare); !res.Recovered || res.TimeToRecover != 2*time.Second {
		t.Errorf("recovered %t after %v, want 2s after 4s", res.Recovered, res.TimeToRecover)
	}
	// A share that is met exactly is enough: five of the ten requests of each second.
	sc.Faults[0] = lab.Fault{Kind: lab.FailFast, From: 3 * time.Second, To: 4*time.Second + 500*ms}
	sc.Recovery.From = 3 * time.Second
	if took, ok := run(t, sc, bare).RecoveryAfter(3*time.Second, time.Second, 0.5); !ok || took != time.Second {
		t.Errorf("recovered %t after %v, want 1s after 3s", ok, took)
	}
	sc.Faults[0].To = time.Minute
	if res := run(t, sc, bare); res.Recovered {
		t.Errorf("recovered %v after a fault that does not end", res.TimeToRecover)
	}
}
