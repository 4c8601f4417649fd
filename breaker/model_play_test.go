package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

// TestModel plays random sequences of operations against the breaker and the model.
func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 50 {
				moves := make([]byte, 40+random.IntN(160))
				for i := range moves {
					moves[i] = byte(random.Uint32())
				}
				play(t, moves)
			}
		})
	}
}

// FuzzBreaker does the same with the operations that the fuzzer finds.
func FuzzBreaker(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("the breaker opens, is half-open, and closes; the breaker opens again"))
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		moves := make([]byte, 100)
		for i := range moves {
			moves[i] = byte(random.Uint32())
		}
		f.Add(moves)
	}
	f.Fuzz(func(t *testing.T, moves []byte) {
		synctest.Test(t, func(t *testing.T) { play(t, moves[:min(len(moves), 1000)]) })
	})
}

// game is a breaker beside its model.
type game struct {
	r     *rig
	m     *model
	moves []byte
	log   []string
	calls []playing
	ids   int
}

type playing struct {
	*held

	id, life int
}

// play makes the settings and the operations of moves.
func play(t *testing.T, moves []byte) {
	t.Helper()
	g := &game{moves: moves}
	g.note("moves %q", moves)
	rules := g.rules()
	g.m = &model{rules: rules, since: time.Now()}
	g.r = newRig(t, rules.options()...)
	g.note("%+v", rules)
	for len(g.moves) > 0 {
		switch g.pick(8) {
		case 0, 1, 2:
			g.start()
		case 3, 4, 5:
			g.finish()
		case 6:
			g.sleep()
		default:
			g.compare()
		}
	}
	g.compare()
	for len(g.calls) > 0 {
		g.finish()
	}
	g.compare()
}

// pick takes a number below n from the moves.
func (g *game) pick(n int) int {
	if len(g.moves) == 0 {
		return 0
	}
	b := g.moves[0]
	g.moves = g.moves[1:]
	return int(b) % n
}

func (g *game) note(format string, args ...any) {
	g.log = append(g.log, fmt.Sprintf(format, args...))
}

func (g *game) failf(format string, args ...any) {
	g.r.t.Helper()
	g.r.t.Fatalf("%s\nafter:\n\t%s", fmt.Sprintf(format, args...), strings.Join(g.log, "\n\t"))
}

func (g *game) rules() rules {
	r := rules{open: 100 * time.Millisecond, probes: 1 + g.pick(3), probeTimeout: 300 * time.Millisecond}
	which := 1 + g.pick(7)
	if which&1 != 0 {
		r.row = 1 + g.pick(4)
	}
	if which&2 != 0 {
		r.rate, r.minCalls, r.window = float64(1+g.pick(10))/10, 1+g.pick(6), time.Second
	}
	if which&4 != 0 {
		r.lastRate, r.last = float64(1+g.pick(10))/10, 1+g.pick(7)
	}
	return r
}

func (r rules) options() []breaker.Option {
	opts := []breaker.Option{
		breaker.OpenFor(r.open), breaker.Probes(r.probes), breaker.ProbeTimeout(r.probeTimeout),
		breaker.Judge(notFoundIsNeutral),
	}
	if r.row > 0 {
		opts = append(opts, breaker.ConsecutiveFailures(r.row))
	}
	if r.rate > 0 {
		opts = append(opts, breaker.FailureRate(r.rate, r.minCalls, r.window))
	}
	if r.last > 0 {
		opts = append(opts, breaker.FailureRateOfLast(r.lastRate, r.last))
	}
	return opts
}

func (g *game) start() {
	g.ids++
	admitted, after := g.m.begin(g.ids, time.Now())
	h := start(g.r.t, g.r.p)
	synctest.Wait()
	g.note("start %d: admitted %t", g.ids, admitted)
	if h.entered.Load() != admitted {
		g.failf("call %d: admitted %t, want %t", g.ids, !admitted, admitted)
	}
	if admitted {
		g.calls = append(g.calls, playing{held: h, id: g.ids, life: g.m.life})
		return
	}
	r, ok := errors.AsType[*stoic.Rejection]((<-h.end).err)
	if !ok || r.After != after {
		g.failf("call %d: got %+v, want a rejection with %v", g.ids, r, after)
	}
}

// outcomes are the ways to end a call.
var outcomes = []struct {
	name    string
	op      stoic.Func
	verdict stoic.Verdict
	want    ending
}{
	{"success", succeed, stoic.Success, ending{}},
	{"failure", fail, stoic.Failure, ending{err: errDown}},
	{"success", succeed, stoic.Success, ending{}},
	{"failure", fail, stoic.Failure, ending{err: errDown}},
	{"neutral", func(context.Context) error { return errNotFound }, stoic.Neutral, ending{err: errNotFound}},
	{"panic", explode, stoic.Failure, ending{value: "explode"}},
	{"exit", func(context.Context) error { runtime.Goexit(); return nil }, stoic.Failure, ending{exited: true}},
	{"cancel", nil, stoic.Neutral, ending{err: context.Canceled}},
}

func (g *game) finish() {
	if len(g.calls) == 0 {
		return
	}
	i := g.pick(len(g.calls))
	c := g.calls[i]
	g.calls = slices.Delete(g.calls, i, i+1)
	how := outcomes[g.pick(len(outcomes))]
	g.note("finish %d: %s", c.id, how.name)
	g.m.end(c.id, c.life, how.verdict, time.Now())
	var got ending
	if how.op == nil {
		got = c.giveUp()
	} else {
		got = c.finish(how.op)
	}
	if got != how.want {
		g.failf("call %d: ended %+v, want %+v", c.id, got, how.want)
	}
}

func (g *game) sleep() {
	steps := []time.Duration{
		1, g.m.open, g.m.open + 1, 100 * time.Millisecond, 900 * time.Millisecond, time.Second, time.Hour,
		g.m.probeTimeout, g.m.probeTimeout + 1, time.Duration(g.pick(256)) * 7919 * time.Microsecond,
	}
	d := steps[g.pick(len(steps))]
	g.note("sleep %v", d)
	time.Sleep(d)
}

// compare reads everything that can be read. It must not change what follows.
func (g *game) compare() {
	g.note("read")
	if got, want := g.r.b.State(), g.m.now(time.Now()); got != want {
		g.failf("state: got %v, want %v", got, want)
	}
	if got, want := g.r.b.Counts(), g.m.counts(); got != want {
		g.failf("counts: got %+v, want %+v", got, want)
	}
	if got := changes(g.r.rec); !slices.Equal(got, g.m.changes) {
		g.failf("changes: got %q, want %q", got, g.m.changes)
	}
}
