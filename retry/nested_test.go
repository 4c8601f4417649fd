package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

func TestC49_NestedRetriesDoNotMultiply(t *testing.T) {
	tests := []struct {
		name   string
		inner  []retry.Option
		numbs  []int // attempt numbers that the operation sees
		nested []int // attempt numbers of the nested-retry events
	}{
		{"4+3-1", nil, []int{1, 2, 3, 2, 3, 4}, []int{2, 3, 4}},
		{"AllowNested", []retry.Option{retry.AllowNested()}, []int{1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, rec := stack(t, retry.New(retry.MaxAttempts(4), retry.Constant(0)),
				retry.New(append(tt.inner, retry.MaxAttempts(3), retry.Constant(0))...))
			var seen []int
			err := p.Do(t.Context(), func(ctx context.Context) error {
				seen = append(seen, stoic.Attempt(ctx))
				return errBoom
			})
			identical(t, err, errBoom)
			if !slices.Equal(seen, tt.numbs) {
				t.Errorf("attempts: got %v, want %v", seen, tt.numbs)
			}
			var nested []int
			for _, e := range rec.Events(hooks.NestedRetry) {
				nested = append(nested, e.Attempt)
				identical(t, e.Err, errBoom)
				equal(t, "policy", e.Policy, stoic.KindRetry)
			}
			if !slices.Equal(nested, tt.nested) {
				t.Errorf("nested-retry events: got %v, want %v", nested, tt.nested)
			}
		})
	}
}

func TestC49_SharedBudgetBoundsNestedRetries(t *testing.T) {
	for _, inner := range [][]retry.Option{nil, {retry.AllowNested()}} {
		// 0.2 a second in 10 s are two retries.
		two := budget.New(budget.Ratio(0), budget.MinPerSecond(0.2), budget.Window(10*time.Second))
		p := plain(t, two, retry.New(retry.MaxAttempts(4), retry.Constant(0)),
			retry.New(append(inner, retry.MaxAttempts(3), retry.Constant(0))...))
		op := newOp(errBoom)
		err := p.Do(t.Context(), op.run)
		equal(t, "calls", op.calls(), 3)
		matches(t, err, errBoom, budget.ErrExhausted)
	}
}

func TestC49_SharedBudgetWhenTheOuterAsksFirst(t *testing.T) {
	two := budget.New(budget.Ratio(0), budget.MinPerSecond(0.2), budget.Window(10*time.Second))
	p := plain(t, two, retry.New(retry.MaxAttempts(4), retry.Constant(0)),
		retry.New(retry.MaxAttempts(3), retry.Constant(0), retry.If(func(error) bool { return false })))
	op := newOp(errBoom)
	matches(t, p.Do(t.Context(), op.run), errBoom, budget.ErrExhausted)
	equal(t, "calls", op.calls(), 3)
}

func TestNestedAttemptsAreNumberedAcrossPipelines(t *testing.T) {
	inner := plain(t, retry.New(retry.MaxAttempts(2), retry.Constant(0)))
	p := plain(t, retry.New(retry.MaxAttempts(2), retry.Constant(0)), inner)
	var seen []int
	identical(t, p.Do(t.Context(), func(ctx context.Context) error {
		seen = append(seen, stoic.Attempt(ctx))
		return errBoom
	}), errBoom)
	if want := []int{1, 2, 2}; !slices.Equal(seen, want) {
		t.Errorf("attempts: got %v, want %v", seen, want)
	}
}

// A resend that ends with an answer did not fail, so there is nothing to leave to
// the outer retry.
func TestNestedRetryIsSilentAboutAnswers(t *testing.T) {
	errNoRows := errors.New("no rows")
	p, rec := stack(t, retry.New(retry.Constant(0)), retry.New(retry.MaxAttempts(1)),
		stoic.Benign(func(err error) bool { return errors.Is(err, errNoRows) }))
	op := newOp(errBoom, errNoRows)
	identical(t, p.Do(t.Context(), op.run), errNoRows)
	equal(t, "calls", op.calls(), 2)
	equal(t, "nested-retry events", len(rec.Events(hooks.NestedRetry)), 0)
}

func TestNestedRetryIsSilentAboutSuccess(t *testing.T) {
	p, rec := stack(t, retry.New(retry.Constant(0)), retry.New(retry.MaxAttempts(1)))
	op := newOp(errBoom, nil)
	identical(t, p.Do(t.Context(), op.run), nil)
	equal(t, "nested-retry events", len(rec.Events(hooks.NestedRetry)), 0)
}

// The outer retry must not be confused by the GaveUp of the inner one: each retry
// gives up once for the call it judged.
func TestNestedRetryGivesUpOnce(t *testing.T) {
	p, rec := stack(t, retry.New(retry.MaxAttempts(2), retry.Constant(0)),
		retry.New(retry.MaxAttempts(2), retry.Constant(0)))
	identical(t, p.Do(t.Context(), newOp(errBoom).run), errBoom)
	var attempts []int
	for _, e := range rec.Events(hooks.GaveUp) {
		attempts = append(attempts, e.Attempt)
	}
	// The inner one in attempt 1, after its attempt 2; the outer one after its attempt 2.
	if want := []int{2, 2}; !slices.Equal(attempts, want) {
		t.Errorf("GaveUp at attempts %v, want %v", attempts, want)
	}
}
