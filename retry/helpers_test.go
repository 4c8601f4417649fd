package retry_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

var (
	errBoom = errors.New("boom")
	errLast = errors.New("last")
)

// op is an operation of one goroutine. Call k returns script[k-1], and later calls
// the last of the script; it notes when the calls came.
type op struct {
	script []error
	start  time.Time
	times  []time.Duration // since start
}

func newOp(script ...error) *op { return &op{script: script, start: time.Now()} }

func (o *op) run(context.Context) error {
	o.times = append(o.times, time.Since(o.start))
	return o.script[min(len(o.times), len(o.script))-1]
}

func (o *op) calls() int { return len(o.times) }

// gaps are the times between calls.
func (o *op) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(o.times); i++ {
		gaps = append(gaps, o.times[i]-o.times[i-1])
	}
	return gaps
}

// sleeper is an injected sleep that takes no time.
type sleeper struct{ slept []time.Duration }

func (s *sleeper) sleep(ctx context.Context, d time.Duration) error {
	s.slept = append(s.slept, d)
	return ctx.Err()
}

func half() float64 { return 0.5 }

func accept(error) bool { return true }

// stack is a pipeline with a recorder around it.
func stack(t *testing.T, layers ...stoic.Policy) (*stoic.Pipeline, *hookstest.Recorder) {
	t.Helper()
	rec := new(hookstest.Recorder)
	t.Cleanup(func() {
		if err := rec.Check(); err != nil {
			t.Error(err)
		}
	})
	return plain(t, append([]stoic.Policy{stoic.Observe(rec)}, layers...)...), rec
}

// plain is a pipeline that nobody observes.
func plain(t *testing.T, layers ...stoic.Policy) *stoic.Pipeline {
	t.Helper()
	p, err := stoic.New("pay", layers...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// identical fails when got is another error than want, even one that wraps it.
func identical(t *testing.T, got, want error) {
	t.Helper()
	if got != want { //nolint:errorlint // identity is what is tested
		t.Errorf("got error %#v, want %#v itself", got, want)
	}
}

// matches fails when err does not match all of targets.
func matches(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("got error %v, want one that matches %v", err, target)
		}
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// fakeBudget grants so many retries, and keeps count.
type fakeBudget struct {
	limit int

	mu       sync.Mutex
	reserved int
	open     map[stoic.Ticket]bool
	refunds  []stoic.Ticket
	unknown  []stoic.Ticket // refunded, though not granted or refunded before
}

var errSpent = errors.New("spent")

func newBudget(limit int) *fakeBudget {
	return &fakeBudget{limit: limit, open: make(map[stoic.Ticket]bool)}
}

func (b *fakeBudget) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

func (b *fakeBudget) Reserve() (stoic.Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reserved == b.limit {
		return 0, &stoic.Rejection{Policy: stoic.KindBudget, Reason: "spent", Err: errSpent, Type: "budget_exhausted"}
	}
	b.reserved++
	ticket := stoic.Ticket(1000 + b.reserved)
	b.open[ticket] = true
	return ticket, nil
}

func (b *fakeBudget) Refund(ticket stoic.Ticket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open[ticket] {
		b.unknown = append(b.unknown, ticket)
	}
	delete(b.open, ticket)
	b.refunds = append(b.refunds, ticket)
}

// check compares how many retries were reserved and refunded.
func (b *fakeBudget) check(t *testing.T, reserved, refunded int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reserved != reserved || len(b.refunds) != refunded || len(b.unknown) > 0 {
		t.Errorf("budget: %d reserved, %d refunded (%v wrongly), want %d, %d (none)",
			b.reserved, len(b.refunds), b.unknown, reserved, refunded)
	}
}

// gate refuses the attempts that are not in open, as a breaker would. Attempts are
// counted from 1.
type gate struct {
	open      func(attempt int) bool
	rejection *stoic.Rejection
	seen      int
}

var errGate = errors.New("gate closed")

func newGate(open func(attempt int) bool) *gate {
	return &gate{open: open, rejection: &stoic.Rejection{
		Pipeline: "pay", Policy: "gate", Reason: "closed", Err: errGate, Type: "gate_closed",
	}}
}

func (g *gate) Run(ctx context.Context, next stoic.Next) error {
	g.seen++
	if !g.open(g.seen) {
		return g.rejection
	}
	return next.Do(ctx)
}

func never(int) bool           { return false }
func onlyFirst(n int) bool     { return n == 1 }
func allButFirst(n int) bool   { return n != 1 }
func allButThird(n int) bool   { return n != 3 }
func hook(f func()) hooks.Hook { return hooks.OnEvent(func(context.Context, hooks.Event) { f() }) }

// kinds are the kinds of the events, in order.
func kinds(events []hooks.Event) []hooks.EventKind {
	var all []hooks.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

// ending is how a function ended.
type ending struct {
	err      error
	panicked any
	exited   bool // by runtime.Goexit
}

// endOf runs f on a goroutine of its own.
func endOf(f func() error) ending {
	var (
		end  ending
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		returned := false
		defer func() {
			end.panicked = recover()
			end.exited = !returned && end.panicked == nil
		}()
		end.err = f()
		returned = true
	}()
	<-done
	return end
}

func goexit() error {
	runtime.Goexit()
	return nil
}
