package experiments

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/retry"
)

// errConflict is a write that lost.
var errConflict = errors.New("experiments: the row has changed")

// ContentionScenario is E2: clients that start together read a row and write it, and a
// write succeeds when nobody else wrote in between. Make a new one for each run: the row
// is in it.
func ContentionScenario(clients int) lab.Scenario {
	var version atomic.Int64
	hop := lab.Normal(10*time.Millisecond, 2*time.Millisecond)
	return lab.Scenario{
		Name:     "occ-contention",
		Duration: time.Second,
		Drain:    time.Hour,
		Clients:  lab.Clients{Burst: clients},
		Op: func(ctx context.Context, c lab.Call) error {
			if err := c.Sleep(ctx, c.Draw(hop)); err != nil {
				return err
			}
			read := version.Load()
			if err := c.Sleep(ctx, c.Draw(hop)+c.Draw(hop)); err != nil {
				return err
			}
			won := version.CompareAndSwap(read, read+1)
			if err := c.Sleep(ctx, c.Draw(hop)); err != nil {
				return err
			}
			if !won {
				return errConflict
			}
			return nil
		},
	}
}

// ContentionBackoffs are the five of E2. The published program doubles before the first
// wait, so what it calls a base of 5 ms is 10 ms here.
func ContentionBackoffs() []retry.Option {
	const base, most = 10 * time.Millisecond, 2 * time.Second
	return []retry.Option{
		retry.Constant(0), retry.NoJitter(base, most), retry.EqualJitter(base, most), retry.FullJitter(base, most),
		retry.DecorrelatedJitter(base/2, most),
	}
}

// Contention is E2, occ-contention: "Exponential Backoff And Jitter", AWS 2015.
func Contention(size Size) (*Report, error) {
	runs := 30
	if size == Full {
		runs = 200
	}
	names := []string{"none", "exponential", "equal", "full", "decorrelated"}
	want := map[int][5][2]float64{ // calls, ms
		10:  {{51.1, 382}, {51.1, 3566}, {42.4, 709}, {38.9, 458}, {37.7, 435}},
		50:  {{690.0, 1140}, {621.9, 36172}, {347.6, 4247}, {332.3, 2836}, {374.3, 2180}},
		100: {{2425.2, 2031}, {1863.3, 63917}, {812.3, 6652}, {796.0, 4947}, {1000.8, 4602}},
		200: {{8816.6, 3702}, {5599.7, 104600}, {1872.7, 9671}, {1888.8, 7667}, {2609.0, 8241}},
	}
	r := &Report{}
	got := make(map[int][5][2]float64)
	for _, n := range []int{10, 50, 100, 200} {
		var cells [5][2]float64
		for b, backoff := range ContentionBackoffs() {
			figures := want[n]
			calls, times, err := contend(r, n, runs, backoff)
			if err != nil {
				return nil, err
			}
			cells[b] = [2]float64{calls.mean(), times.mean()}
			tolerance := 6.0
			switch {
			case n >= 100:
				tolerance = 4
			case n == 10 && b == 1:
				tolerance = 10
			}
			name := fmt.Sprintf("%d clients, %s: ", n, names[b])
			r.meanNear(name+"calls", calls, figures[b][0], 0.02*figures[b][0], 400)
			r.meanNear(name+"time, ms", times, figures[b][1], tolerance/100*figures[b][1], 400)
		}
		got[n] = cells
	}
	hundred := got[100]
	r.atMost("(a) full ÷ exponential, calls", hundred[3][0]/hundred[1][0], 0.5)
	r.atLeast("(b) exponential ÷ full, time", hundred[1][1]/hundred[3][1], 10)
	r.percent("(c) equal ÷ full, calls", hundred[2][0]/hundred[3][0], 1.02, 3)
	r.atLeast("(c) decorrelated ÷ full, calls", hundred[4][0]/hundred[3][0], 1.2)
	r.atLeast("(d) equal ÷ full, time", hundred[2][1]/hundred[3][1], 1)
	r.atLeast("(d) equal ÷ decorrelated, time", hundred[2][1]/hundred[4][1], 1)
	r.atLeast("(e) 100 clients: full ÷ decorrelated, time", hundred[3][1]/hundred[4][1], 1)
	r.atMost("(e) 200 clients: full ÷ decorrelated, time", got[200][3][1]/got[200][4][1], 1)
	r.near("(f) calls ÷ N² without backoff", got[200][0][0]/(200*200), 0.22, 0.01)
	return r, nil
}

// contend is one cell: calls and milliseconds of each run.
func contend(r *Report, clients, runs int, backoff retry.Option) (calls, times sample, err error) {
	calls, times = make(sample, runs), make(sample, runs)
	err = parallel(runs, func(i int) error {
		sc := ContentionScenario(clients)
		sc.Seed = uint64(i + 1)
		res, err := lab.Run(sc, func(*lab.Env) *stoic.Pipeline {
			return stoic.MustNew("client", retry.New(retry.Unlimited(), backoff))
		})
		if err != nil {
			return err
		}
		r.tied(res)
		calls[i] = float64(res.Attempts)
		times[i] = float64(res.Length) / float64(time.Millisecond)
		return nil
	})
	return calls, times, err
}
