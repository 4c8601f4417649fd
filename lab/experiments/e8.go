package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
)

// throttleWindow is over what time a throttle counts.
const throttleWindow = 120 * time.Second

// throttle is the client-side throttling of Site Reliability Engineering, chapter 21: a
// layer that refuses with probability (requests − K·accepts)/(requests + 1).
type throttle struct {
	k        float64
	env      *lab.Env
	requests history
	accepts  history
}

// NewThrottle makes the layer for one process of a run.
func NewThrottle(k float64, env *lab.Env) stoic.Policy {
	t := &throttle{k: k, env: env}
	return stoic.PolicyFunc("throttle", t.run)
}

func (t *throttle) run(ctx context.Context, next stoic.Next) error {
	now := t.env.Now()
	requests, accepts := t.requests.count(now), t.accepts.count(now)
	p := (requests - t.k*accepts) / (requests + 1)
	t.requests.add(now)
	if p > 0 && t.env.Rand() < p {
		return &stoic.Rejection{
			Pipeline: next.Pipeline(), Policy: "throttle", Reason: "most calls are refused by the other side",
			Err: errThrottled, Type: "throttled",
		}
	}
	err := next.Do(ctx)
	if err == nil {
		t.accepts.add(t.env.Now())
	}
	return err
}

var errThrottled = errors.New("experiments: throttled")

// history counts the instants of the last two minutes.
type history struct {
	at    []time.Duration
	first int
}

func (h *history) add(now time.Duration) { h.at = append(h.at, now) }

func (h *history) count(now time.Duration) float64 {
	for h.first < len(h.at) && h.at[h.first] <= now-throttleWindow {
		h.first++
	}
	if h.first > 4096 && h.first > len(h.at)/2 {
		h.at = append(h.at[:0], h.at[h.first:]...)
		h.first = 0
	}
	return float64(len(h.at) - h.first)
}

// throttleFrom is when the outage of E8 begins: the throttle's window is full by then.
const throttleFrom = 150 * time.Second

// ThrottleOutage is E8: one client and a server that refuses everything for some time.
func ThrottleOutage(demand float64, length, watch time.Duration) lab.Scenario {
	return lab.Scenario{
		Name:     "client-throttling",
		Duration: throttleFrom + length + watch,
		Drain:    time.Nanosecond,
		Clients:  lab.Clients{Rate: demand},
		Faults:   []lab.Fault{{Kind: lab.FailFast, From: throttleFrom, To: throttleFrom + length, Latency: time.Millisecond}},
		Recovery: lab.Recovery{Window: 5 * time.Second, Success: 0.95},
	}
}

// ThrottleOverload is a server that accepts so many calls a second, and refuses the rest.
func ThrottleOverload(demand, accepted float64) lab.Scenario {
	return lab.Scenario{
		Name:     "client-throttling-overload",
		Duration: 600 * time.Second,
		Drain:    time.Nanosecond,
		Clients:  lab.Clients{Rate: demand},
		Server: lab.Server{
			Workers: 1, Service: lab.Fixed(time.Duration(float64(time.Second) / accepted)), Queue: 20,
		},
	}
}

func throttled(k float64) lab.Stack {
	return func(env *lab.Env) *stoic.Pipeline { return stoic.MustNew("client", NewThrottle(k, env)) }
}

// Throttling is E8, client-throttling.
func Throttling(size Size) (*Report, error) {
	runs := 12
	if size == Full {
		runs = 40
	}
	r := &Report{}
	ks, accepts := []float64{1.1, 1.5, 2, 3}, []float64{100, 250, 500}
	if size == Short {
		accepts = []float64{100, 300}
	}
	for _, k := range ks {
		for _, accepted := range accepts {
			if k*accepted >= 1000 {
				continue
			}
			results, err := r.run(ThrottleOverload(1000, accepted), throttled(k), 1)
			if err != nil {
				return nil, err
			}
			steady := results[0].Between(240*time.Second, 600*time.Second)
			name := fmt.Sprintf("K=%v, accepts %v of 1000/s", k, accepted)
			r.percent(name+": sent ÷ accepted", float64(steady.Attempts)/float64(steady.OK), k, 2)
			r.near(name+": refused by the client", steady.RejectedShare, 1-k*accepted/1000, 0.02)
		}
	}
	for _, tt := range []struct {
		name            string
		demand          float64
		length, watch   time.Duration
		runs            int
		want, tolerance float64
	}{
		{"outage 30s, 100/s", 100, 30 * time.Second, 60 * time.Second, 2, 5, 5},
		{"outage 50s, 100/s", 100, 50 * time.Second, 60 * time.Second, 2, 5, 5},
		{"outage 300s, 10/s", 10, 300 * time.Second, 3000 * time.Second, runs, 580, 150},
		{"outage 300s, 100/s", 100, 300 * time.Second, 2500 * time.Second, runs, 750, 150},
	} {
		results, err := r.run(ThrottleOutage(tt.demand, tt.length, tt.watch), throttled(2), tt.runs)
		if err != nil {
			return nil, err
		}
		times := values(results, func(res *lab.Result) float64 { return res.TimeToRecover.Seconds() })
		r.near(tt.name+": share that recovers", values(results, func(res *lab.Result) float64 { return share(res.Recovered) }).mean(), 1, 0)
		r.near(tt.name+": time to recover, s", times.mean(), tt.want, tt.tolerance)
	}
	for _, demand := range []float64{10, 100} {
		results, err := r.run(ThrottleOutage(demand, 300*time.Second, time.Second), throttled(2), 5*runs)
		if err != nil {
			return nil, err
		}
		end := throttleFrom + 300*time.Second
		probes := values(results, func(res *lab.Result) float64 {
			return float64(res.Between(end-throttleWindow, end).Attempts) / throttleWindow.Seconds()
		})
		r.between(fmt.Sprintf("%v/s: probes a second at the end of the outage", demand), probes.mean(), 0.004, 0.010)
	}
	return r, nil
}
