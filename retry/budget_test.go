package retry_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// A ticketCase is one way in which a retry that the budget granted goes on.
type ticketCase struct {
	name  string
	opts  func(cancel context.CancelFunc) []retry.Option
	layer stoic.Policy // inside the retry
	hook  hooks.Hook
	op    func(cancel context.CancelFunc) stoic.Func
	calls int  // that reach the operation
	sent  bool // the retry was sent: its ticket stays taken
	want  ending
}

func sleepOption(f func() error) func(context.CancelFunc) []retry.Option {
	return func(context.CancelFunc) []retry.Option {
		return []retry.Option{retry.Sleep(func(context.Context, time.Duration) error { return f() })}
	}
}

// secondCall fails at first, then calls f.
func secondCall(f func() error) func(context.CancelFunc) stoic.Func {
	return func(context.CancelFunc) stoic.Func {
		calls := 0
		return func(context.Context) error {
			if calls++; calls == 1 {
				return errBoom
			}
			return f()
		}
	}
}

func ticketCases() []ticketCase {
	return []ticketCase{
		{
			name: "sleep canceled", calls: 1,
			opts: func(cancel context.CancelFunc) []retry.Option {
				return []retry.Option{retry.Sleep(func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() })}
			},
		},
		{
			name: "canceled, and the sleep says nothing", calls: 1,
			opts: func(cancel context.CancelFunc) []retry.Option {
				return []retry.Option{retry.Sleep(func(context.Context, time.Duration) error { cancel(); return nil })}
			},
		},
		{name: "sleep fails", calls: 1, opts: sleepOption(func() error { return errLast })},
		{name: "panic in the sleep", calls: 1, opts: sleepOption(func() error { panic("sleep") }), want: ending{panicked: "sleep"}},
		{name: "Goexit in the sleep", calls: 1, opts: sleepOption(goexit), want: ending{exited: true}},
		{
			name: "panic in a hook on the retry event", calls: 1, want: ending{panicked: "hook"},
			hook: hooks.OnEvent(func(_ context.Context, e hooks.Event) {
				if e.Kind == hooks.Retry {
					panic("hook")
				}
			}),
		},
		{
			name: "Goexit in a hook on the retry event", calls: 1, want: ending{exited: true},
			hook: hooks.OnEvent(func(_ context.Context, e hooks.Event) {
				if e.Kind == hooks.Retry {
					_ = goexit()
				}
			}),
		},
		{name: "rejected further in", calls: 1, layer: newGate(onlyFirst)},
		{name: "sent, and works", calls: 2, sent: true, op: secondCall(func() error { return nil })},
		{name: "sent, and fails", calls: 2, sent: true},
		{name: "sent, and panics", calls: 2, sent: true, op: secondCall(func() error { panic("op") }), want: ending{panicked: "op"}},
		{name: "sent, and exits", calls: 2, sent: true, op: secondCall(goexit), want: ending{exited: true}},
		{
			name: "sent, and the caller cancels", calls: 2, sent: true,
			op: func(cancel context.CancelFunc) stoic.Func {
				return secondCall(func() error { cancel(); return errBoom })(cancel)
			},
		},
	}
}

// run makes the call, with two attempts, under b.
func (tt ticketCase) run(t *testing.T, b stoic.Policy) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := []retry.Option{retry.MaxAttempts(2), retry.Constant(time.Nanosecond)}
	if tt.opts != nil {
		opts = append(opts, tt.opts(cancel)...)
	}
	layers := []stoic.Policy{stoic.Observe(tt.hook), b, retry.New(opts...)}
	if tt.layer != nil {
		layers = append(layers, tt.layer)
	}
	fn, calls := newOp(errBoom).run, 0
	if tt.op != nil {
		fn = tt.op(cancel)
	}
	p := plain(t, layers...)
	got := endOf(func() error {
		return p.Do(ctx, func(ctx context.Context) error {
			calls++
			return fn(ctx)
		})
	})
	equal(t, "calls", calls, tt.calls)
	equal(t, "panic", got.panicked, tt.want.panicked)
	equal(t, "Goexit", got.exited, tt.want.exited)
}

func TestTicketIsRefundedUnlessTheRetryWasSent(t *testing.T) {
	for _, tt := range ticketCases() {
		t.Run(tt.name, func(t *testing.T) {
			b := newBudget(1)
			tt.run(t, b)
			if tt.sent {
				b.check(t, 1, 0)
			} else {
				b.check(t, 1, 1)
			}
		})
	}
}

func TestRealBudgetGetsItsTicketBack(t *testing.T) {
	for _, tt := range ticketCases() {
		t.Run(tt.name, func(t *testing.T) {
			if g, ok := tt.layer.(*gate); ok {
				g.seen = 0
			}
			b := budget.New(budget.Ratio(0), budget.MinPerSecond(0.1), budget.Window(10*time.Second)) // one retry
			tt.run(t, b)
			if _, err := b.Reserve(); (err != nil) != tt.sent {
				t.Errorf("next reservation: got %v, want it refused exactly when the retry was sent", err)
			}
		})
	}
}

func TestTicketsOfALongCall(t *testing.T) {
	b := newBudget(100)
	p := plain(t, b, retry.New(retry.MaxAttempts(10), retry.Constant(0), retry.If(accept)),
		newGate(func(n int) bool { return n%3 == 1 }))
	op := newOp(errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	equal(t, "calls", op.calls(), 4) // attempts 1, 4, 7, 10
	b.check(t, 9, 6)
}

func TestOnlyTheNearestBudgetIsAsked(t *testing.T) {
	outer, inner := newBudget(100), newBudget(100)
	p := plain(t, outer, retry.New(retry.MaxAttempts(2), retry.Constant(0)),
		inner, retry.New(retry.MaxAttempts(3), retry.Constant(0)))
	op := newOp(errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	equal(t, "calls", op.calls(), 4)
	inner.check(t, 2, 0)
	outer.check(t, 1, 0)
}

func TestRetryInsideAResendPaysToo(t *testing.T) {
	b := newBudget(100)
	p := plain(t, b, retry.New(retry.MaxAttempts(2), retry.Constant(0)),
		retry.New(retry.AllowNested(), retry.MaxAttempts(2), retry.Constant(0)))
	op := newOp(errBoom)
	identical(t, p.Do(t.Context(), op.run), errBoom)
	equal(t, "calls", op.calls(), 4)
	b.check(t, 3, 0)
}

func TestRefusalIsReportedOnce(t *testing.T) {
	p, rec := stack(t, newBudget(1), retry.New(retry.Constant(0)))
	err := p.Do(t.Context(), newOp(errBoom).run)
	stoppedBy(t, err, 2, errBoom, errSpent)
	stopped := stoppedIn(err)
	events := rec.Events(hooks.Reject)
	if len(events) != 1 {
		t.Fatalf("got %d reject events, want 1", len(events))
	}
	e := events[0]
	equal(t, "policy", e.Policy, stoic.KindBudget)
	equal(t, "reason", e.Reason, "budget_exhausted")
	equal(t, "attempt", e.Attempt, 2)
	identical(t, e.Err, stopped.Reason)
}

// The rejection that the budget returned belongs to the budget; the retry names a
// copy of it.
func TestRefusalOfASharedBudgetIsNotChanged(t *testing.T) {
	shared := &stoic.Rejection{Policy: stoic.KindBudget, Reason: "spent", Err: errSpent, Type: "budget_exhausted"}
	p := plain(t, refusing{shared}, retry.New(retry.Constant(0)))
	err := p.Do(t.Context(), newOp(errBoom).run)
	matches(t, err, errSpent)
	equal(t, "pipeline of the budget's rejection", shared.Pipeline, "")
}

// refusing is a budget that always returns the same error.
type refusing struct{ err error }

func (r refusing) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (r refusing) Reserve() (stoic.Ticket, error)                 { return 0, r.err }
func (r refusing) Refund(stoic.Ticket)                            { panic("nothing was granted") }

func TestRefusalNeedNotBeARejection(t *testing.T) {
	p, rec := stack(t, refusing{errLast}, retry.New(retry.Constant(0)))
	err := p.Do(t.Context(), newOp(errBoom).run)
	stoppedBy(t, err, 1, errBoom, errLast)
	stopped := stoppedIn(err)
	identical(t, stopped.Reason, errLast)
	equal(t, "type", stopped.ErrorType(), "retry_stopped")
	equal(t, "reason", rec.Events(hooks.GaveUp)[0].Reason, hooks.StopBudget)
}
