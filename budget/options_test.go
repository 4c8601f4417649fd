package budget_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/budget"
)

func TestInvalidOptionsAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		option budget.Option
		want   string
	}{
		{"ratio negative", budget.Ratio(-0.1), "Ratio(-0.1): must be from 0 to 1, in steps of a millionth"},
		{"ratio above 1", budget.Ratio(1.1), "Ratio(1.1): must be from 0 to 1, in steps of a millionth"},
		{"ratio NaN", budget.Ratio(math.NaN()), "Ratio(NaN): must be from 0 to 1, in steps of a millionth"},
		{"ratio infinite", budget.Ratio(math.Inf(1)), "Ratio(+Inf): must be from 0 to 1, in steps of a millionth"},
		{"ratio below a millionth", budget.Ratio(1e-9), "Ratio(1e-09): must be from 0 to 1, in steps of a millionth"},
		{"min negative", budget.MinPerSecond(-1), "MinPerSecond(-1): must be from 0 to 1000000"},
		{"min NaN", budget.MinPerSecond(math.NaN()), "MinPerSecond(NaN): must be from 0 to 1000000"},
		{"min infinite", budget.MinPerSecond(math.Inf(1)), "MinPerSecond(+Inf): must be from 0 to 1000000"},
		{"min too large", budget.MinPerSecond(1e6 + 1), "MinPerSecond(1.000001e+06): must be from 0 to 1000000"},
		{"window too short", budget.Window(9 * time.Millisecond), "Window(9ms): must be from 10ms to 24h"},
		{"window zero", budget.Window(0), "Window(0s): must be from 10ms to 24h"},
		{"window negative", budget.Window(-time.Second), "Window(-1s): must be from 10ms to 24h"},
		{"nil option", nil, "Option(nil): must not be nil"},
		{"window too long", budget.Window(25 * time.Hour), "Window(25h0m0s): must be from 10ms to 24h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, layer := range []stoic.Policy{budget.New(tt.option), budget.New(tt.option).WithdrawOnly()} {
				p, err := stoic.New("payments", layer, attempts(2, 0))
				if p != nil || !errors.Is(err, stoic.ErrInvalid) {
					t.Fatalf("%v, %v, want nil and ErrInvalid", p, err)
				}
				if got, want := err.Error(), "payments: layer 1 (budget): "+tt.want; got != want {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			}
		})
	}
}

func TestBoundaryValuesAreValid(t *testing.T) {
	for _, option := range []budget.Option{
		budget.Ratio(0), budget.Ratio(1e-6), budget.Ratio(1),
		budget.MinPerSecond(0), budget.MinPerSecond(0.001), budget.MinPerSecond(1e6),
		budget.Window(10 * time.Millisecond), budget.Window(24 * time.Hour),
	} {
		if _, err := stoic.New("payments", budget.New(option), attempts(2, 0)); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryInvalidOptionIsReported(t *testing.T) {
	_, err := stoic.New("payments",
		budget.New(budget.Ratio(2), budget.MinPerSecond(-1), budget.Window(0)), attempts(2, 0))
	want := "payments: layer 1 (budget): Ratio(2): must be from 0 to 1, in steps of a millionth\n" +
		"payments: layer 1 (budget): MinPerSecond(-1): must be from 0 to 1000000\n" +
		"payments: layer 1 (budget): Window(0s): must be from 10ms to 24h"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestLastOptionCounts(t *testing.T) {
	b := budget.New(budget.Ratio(2), budget.Ratio(0), budget.MinPerSecond(-1), budget.MinPerSecond(0.7))
	if _, err := stoic.New("payments", b, attempts(2, 0)); err != nil {
		t.Fatal(err)
	}
	wantBalance(t, b, 7)
}

func TestUnmadeBudgetIsRefused(t *testing.T) {
	for name, layer := range map[string]stoic.Policy{"zero value": &budget.Budget{}, "its view": (&budget.Budget{}).WithdrawOnly()} {
		_, err := stoic.New("payments", layer, attempts(2, 0))
		want := "payments: layer 1 (budget): Budget{}: must be made by budget.New"
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// A budget that New refused, used all the same, refuses too and does not panic.
func TestInvalidBudgetGrantsNothing(t *testing.T) {
	for _, b := range []*budget.Budget{{}, budget.New(budget.Ratio(2))} {
		if _, err := b.Reserve(); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("Reserve: %v, want ErrInvalid", err)
		}
		b.Refund(0)
		if err := b.Run(t.Context(), stoic.Next{}); !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("Run: %v, want ErrInvalid", err)
		}
	}
}

func TestPlaceInTheStack(t *testing.T) {
	const (
		unused = "no retry inside it draws on it"
		same   = "same state as layer 1"
	)
	b := budget.New()
	tests := []struct {
		name   string
		layers []stoic.Policy
		layer  string
		want   string
	}{
		{"no retry", []stoic.Policy{b}, "layer 1 (budget): ", unused},
		{"inside the retry", []stoic.Policy{attempts(2, 0), b}, "layer 2 (budget): ", unused},
		{"shadowed", []stoic.Policy{budget.New(), b, attempts(2, 0)}, "layer 1 (budget): ", unused},
		{"shadowed by its view", []stoic.Policy{b, b.WithdrawOnly(), attempts(2, 0)}, "layer 1 (budget): ", unused},
		{"twice", []stoic.Policy{b, attempts(2, 0), b, attempts(2, 0)}, "layer 3 (budget): ", same},
		{"view twice", []stoic.Policy{b.WithdrawOnly(), attempts(2, 0), b.WithdrawOnly(), attempts(2, 0)}, "layer 3 (budget): ", same},
		{"value and view", []stoic.Policy{b, attempts(2, 0), b.WithdrawOnly(), attempts(2, 0)}, "", ""},
		{"two values", []stoic.Policy{b, attempts(2, 0), budget.New(), attempts(2, 0)}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stoic.New("payments", tt.layers...)
			if tt.layer == "" {
				if err != nil {
					t.Errorf("got %v, want nil", err)
				}
				return
			}
			if !errors.Is(err, stoic.ErrInvalid) {
				t.Fatalf("got %v, want ErrInvalid", err)
			}
			got := err.Error()
			if !strings.HasPrefix(got, "payments: "+tt.layer) || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want one mistake of %s: %s", got, tt.layer, tt.want)
			}
		})
	}
}
