package otelhooks_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

// both runs what is inside twice at once, and waits for both.
func both() stoic.Policy {
	return stoic.PolicyFunc("both", func(ctx context.Context, next stoic.Next) error {
		var errs [2]error
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = next.Do(ctx) })
		}
		wg.Wait()
		if errs[0] != nil {
			return errs[1]
		}
		return nil
	})
}

func TestAHedgeInsideARetryIsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		if err := f.stack(attempts(2), both()).Do(t.Context(), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..1.2s unset stoic.call.attempts=2
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #2 1.1s..1.2s unset stoic.retry.delay=1.0`)
		f.agrees(t)
	})
}

// Two loops at once have attempts of the same numbers, and each has a verdict and the wait
// before it.
func TestAttemptsThatOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		if err := f.stack(both(), attempts(3)).Do(t.Context(), takes(errBusy, errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..2.3s unset stoic.call.attempts=6
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #2 1.1s..1.2s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
			  attempt payments #2 1.1s..1.2s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true stoic.retry.delay=1.0
			  attempt payments #3 2.2s..2.3s unset stoic.retry.delay=1.0
			  attempt payments #3 2.2s..2.3s unset stoic.retry.delay=1.0`)
		f.agrees(t)
	})
}

// A second loop that begins in the wait of the first takes nothing from it, whether it
// begins anew or gives up.
func TestALoopThatBeginsInTheWaitOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		hedge := stoic.PolicyFunc("hedge", func(ctx context.Context, next stoic.Next) error {
			first := make(chan error)
			go func() { first <- next.Do(ctx) }()
			time.Sleep(500 * time.Millisecond)
			_ = next.Do(stoic.WithOperation(ctx, "hedge"))
			return <-first
		})
		calls := 0
		err := f.stack(hedge, attempts(3)).Do(t.Context(), func(context.Context) error {
			switch calls++; calls {
			case 1:
				return errBusy
			case 2:
				return retry.Permanent(errGone)
			default:
				return nil
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..1s unset stoic.call.attempts=3
			  attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt hedge #1 500ms..500ms error "410 Gone" error.type="410" stoic.attempt.retryable=false
			  attempt payments #2 1s..1s unset stoic.retry.delay=1.0`)
	})
}

// While one attempt is being judged, the verdict on another is not taken for its own.
func TestVerdictsOfAttemptsThatOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		hedge := stoic.PolicyFunc("hedge", func(ctx context.Context, next stoic.Next) error {
			first := make(chan error)
			go func() { first <- next.Do(ctx) }()
			time.Sleep(500 * time.Millisecond)
			_ = next.WithAttempt(5).Do(ctx)
			return <-first
		})
		slow := retry.If(func(err error) bool {
			if errors.Is(err, errGone) {
				return false
			}
			time.Sleep(time.Second)
			return true
		})
		err := f.stack(hedge, attempts(2, slow, retry.AllowNested())).Do(t.Context(), func(ctx context.Context) error {
			return map[int]error{1: errBusy, 2: nil, 5: errGone}[stoic.Attempt(ctx)]
		})
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..2s unset stoic.call.attempts=3
			  attempt payments #1 0s..0s error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #5 500ms..500ms error "410 Gone" error.type="410" stoic.attempt.retryable=false
			  attempt payments #2 2s..2s unset stoic.retry.delay=1.0`)
	})
}

// Two loops at once have attempts of the same number, and the verdict on one is not taken
// for that on the other, whichever is judged first.
func TestVerdictsOfAttemptsOfOneNumber(t *testing.T) {
	full := &stoic.Rejection{Policy: "bulkhead", Reason: "full", Err: errBoom, Type: "bulkhead_full"}
	const (
		busy = `error "503 Service Unavailable" error.type="503"`
		gone = `error "410 Gone" error.type="410"`
		boom = `error "boom" error.type="*errors.errorString"`
		not  = `error "bulkhead: full: the client did not send this call" error.type="bulkhead_full"`
	)
	tests := map[string]struct {
		around  []stoic.Policy
		worth   []error // of errBusy the retry knows after a second only
		answers []error // in the order of the attempts
		want    string
	}{
		"permanent": {
			worth: []error{errBusy}, answers: []error{errBusy, retry.Permanent(errGone), nil},
			want: `
				payments 0s..2s unset stoic.call.attempts=3
				  attempt payments #1 0s..0s ` + busy + ` stoic.attempt.retryable=true
				  attempt payments #1 10ms..10ms ` + gone + ` stoic.attempt.retryable=false
				  attempt payments #2 2s..2s unset stoic.retry.delay=1.0`,
		},
		"not comparable": {
			worth: []error{errBusy}, answers: []error{errBusy, list{errGone}, nil},
			want: `
				payments 0s..2s unset stoic.call.attempts=3
				  attempt payments #1 0s..0s ` + busy + ` stoic.attempt.retryable=true
				  attempt payments #1 10ms..10ms error "1 errors" error.type="410" stoic.attempt.retryable=false
				  attempt payments #2 2s..2s unset stoic.retry.delay=1.0`,
		},
		"stopped after a failure": {
			around: []stoic.Policy{noBudget()}, worth: []error{errGone}, answers: []error{errBusy, errGone},
			want: `
				payments 0s..1s ` + busy + ` stoic.call.attempts=2 stoic.rejection.reason="budget_exhausted" stoic.retry.stop_reason="not_retryable"
				  attempt payments #1 0s..0s ` + busy + ` stoic.attempt.retryable=false
				  attempt payments #1 10ms..10ms ` + gone + ` stoic.attempt.retryable=true`,
		},
		"stopped by a rejection": {
			worth: []error{errBoom, errBusy}, answers: []error{errBoom, errBoom, errBusy, full},
			want: `
				payments 0s..2s ` + busy + ` stoic.call.attempts=3 stoic.retry.stop_reason="max_attempts"
				  attempt payments #1 0s..0s ` + boom + ` stoic.attempt.retryable=true
				  attempt payments #1 10ms..10ms ` + boom + ` stoic.attempt.retryable=true
				  attempt payments #2 1s..1s ` + busy + ` stoic.attempt.retryable=true stoic.retry.delay=1.0
				  attempt payments #2 1.01s..1.01s ` + not + ` stoic.attempt.retryable=false stoic.retry.delay=1.0`,
		},
	}
	hedge := stoic.PolicyFunc("hedge", func(ctx context.Context, next stoic.Next) error {
		first := make(chan error)
		go func() { first <- next.Do(ctx) }()
		time.Sleep(10 * time.Millisecond)
		_ = next.Do(ctx)
		return <-first
	})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				judge := retry.If(func(err error) bool {
					if errors.Is(err, errBusy) {
						time.Sleep(time.Second)
					}
					return slices.ContainsFunc(tt.worth, func(worth error) bool { return errors.Is(err, worth) }) && !errors.Is(err, full)
				})
				answers := make(chan error, len(tt.answers))
				for _, err := range tt.answers {
					answers <- err
				}
				_ = f.stack(append(tt.around, hedge, attempts(2, judge))...).Do(t.Context(), func(context.Context) error { return <-answers })
				f.wantTree(t, tt.want)
			})
		})
	}
}

// A wait that was cut short is not that of an attempt that comes later.
func TestAWaitThatWasCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		again := stoic.PolicyFunc("again", func(ctx context.Context, next stoic.Next) error {
			short, cancel := context.WithCancel(ctx)
			time.AfterFunc(500*time.Millisecond, cancel)
			_ = next.Do(short)
			_ = next.WithAttempt(2).Do(ctx)
			return nil
		})
		if err := f.stack(again, attempts(2)).Do(t.Context(), takes(errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `
			payments 0s..600ms unset stoic.call.attempts=2
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503" stoic.attempt.retryable=true
			  attempt payments #2 500ms..600ms unset`)
	})
}

// An attempt that still runs when its call has ended gets its span ended all the same, and
// so do those that follow; the call counts what was sent by its end.
func TestAttemptsThatOutliveTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		detach := stoic.PolicyFunc("detach", func(ctx context.Context, next stoic.Next) error {
			go next.Do(context.WithoutCancel(ctx)) //nolint:errcheck // nobody is there to hear it
			time.Sleep(50 * time.Millisecond)
			return nil
		})
		if err := f.stack(detach, attempts(3)).Do(t.Context(), takes(errBusy, errBusy, nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		f.wantTree(t, `
			payments 0s..50ms unset stoic.call.attempts=0
			  attempt payments #1 0s..100ms error "503 Service Unavailable" error.type="503"
			  attempt payments #2 1.1s..1.2s error "503 Service Unavailable" error.type="503" stoic.retry.delay=1.0
			  attempt payments #3 2.2s..2.3s unset stoic.retry.delay=1.0`)
	})
}

// A breaker's change may be told after the end of the call that caused it.
func TestAnEventAfterTheEndOfItsCallIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var late context.Context
		p := f.stack(stoic.PolicyFunc("late", func(ctx context.Context, next stoic.Next) error {
			late = ctx
			return next.Do(ctx)
		}))
		if err := p.Do(t.Context(), takes(nil)); err != nil {
			t.Fatal(err)
		}
		f.Event(late, stateChange())
		f.wantTree(t, `payments 0s..100ms unset stoic.call.attempts=1`)
	})
}

func TestAFuncThatDoesNotHeedItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := f.stack(attempts(2), deadline.New(20*time.Millisecond)).Do(ctx, takes(nil)); err != nil {
			t.Fatal(err) // the result is in hand
		}
		f.wantTree(t, `
			payments 0s..100ms unset stoic.call.attempts=1
			  attempt payments #1 0s..100ms unset`)
		f.agrees(t)
	})
}

func TestConcurrentCallsKeepTheirAttemptsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		p := f.stack(attempts(3))
		const callers, rounds = 8, 25
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for range rounds {
					_ = p.Do(t.Context(), func(ctx context.Context) error { return at(ctx, i%4+1) })
				}
			})
		}
		wg.Wait()
		got := make(map[int64]int)
		for _, s := range f.spans.Ended() {
			set := attribute.NewSet(s.Attributes()...)
			if n, ok := set.Value("stoic.call.attempts"); ok {
				got[n.AsInt64()]++
			}
		}
		// callers 0 and 4 need one attempt, 1 and 5 two, the others three or fail at the third
		if want := map[int64]int{1: 2 * rounds, 2: 2 * rounds, 3: 4 * rounds}; len(got) != 3 || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
			t.Errorf("calls by attempts: %v, want %v", got, want)
		}
		f.agrees(t)
	})
}
