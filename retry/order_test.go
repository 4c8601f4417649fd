package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// reasons are those that hold at once after the failed attempt.
type reasons struct {
	ctxDone      bool // 1
	notRetryable bool // 2
	last         bool // 3; 4 is the delay
	tooLate      bool // 5
	noBudget     bool // 6
	cancelSleep  bool // 7: the context ends during the sleep
}

// expected is what one failed attempt may do, by the contract's order.
type expected struct {
	why                                    string // of the GaveUp, "" for none
	asked, delays, reserves, sleeps, calls int
}

func (r reasons) expect() expected {
	switch {
	case r.ctxDone:
		return expected{hooks.StopCanceled, 0, 0, 0, 0, 1}
	case r.notRetryable:
		return expected{hooks.StopNotRetryable, 1, 0, 0, 0, 1}
	case r.last:
		return expected{hooks.StopMaxAttempts, 1, 0, 0, 0, 1}
	case r.tooLate:
		return expected{hooks.StopDeadline, 1, 1, 0, 0, 1}
	case r.noBudget:
		return expected{hooks.StopBudget, 1, 1, 1, 0, 1}
	case r.cancelSleep:
		return expected{hooks.StopCanceled, 1, 1, 1, 1, 1}
	default:
		return expected{"", 1, 1, 1, 1, 2}
	}
}

// TestOrderOfTheSevenQuestions tries every combination of reasons to stop: the
// earliest wins, and nothing of a later question has happened.
func TestOrderOfTheSevenQuestions(t *testing.T) {
	for bits := range 1 << 6 {
		r := reasons{bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0, bits&16 > 0, bits&32 > 0}
		t.Run(fmt.Sprintf("%+v", r), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkOrder(t, r) })
		})
	}
}

// meter counts what a retry asks of others.
type meter struct {
	r        reasons
	cancel   context.CancelFunc
	got      expected
	reserved int
}

func (m *meter) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (m *meter) Refund(stoic.Ticket)                            { m.reserved-- }

func (m *meter) Reserve() (stoic.Ticket, error) {
	m.got.reserves++
	if m.r.noBudget {
		return 0, errSpent
	}
	m.reserved++
	return 0, nil
}

func (m *meter) retryable(error) bool {
	m.got.asked++
	return !m.r.notRetryable
}

func (m *meter) random() float64 {
	m.got.delays++
	return 0.5
}

func (m *meter) sleep(ctx context.Context, _ time.Duration) error {
	m.got.sleeps++
	if m.r.cancelSleep {
		m.cancel()
	}
	return ctx.Err()
}

func (m *meter) op(context.Context) error {
	m.got.calls++
	if m.got.calls == 2 {
		return nil
	}
	if m.r.ctxDone {
		m.cancel()
	}
	return errBoom
}

func checkOrder(t *testing.T, r reasons) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	m := &meter{r: r, cancel: cancel}
	attempts, wait := 3, time.Minute
	if r.last {
		attempts = 1
	}
	if r.tooLate {
		wait = 3 * time.Hour
	}
	p, rec := stack(t, m, retry.New(retry.MaxAttempts(attempts), retry.FullJitter(wait, wait),
		retry.If(m.retryable), retry.Rand(m.random), retry.Sleep(m.sleep)))
	err := p.Do(ctx, m.op)

	for _, e := range rec.Events(hooks.GaveUp) {
		m.got.why += e.Reason
		identical(t, e.Err, err)
	}
	want := r.expect()
	equal(t, "what happened", m.got, want)
	equal(t, "retry events", len(rec.Events(hooks.Retry)), want.sleeps)
	equal(t, "budget taken", m.reserved, want.calls-1)
	if (err == nil) != (want.why == "") {
		t.Errorf("got error %v with reason %q", err, want.why)
	}
}

// Each way in which a failure is not worth a retry comes after the context and
// before the rest.
func TestOrderOfWhatIsNotWorthARetry(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		ctx   func(context.Context) context.Context
		opts  []retry.Option
		asked int
		why   string
	}{
		{"permanent", retry.Permanent(errBoom), nil, []retry.Option{retry.If(accept)}, 0, hooks.StopNotRetryable},
		{"permanent, wrapped", fmt.Errorf("x: %w", retry.Permanent(errBoom)), nil, nil, 0, hooks.StopNotRetryable},
		{"permanent, joined", errors.Join(errBoom, retry.Permanent(errLast)), nil, nil, 0, hooks.StopNotRetryable},
		{"StoppedError", &retry.StoppedError{Reason: context.Canceled, Err: errBoom}, nil, nil, 0, hooks.StopNotRetryable},
		{"not idempotent", errBoom, stoic.WithNonIdempotent, nil, 1, hooks.StopNonIdempotent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			ask := func(error) bool { asked++; return true }
			ctx := t.Context()
			if tt.ctx != nil {
				ctx = tt.ctx(ctx)
			}
			b := newBudget(0)
			// It is the last attempt too, and the budget is spent.
			for _, attempts := range []int{1, 3} {
				asked = 0
				drawn := func() float64 { t.Error("rand was called"); return 0 }
				p, rec := stack(t, b, retry.New(retry.MaxAttempts(attempts), retry.If(ask), retry.Rand(drawn)))
				op := newOp(tt.err)
				identical(t, p.Do(ctx, op.run), tt.err)
				equal(t, "calls", op.calls(), 1)
				equal(t, "asked", asked, tt.asked)
				if events := rec.Events(); len(events) != 1 || events[0].Reason != tt.why {
					t.Errorf("got events %+v, want one GaveUp for %s", events, tt.why)
				}
			}
			b.check(t, 0, 0)
		})
	}
}

func TestIfIsNotAskedWhenTheContextIsDone(t *testing.T) {
	for _, failure := range []error{errBoom, newGate(never).rejection, retry.Permanent(errBoom), context.Canceled} {
		ctx, cancel := context.WithCancel(t.Context())
		p := plain(t, retry.New(retry.If(func(error) bool { t.Error("If was asked"); return true })))
		err := p.Do(ctx, func(context.Context) error { cancel(); return failure })
		matches(t, err, failure)
	}
}

func TestIfIsAskedAboutRejections(t *testing.T) {
	g := newGate(never)
	var asked []error
	p := plain(t, retry.New(retry.If(func(err error) bool { asked = append(asked, err); return false })), g)
	identical(t, p.Do(t.Context(), newOp(nil).run), g.rejection)
	if len(asked) != 1 {
		t.Fatalf("asked about %v, want the rejection", asked)
	}
	identical(t, asked[0], g.rejection)
}
