package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/otelhooks"
	"github.com/stoic-go/stoic/retry"
)

// recorded is a stack in virtual time whose telemetry goes to out. Its operations take
// 10 ms, the waits of its retry 100 ms.
type recorded struct {
	t     *testing.T
	out   strings.Builder
	stack *stoic.Pipeline
	flush func() // the end of a phase
	end   func()
}

func record(t *testing.T, phases ...string) *recorded {
	t.Helper()
	r := &recorded{t: t}
	var script []phase
	for _, name := range phases {
		script = append(script, phase{name: name})
	}
	to := readable(&r.out, script)
	r.out.Reset() // without the introduction
	tracers, meters := to.providers()
	hook, err := otelhooks.New(otelhooks.WithTracerProvider(tracers), otelhooks.WithMeterProvider(meters), otelhooks.WithDetailedMetrics())
	if err != nil {
		t.Fatal(err)
	}
	r.stack = stoic.MustNew("payments",
		stoic.Observe(hook),
		budget.New(budget.MinPerSecond(0.4), budget.Ratio(0)), // four retries in ten seconds
		retry.New(retry.Constant(100*time.Millisecond)),
		breaker.New("payments", breaker.ConsecutiveFailures(4), breaker.OpenFor(time.Second)),
	)
	r.flush = func() { to.endPhase(t.Context(), meters) }
	r.end = func() {
		if err := errors.Join(tracers.Shutdown(t.Context()), meters.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { _ = meters.Shutdown(context.Background()) }) // its goroutine must end in the bubble
	return r
}

// call makes one call with those answers, one for each attempt.
func (r *recorded) call(statuses ...int) {
	ctx := stoic.WithOperation(r.t.Context(), "charge")
	_ = r.stack.Do(ctx, func(context.Context) error {
		time.Sleep(10 * time.Millisecond)
		status := statuses[0]
		statuses = statuses[1:]
		if status == 200 {
			return nil
		}
		return statusError(status)
	})
}

// fail makes a call that fails at once and is not worth a retry.
func (r *recorded) fail(status int) {
	_ = r.stack.Do(r.t.Context(), func(context.Context) error { return retry.Permanent(statusError(status)) })
}

func (r *recorded) want(want string) {
	r.t.Helper()
	if got := r.out.String(); got != want {
		r.t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		r.call(200)
		r.call(503, 200)
		r.call(503, 200)      // no second one of a kind
		r.call(503, 503, 502) // now the budget is spent, and there were three failures in a row
		r.call(503)
		r.call()
		time.Sleep(time.Second + 1)
		r.call(200)
		r.want(`
a call that succeeded at once
  charge                0.0   10.0         call.attempts=1
    attempt charge      0.0   10.0         attempt.number=1

a call that a retry saved
  charge                0.0  120.0         call.attempts=2
    attempt charge      0.0   10.0  Error  attempt.number=1 error.type=503 attempt.retryable=true
    attempt charge    110.0   10.0         attempt.number=2 retry.delay=0.100s

a call whose attempts ran out
  charge                0.0  230.0  Error  error.type=502 call.attempts=3 retry.stop_reason=max_attempts
    attempt charge      0.0   10.0  Error  attempt.number=1 error.type=503 attempt.retryable=true
    attempt charge    110.0   10.0  Error  attempt.number=2 retry.delay=0.100s error.type=503 attempt.retryable=true
    attempt charge    220.0   10.0  Error  attempt.number=3 retry.delay=0.100s error.type=502 attempt.retryable=true

the call that opened the breaker
  charge                0.0   10.0  Error  rejection.reason=budget_exhausted error.type=503 call.attempts=1 retry.stop_reason=budget_exhausted
    attempt charge      0.0   10.0  Error  attempt.number=1 error.type=503 attempt.retryable=true
                       10.0         event  breaker.state_change: breaker.state=open breaker.previous_state=closed

a call that the breaker rejected
  charge                0.0    0.0  Error  error.type=circuit_open call.attempts=0 retry.stop_reason=rejected
    attempt charge      0.0    0.0  Error  attempt.number=1 rejection.reason=circuit_open error.type=circuit_open attempt.retryable=false

the call that closed the breaker again
  charge                0.0   10.0         call.attempts=1
    attempt charge      0.0   10.0         attempt.number=1
                        0.0         event  breaker.state_change: breaker.state=half_open breaker.previous_state=open
                       10.0         event  breaker.state_change: breaker.state=closed breaker.previous_state=half_open
`)
	})
}

func TestKinds(t *testing.T) {
	for want, call := range map[string]func(r *recorded){
		"a call whose retry the budget refused": func(r *recorded) {
			r.call(503, 503, 200) // two of four retries
			r.call(503, 503, 200)
			r.out.Reset()
			r.call(503)
		},
		"a call whose retry the breaker rejected": func(r *recorded) {
			r.fail(500)
			r.fail(500)
			time.AfterFunc(15*time.Millisecond, func() { r.fail(500) }) // the fourth opens the breaker
			r.call(503)                                                 // the third, and a wait
		},
		"a call that was canceled": func(r *recorded) {
			ctx, cancel := context.WithCancel(r.t.Context())
			_ = r.stack.Do(ctx, func(ctx context.Context) error {
				cancel()
				return ctx.Err()
			})
		},
		"a call that the breaker rejected during its probe": func(r *recorded) {
			for range 2 {
				r.call(503, 503, 503)
			}
			time.Sleep(time.Second + 1)
			_ = r.stack.Do(r.t.Context(), func(context.Context) error {
				r.out.Reset()
				r.call()
				return nil
			})
		},
		"a call that failed otherwise": func(r *recorded) {
			r.fail(501)
		},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := record(t)
				call(r)
				if got := r.out.String(); !strings.Contains(got, "\n"+want+"\n") {
					t.Errorf("no %q in:\n%s", want, got)
				}
			})
		})
	}
}

func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, "healthy", "flaky", "down", "healthy again")
		for range 3 {
			r.call(200)
		}
		r.flush()
		r.call(503, 200) // 120 ms, 100 of them backoff
		r.call(503, 503, 200)
		r.call(200)
		r.flush()
		r.call(503, 503)
		r.call(503)
		r.call(503)
		r.call()
		r.flush()
		time.Sleep(time.Second + 1)
		r.call(200)
		r.out.Reset()
		r.end()
		r.want(`
FIVE QUESTIONS, answered by the metrics of each phase
                                                                 healthy          flaky           down  healthy again
                            calls                                      3              3              4              1
Do retries pay?             calls saved, of those retried              -         2 of 2         0 of 1              -
How much load do they add?  extra attempts per call sent            0.00           1.00           0.33           0.00
How much time is backoff?   % of the calls' time                     0 %           83 %           71 %            0 %
Which breaker is open?      payments, in the end                  closed         closed           open         closed
Is the budget spent?        % used, in the end                       0 %           75 %          100 %          100 %
A call counts in the phase in which it ended. The queries for these answers are in docs/telemetry.md.
`)
	})
}

func TestPickerKeepsNothingOfACompleteTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t)
		p := newPicker(tree{&r.out})
		tracers, meters := output{traces: p, metrics: &answers{w: &r.out}}.providers()
		hook, err := otelhooks.New(otelhooks.WithTracerProvider(tracers), otelhooks.WithMeterProvider(meters))
		if err != nil {
			t.Fatal(err)
		}
		stack := stoic.MustNew("payments", stoic.Observe(hook), retry.New())
		for range 100 {
			_ = stack.Do(t.Context(), func(context.Context) error { return nil })
		}
		_ = meters.Shutdown(t.Context())
		if len(p.open) != 0 || len(p.passed) != 1 {
			t.Errorf("%d traces are kept and %d kinds were passed on, want 0 and 1", len(p.open), len(p.passed))
		}
	})
}
