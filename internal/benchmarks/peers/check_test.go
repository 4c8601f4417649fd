package peers

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// subject is one stack of a contender, under test.
type subject struct {
	*testing.T
	contender Contender
	stack     Stack
	run       Run
}

// each runs f for every contender that has a stack which is asked for, in a bubble.
func each(t *testing.T, has func(Stack) bool, set func(*Settings), f func(t subject)) {
	t.Helper()
	for _, stack := range Stacks() {
		if !has(stack) {
			continue
		}
		for _, c := range All() {
			t.Run(string(stack)+"/"+c.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := Defaults()
					set(&s)
					if run := c.Build(stack, s); run != nil {
						f(subject{t, c, stack, run})
						leave()
					}
				})
			})
		}
	}
}

// leave gives the timers of go-resiliency's breakers the time to end: they sleep on
// goroutines of their own.
func leave() { time.Sleep(2 * time.Hour) }

func asIs(*Settings) {}

// flaky is an operation whose first n calls fail.
type flaky struct{ n, entered int }

func (f *flaky) op(context.Context) error {
	f.entered++
	if f.entered <= f.n {
		return ErrDown
	}
	return nil
}

func down(context.Context) error { return ErrDown }

// Every scenario does what its row says, every time.
func TestScenarios(t *testing.T) {
	for _, sc := range Scenarios() {
		for _, c := range All() {
			t.Run(sc.Name+"/"+c.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					run := sc.Build(c)
					if run == nil {
						return
					}
					ctx, cancel := sc.Parent()
					defer cancel()
					op, entered := sc.NewOp(), 0
					for i := range 20 {
						entered = 0
						err := run(ctx, func(ctx context.Context) error {
							entered++
							return op(ctx)
						})
						if !sc.OK(err) || entered != wantEntered(sc) {
							t.Fatalf("call %d: %v, the operation ran %d times, want %d", i, err, entered, wantEntered(sc))
						}
					}
					leave()
				})
			})
		}
	}
}

// wantEntered is how often the operation runs in a call of a scenario.
func wantEntered(sc Scenario) int {
	switch {
	case sc.Rejects:
		return 0
	case sc.Name == "retry, one failure, zero delay", sc.Name == "retry with a hook, one failure, zero delay":
		return 2
	default:
		return 1
	}
}

func TestAttempts(t *testing.T) {
	each(t, Stack.Retries, asIs, func(t subject) {
		for failures := range 5 {
			f := &flaky{n: failures}
			err := t.run(t.Context(), f.op)
			if want := min(failures+1, Defaults().Attempts); f.entered != want {
				t.Errorf("%d failures: %d attempts, want %d", failures, f.entered, want)
			}
			if failed := failures >= Defaults().Attempts; failed != errors.Is(err, ErrDown) || !failed && err != nil {
				t.Errorf("%d failures: %v", failures, err)
			}
		}
	})
}

// Without a retry there is one attempt, and its error.
func TestOneAttempt(t *testing.T) {
	once := func(s Stack) bool { return !s.Retries() }
	each(t, once, asIs, func(t subject) {
		f := &flaky{n: 1}
		if err := t.run(t.Context(), f.op); !errors.Is(err, ErrDown) || f.entered != 1 {
			t.Errorf("%v after %d attempts, want one", err, f.entered)
		}
	})
}

// It waits between attempts, and does not where there is to be no delay.
func TestBackoff(t *testing.T) {
	for _, base := range []time.Duration{0, 100 * time.Millisecond} {
		each(t, Stack.Retries, func(s *Settings) { s.Base = base }, func(t subject) {
			start := time.Now()
			_ = t.run(t.Context(), (&flaky{n: 2}).op)
			took := time.Since(start)
			if t.contender.Name == "fortify" && base == 0 {
				took -= took % time.Microsecond // its shortest delay is a nanosecond
			}
			if (took > 0) != (base > 0) || took > 6*base {
				t.Errorf("two retries took %v with a base of %v", took, base)
			}
		})
	}
}

func TestBreakerTripsAndRecovers(t *testing.T) {
	each(t, Stack.Breaks, asIs, func(t subject) {
		entered, failing := 0, true
		op := func(context.Context) error {
			entered++
			if failing {
				return ErrDown
			}
			return nil
		}
		for range 15 {
			if err := t.run(t.Context(), op); err == nil {
				t.Error("a call succeeded")
			}
		}
		if entered != Defaults().InARow {
			t.Fatalf("%d attempts went out, want %d", entered, Defaults().InARow)
		}
		time.Sleep(Defaults().OpenFor + time.Nanosecond)
		synctest.Wait()
		failing = false
		for range 3 {
			if err := t.run(t.Context(), op); err != nil {
				t.Errorf("after %v: %v", Defaults().OpenFor, err)
			}
		}
	})
}

// A success in between begins a row anew.
func TestBreakerCountsInARow(t *testing.T) {
	each(t, func(s Stack) bool { return s == Breaker }, asIs, func(t subject) {
		if t.contender.Name == "go-resiliency" {
			return // it counts failures without a pause between them
		}
		ops := []Op{down, down, down, down, down, down, down, down, down, func(context.Context) error { return nil }}
		for i := range 4 * len(ops) { // of MinCalls 50
			entered := false
			_ = t.run(t.Context(), func(ctx context.Context) error {
				entered = true
				return ops[i%len(ops)](ctx)
			})
			if !entered {
				t.Fatalf("call %d was refused", i)
			}
		}
	})
}

func TestLimiterRefuses(t *testing.T) {
	const tokens = 3
	set := func(s *Settings) { s.Limit, s.Per = tokens, 24*time.Hour }
	each(t, Stack.Limits, set, func(t subject) {
		f := &flaky{}
		for range tokens {
			if err := t.run(t.Context(), f.op); err != nil {
				t.Error(err)
			}
		}
		start := time.Now()
		if err := t.run(t.Context(), f.op); err == nil || f.entered != tokens {
			t.Errorf("%v after %d operations, want %d", err, f.entered, tokens)
		}
		if waited := time.Since(start) > 0; waited && !t.contender.WaitsForTokens {
			t.Error("it waited for a token")
		}
	})
}

// The time is the shorter one of Total and Each; in the context too.
func TestDeadlineIsSetAndFires(t *testing.T) {
	for _, limits := range [][2]time.Duration{{time.Second, 300 * time.Millisecond}, {time.Second, time.Hour}} {
		total, attempt := limits[0], limits[1]
		set := func(s *Settings) { s.Total, s.Each, s.Attempts = total, attempt, 1 }
		each(t, Stack.Ends, set, func(t subject) {
			want := total
			if t.stack == Full {
				want = min(total, attempt)
			}
			start := time.Now()
			var ended atomic.Bool
			err := t.run(t.Context(), func(ctx context.Context) error {
				defer ended.Store(true)
				at, ok := ctx.Deadline()
				if ok == t.contender.NoDeadline {
					t.Errorf("Deadline: %v", ok)
				}
				if ok && at.Sub(start) != want {
					t.Errorf("the deadline is in %v, want %v", at.Sub(start), want)
				}
				<-ctx.Done()
				if ctx.Err() == nil {
					t.Error("Done is closed and Err is nil")
				}
				return ctx.Err()
			})
			if took := time.Since(start); err == nil || took != want {
				t.Errorf("%v after %v, want %v", err, took, want)
			}
			synctest.Wait()
			// Of two deadlines of go-resiliency, the operation hears only of the inner one.
			inner := t.contender.Name == "go-resiliency" && t.stack == Full && attempt > total
			if !ended.Load() && !inner {
				t.Error("the operation goes on")
			}
		})
	}
}

// The time of the call ends retries too.
func TestTotalEndsRetries(t *testing.T) {
	set := func(s *Settings) { s.Total, s.Each, s.Base, s.Attempts = time.Second, 300*time.Millisecond, 0, 100 }
	each(t, func(s Stack) bool { return s == Three || s == Full }, set, func(t subject) {
		start := time.Now()
		err := t.run(t.Context(), func(ctx context.Context) error {
			timer := time.NewTimer(300 * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
				return ErrDown
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if took := time.Since(start); err == nil || took != time.Second {
			t.Errorf("%v after %v, want 1s", err, took)
		}
	})
}

// The time of the call ends the wait between attempts as well.
func TestTotalEndsTheBackoff(t *testing.T) {
	set := func(s *Settings) { s.Total, s.Base, s.Max = time.Second, time.Hour, time.Hour }
	each(t, func(s Stack) bool { return s == Three || s == Full }, set, func(t subject) {
		start := time.Now()
		err := t.run(t.Context(), down)
		if took := time.Since(start); err == nil || took > time.Second {
			t.Errorf("%v after %v, want at most 1s", err, took)
		}
	})
}

// Three calls fail at the same time, and the budget has one retry.
func TestBudgetRefuses(t *testing.T) {
	set := func(s *Settings) { s.Ratio, s.Spare, s.Base = 0, 1, 0 }
	each(t, Stack.Budgets, set, func(t subject) {
		want := 4
		if t.contender.NoBudget {
			want = 6
		}
		var wg sync.WaitGroup
		entered := make(chan struct{}, 10)
		for range 3 {
			first := true
			wg.Go(func() {
				_ = t.run(t.Context(), func(context.Context) error {
					entered <- struct{}{}
					if first {
						first = false
						return ErrDown
					}
					time.Sleep(100 * time.Millisecond)
					return nil
				})
			})
		}
		wg.Wait()
		if got := len(entered); got != want {
			t.Errorf("%d attempts, want %d", got, want)
		}
	})
}

func TestListenerHearsOfRetries(t *testing.T) {
	heard := 0
	set := func(s *Settings) { s.Listen = func() { heard++ } }
	each(t, Stack.Retries, set, func(t subject) {
		heard = 0
		if err := t.run(t.Context(), (&flaky{n: 2}).op); err != nil || heard != 2 {
			t.Errorf("%v, heard %d times of two retries", err, heard)
		}
	})
}

// Each contender has something to compare, and those that the bounds need have all.
func TestContenders(t *testing.T) {
	for i, c := range All() {
		if (c.Name == Stoic) != (i == 0) || len(c.Modules) == 0 {
			t.Errorf("contender %d is %q of %v", i, c.Name, c.Modules)
		}
		n := 0
		for _, stack := range Stacks() {
			if c.Build(stack, Defaults()) != nil {
				n++
			}
		}
		if complete := c.Name == Stoic || c.Name == ByHand || c.Name == Failsafe; complete && n != len(Stacks()) || n < 4 {
			t.Errorf("%s has %d stacks", c.Name, n)
		}
	}
}
