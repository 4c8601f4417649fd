package budget_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

var errDown = errors.New("down")

// operation counts how often it was entered, and returns err.
type operation struct {
	entered atomic.Int64
	err     error
}

func (o *operation) run(context.Context) error {
	o.entered.Add(1)
	return o.err
}

func succeed(context.Context) error { return nil }

// same reports whether two errors are the very same value: an error that passes
// through a stack is not even wrapped.
func same(a, b error) bool {
	return a == b //nolint:errorlint // identity is meant
}

// attempts is a retry of n attempts that waits d between them.
func attempts(n int, d time.Duration) *retry.Retry {
	return retry.New(retry.MaxAttempts(n), retry.Constant(d))
}

// stack is a budget around a retry of n attempts without a wait.
func stack(b stoic.Policy, n int) *stoic.Pipeline {
	return stoic.MustNew("payments", b, attempts(n, 0))
}

// request makes n calls that succeed at once.
func request(t *testing.T, p *stoic.Pipeline, n int) {
	t.Helper()
	for range n {
		if err := p.Do(context.Background(), succeed); err != nil {
			t.Fatal(err)
		}
	}
}

// take reserves up to n retries and returns the tickets of those granted.
func take(t *testing.T, b stoic.Budget, n int) []stoic.Ticket {
	t.Helper()
	var tickets []stoic.Ticket
	for range n {
		ticket, err := b.Reserve()
		if err != nil {
			if !errors.Is(err, budget.ErrExhausted) {
				t.Fatalf("Reserve: %v, want ErrExhausted", err)
			}
			break
		}
		tickets = append(tickets, ticket)
	}
	return tickets
}

// balance is how many retries the budget would grant now. It leaves it as it was.
func balance(t *testing.T, b stoic.Budget) int {
	t.Helper()
	tickets := take(t, b, 1_000_000)
	for _, ticket := range tickets {
		b.Refund(ticket)
	}
	return len(tickets)
}

func wantBalance(t *testing.T, b stoic.Budget, want int) {
	t.Helper()
	if got := balance(t, b); got != want {
		t.Errorf("balance %d, want %d", got, want)
	}
}

func wantEntered(t *testing.T, op *operation, want int64) {
	t.Helper()
	if got := op.entered.Load(); got != want {
		t.Errorf("the operation was entered %d times, want %d", got, want)
	}
}

// panicOf returns what f panics with, or nil.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// onGoroutine runs f, which may call runtime.Goexit, on its own goroutine.
func onGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func exit(context.Context) error {
	runtime.Goexit()
	return nil
}
