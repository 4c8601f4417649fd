package stoic_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

func TestNewReportsAllMistakesAtOnce(t *testing.T) {
	layers := []stoic.Policy{
		stoic.Observe((*hookstest.Recorder)(nil)),
		deadline.New(-time.Second),
		budget.New(budget.Ratio(2), budget.MinPerSecond(-1)),
		retry.New(retry.MaxAttempts(0), retry.Constant(-1)),
		nil,
		breaker.New("db", breaker.Probes(0)),
		ratelimit.New(-3, 0),
		(*retry.Retry)(nil),
		stoic.PolicyFunc("func", nil),
		stoic.Middleware("mw", nil),
		stoic.Benign(nil),
	}
	p, err := stoic.New("payments", layers...)
	if p != nil {
		t.Error("a pipeline came with the error")
	}
	want := []struct{ where, what string }{
		{"layer 1 (observe)", "Observe(nil): "},
		{"layer 2 (deadline)", "New(-1s): "},
		{"layer 3 (budget)", "Ratio(2): "},
		{"layer 3 (budget)", "MinPerSecond(-1): "},
		{"layer 4 (retry)", "MaxAttempts(0): "},
		{"layer 4 (retry)", "Constant(-1ns): "},
		{"layer 5 (nil)", ""},
		{`layer 6 (breaker "db")`, "Probes(0): "},
		{"layer 7 (ratelimit)", "limit(-3): "},
		{"layer 7 (ratelimit)", "burst(0): "},
		{"layer 8 (nil)", ""},
		{`layer 9 (func "func")`, "PolicyFunc(nil): "},
		{`layer 10 (middleware "mw")`, "Middleware(nil): "},
		{"layer 11 (benign)", "Benign(nil): "},
	}
	got := mistakes(t, err)
	if len(got) != len(want) {
		t.Fatalf("%d mistakes, want %d:\n%v", len(got), len(want), err)
	}
	for i, w := range want {
		prefix := "payments: " + w.where + ": " + w.what
		if text := got[i].Error(); !strings.HasPrefix(text, prefix) || len(text) < len(prefix)+10 {
			t.Errorf("got %q, want %q and a reason", text, prefix)
		}
	}
	if text := err.Error(); strings.Count(text, "\n") != len(want)-1 {
		t.Errorf("want a line for each mistake:\n%s", text)
	}
}

func TestMistakeHasItsData(t *testing.T) {
	_, err := stoic.New("payments", deadline.New(time.Second), retry.New(retry.MaxAttempts(-4)))
	e, ok := errors.AsType[*stoic.InvalidError](err)
	if !ok || !errors.Is(err, stoic.ErrInvalid) {
		t.Fatalf("%v, want an InvalidError that matches ErrInvalid", err)
	}
	if e.Pipeline != "payments" || e.Layer != 2 || e.Policy != "retry" || e.Field != "MaxAttempts" || e.Value != -4 || e.Reason == "" {
		t.Errorf("%+v", e)
	}
	if e.ErrorType() != "invalid" {
		t.Errorf("type %q, want invalid", e.ErrorType())
	}
}

func TestInvalidErrorText(t *testing.T) {
	tests := []struct {
		err  stoic.InvalidError
		want string
	}{
		{
			stoic.InvalidError{Pipeline: "payments", Layer: 2, Policy: "retry", Field: "MaxAttempts", Value: 0, Reason: "must be at least 1"},
			"payments: layer 2 (retry): MaxAttempts(0): must be at least 1",
		},
		{stoic.InvalidError{Pipeline: "payments", Layer: 1, Policy: "nil", Reason: "is a nil layer"}, "payments: layer 1 (nil): is a nil layer"},
		{stoic.InvalidError{Field: "Next{}", Reason: "has nothing to run"}, "stoic: Next{}: has nothing to run"},
		{stoic.InvalidError{Reason: "was not made by New"}, "stoic: was not made by New"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestNewNeedsAName(t *testing.T) {
	p, err := stoic.New("", nil)
	if p != nil {
		t.Error("a pipeline came with the error")
	}
	got := mistakes(t, err)
	if len(got) != 2 || got[0].Layer != 0 || got[0].Error() != `stoic: New(""): the pipeline needs a name` || got[1].Layer != 1 {
		t.Errorf("got %v, want the name and the nil layer", err)
	}
}

// funcPolicy and mapPolicy are layers whose nil is not a nil pointer.
type (
	funcPolicy func()
	mapPolicy  map[string]int
)

func (funcPolicy) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (mapPolicy) Run(ctx context.Context, next stoic.Next) error  { return next.Do(ctx) }

func TestNewRefusesNilLayers(t *testing.T) {
	tests := []struct {
		name  string
		layer stoic.Policy
	}{
		{"nil", nil},
		{"retry", (*retry.Retry)(nil)},
		{"budget", (*budget.Budget)(nil)},
		{"breaker", (*breaker.Breaker)(nil)},
		{"limiter", (*ratelimit.Limiter)(nil)},
		{"deadline", (*deadline.Deadline)(nil)},
		{"pipeline", (*stoic.Pipeline)(nil)},
		{"func", funcPolicy(nil)},
		{"map", mapPolicy(nil)},
		{"pipeline not made by New", &stoic.Pipeline{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := stoic.New("payments", stoic.Observe(nil), tt.layer)
			if p != nil {
				t.Error("a pipeline came with the error")
			}
			if got := mistakes(t, err); len(got) != 1 || got[0].Layer != 2 || got[0].Pipeline != "payments" {
				t.Errorf("got %v, want one mistake, of layer 2", err)
			}
		})
	}
}

func TestNewRefusesZeroValues(t *testing.T) {
	for _, layer := range []stoic.Policy{&retry.Retry{}, &budget.Budget{}, &breaker.Breaker{}, &ratelimit.Limiter{}, &deadline.Deadline{}} {
		_, err := stoic.New("payments", layer, attempts(2, 0))
		if got := mistakes(t, err); got[0].Layer != 1 {
			t.Errorf("%T: got %v, want a mistake of layer 1", layer, err)
		}
	}
}

func TestMistakesOfANestedPipelineNameIt(t *testing.T) {
	shared := breaker.New("db")
	nested := stoic.MustNew("nested", deadline.New(time.Second), shared)
	_, err := stoic.New("payments", stoic.Observe(nil), nested, nil, shared)
	got := mistakes(t, err)
	if len(got) != 2 {
		t.Fatalf("got %v, want 2 mistakes", err)
	}
	if got[0].Layer != 4 || got[1].Layer != 5 {
		t.Errorf("layers %d and %d, want 4 and 5: those of the nested pipeline count", got[0].Layer, got[1].Layer)
	}
}

func TestMustNewPanicsWithTheError(t *testing.T) {
	_, want := stoic.New("", nil)
	v := panicOf(func() { stoic.MustNew("", nil) })
	got, ok := v.(error)
	if !ok || !errors.Is(got, stoic.ErrInvalid) || got.Error() != want.Error() {
		t.Errorf("panic %v, want %v", v, want)
	}
	if p := stoic.MustNew("payments"); p.Name() != "payments" {
		t.Errorf("name %q, want payments", p.Name())
	}
}

// nilValidator returns a nil pointer as its error, which is an error.
type nilValidator struct{ opaqueLayer }

func (nilValidator) Validate() error {
	var err *stoic.InvalidError
	return err
}

func TestNewReportsAValidatorThatReturnsANilPointer(t *testing.T) {
	_, err := stoic.New("p", nilValidator{})
	if !errors.Is(err, stoic.ErrInvalid) || !strings.Contains(err.Error(), "layer 1") {
		t.Errorf("got %v, want an ErrInvalid about layer 1", err)
	}
}
