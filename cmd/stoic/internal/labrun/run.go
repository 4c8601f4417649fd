// Package labrun runs the stacks of a scenario file in the lab and sums up what came out.
package labrun

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/lab"
)

// Outcome is what became of one stack: a result for each seed, in their order.
type Outcome struct {
	Stack   *stackfile.Stack
	Results []*lab.Result
}

// Progress is how far the runs are. Its methods may be called at any time.
type Progress struct {
	runs  []atomic.Int64 // the virtual time that each has lived through
	whole time.Duration  // of all runs
	done  atomic.Int64
}

// Share is from 0 to 1.
func (p *Progress) Share() float64 {
	var sum time.Duration
	for i := range p.runs {
		sum += time.Duration(p.runs[i].Load())
	}
	return min(1, sum.Seconds()/p.whole.Seconds())
}

// Runs is how many runs are over, and how many there are.
func (p *Progress) Runs() (done, all int) { return int(p.done.Load()), len(p.runs) }

// All has the runs of a file ahead of it.
type All struct {
	File     *labfile.File
	Progress *Progress
}

// New prepares one run for each stack and seed.
func New(f *labfile.File) *All {
	n := len(f.Stacks) * len(f.Seeds)
	return &All{File: f, Progress: &Progress{runs: make([]atomic.Int64, n), whole: time.Duration(n) * f.Scenario.Duration}}
}

// Run lives through the scenario with each stack and seed, as many at a time as there are
// processors. It stops at the first error, and when ctx is done.
func (a *All) Run(ctx context.Context) ([]Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcomes := make([]Outcome, len(a.File.Stacks))
	errs := make([]error, len(a.Progress.runs))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, stack := range a.File.Stacks {
		outcomes[i] = Outcome{Stack: stack, Results: make([]*lab.Result, len(a.File.Seeds))}
		for j, seed := range a.File.Seeds {
			number := i*len(a.File.Seeds) + j
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				result, err := a.one(ctx, number, stack, seed)
				if err != nil {
					errs[number] = fmt.Errorf("stack %q, seed %d: %w", stack.Name, seed, err)
					cancel()
					return
				}
				outcomes[i].Results[j] = result
			})
		}
	}
	group.Wait()
	var stopped error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
		stopped = errors.Join(stopped, err)
	}
	if stopped != nil {
		return nil, errors.New("stopped, and nothing written")
	}
	return outcomes, nil
}

func (a *All) one(ctx context.Context, number int, stack *stackfile.Stack, seed uint64) (*lab.Result, error) {
	sc := a.File.Scenario
	sc.Name, sc.Seed = "", seed // the error names the stack and the seed
	at := &a.Progress.runs[number]
	sc.Progress = func(t time.Duration) { at.Store(int64(t)) }
	result, err := lab.RunContext(ctx, sc, labfile.Stack(stack))
	if err != nil {
		return nil, err
	}
	result.Scenario = a.File.Name
	at.Store(int64(sc.Duration))
	a.Progress.done.Add(1)
	return result, nil
}
