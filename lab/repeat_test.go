package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// The same seed gives the same result byte for byte, on one processor and on two, with
// every instant rounded to a millisecond so that they collide all the time.
func TestSameSeedSameBytes(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	length := 20 * time.Second
	switch {
	case raceOn:
		length = time.Second
	case testing.Short():
		length = 4 * time.Second
	}
	from, to := length/4, length/2
	open := Clients{Processes: 10, Rate: 300}
	closed := Clients{Processes: 10, Loop: 40, Think: Exp(100 * time.Millisecond)}
	for name, fault := range map[string][]Fault{
		"healthy":    nil,
		"fail-fast":  {{Kind: FailFast, From: from, To: to}},
		"black-hole": {{Kind: BlackHole, From: from, To: to}},
		"brown-out":  {{Kind: BrownOut, From: from, To: to, Speed: 0.2}},
		"hold":       {{Kind: Hold, From: from, To: to}},
		"errors":     {Errors(0.5, from, to)},
	} {
		for _, clients := range []Clients{open, closed} {
			for stackName, stack := range repeatStacks() {
				for _, mode := range []WaitMode{DeadlineOnly, OnDone} {
					for _, hop := range []Dist{Fixed(time.Millisecond), Exp(5 * time.Millisecond)} {
						sc := Scenario{
							Name: name, Seed: 7, Duration: length, Clients: clients, Faults: fault, Wait: mode,
							Server: Server{Workers: 22, Service: Exp(50 * time.Millisecond), Hop: hop, Queue: 100},
							grain:  time.Millisecond,
						}
						label := fmt.Sprintf("%s/loop %d/%s/mode %d/hop %s", name, clients.Loop, stackName, mode, hop)
						var first []byte
						for i, procs := range []int{1, 2, 2} {
							runtime.GOMAXPROCS(procs)
							got := encoded(t, sc, stack)
							if i == 0 {
								first = got
							} else if !bytes.Equal(got, first) {
								t.Errorf("%s: run %d on %d processors differs from the first", label, i+1, procs)
							}
						}
					}
				}
			}
		}
	}
}

func encoded(t *testing.T, sc Scenario, stack Stack) []byte {
	t.Helper()
	res, err := Run(sc, stack)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ties != 0 {
		t.Errorf("%s: %d ties, want 0", sc.Name, res.Ties)
	}
	if res.Requests == 0 || res.OK == 0 {
		t.Errorf("%s: %d requests, %d ok: nothing happened", sc.Name, res.Requests, res.OK)
	}
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func repeatStacks() map[string]Stack {
	return map[string]Stack{
		"bare retry": func(*Env) *stoic.Pipeline {
			return stoic.MustNew("p", retry.New(retry.MaxAttempts(4)), deadline.New(400*time.Millisecond))
		},
		"full": func(*Env) *stoic.Pipeline {
			return stoic.MustNew("p", deadline.New(3*time.Second), budget.New(), retry.New(),
				breaker.New("b", breaker.ConsecutiveFailures(5), breaker.OpenFor(time.Second)),
				ratelimit.New(40, 5, ratelimit.Wait(200*time.Millisecond)), deadline.New(400*time.Millisecond))
		},
	}
}

func TestOtherSeedOtherResult(t *testing.T) {
	sc := Scenario{Duration: time.Second, Clients: Clients{Rate: 100}, Server: Server{Service: Exp(time.Second)}}
	stack := repeatStacks()["bare retry"]
	first := encoded(t, sc, stack)
	sc.Seed = 1
	if bytes.Equal(first, encoded(t, sc, stack)) {
		t.Error("two seeds gave the same")
	}
	// Nothing is random but the jitter of the retry.
	sc.Clients.Even, sc.Server = true, Server{}
	sc.Faults = []Fault{{Kind: FailFast, To: 500 * time.Millisecond}}
	var lengths [2]time.Duration
	for seed := range lengths {
		sc.Seed = uint64(seed)
		res, err := Run(sc, stack)
		if err != nil {
			t.Fatal(err)
		}
		lengths[seed] = res.MeanTime
	}
	if lengths[0] == lengths[1] {
		t.Errorf("two seeds gave the same jitter: calls take %v", lengths[0])
	}
}

// A wait that the lab does not see is a tie where it meets another request.
func TestTiesAreCounted(t *testing.T) {
	sleepy := func(*Env) *stoic.Pipeline {
		return stoic.MustNew("p", stoic.Middleware("sleep", sleepFirst))
	}
	res, err := Run(Scenario{Duration: time.Second, Clients: Clients{Burst: 100}}, sleepy)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ties == 0 {
		t.Error("no ties, though 100 requests went on at the same instant")
	}
}

func sleepFirst(next stoic.Func) stoic.Func {
	return func(ctx context.Context) error {
		time.Sleep(time.Until(time.Now().Truncate(time.Millisecond).Add(time.Millisecond)))
		return next(ctx)
	}
}
