package stoic_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// An invalid policy that New has not seen, because a layer chooses it at call time, runs
// nothing and says what is wrong.
func TestInvalidPolicyThatNewHasNotSeenRunsNothing(t *testing.T) {
	for name, policy := range map[string]stoic.Policy{
		"zero deadline":      &deadline.Deadline{},
		"negative deadline":  deadline.New(-1),
		"zero limiter":       &ratelimit.Limiter{},
		"limiter":            ratelimit.New(ratelimit.Per(1, 0), 1),
		"limiter that waits": ratelimit.New(1, 1, ratelimit.Wait(-1)),
		"zero budget":        &budget.Budget{},
		"budget":             budget.New(budget.Ratio(2)),
		"view of a budget":   budget.New(budget.Ratio(2)).WithdrawOnly(),
		"zero retry":         &retry.Retry{},
		"retry":              retry.New(retry.MaxAttempts(0)),
		"zero breaker":       &breaker.Breaker{},
		"breaker":            breaker.New(""),
		"benign":             stoic.Benign(nil),
		"middleware":         stoic.Middleware("m", nil),
		"func":               stoic.PolicyFunc("f", nil),
	} {
		t.Run(name, func(t *testing.T) {
			p := stoic.MustNew("p", stoic.PolicyFunc("choose", policy.Run))
			ran := false
			err := p.Do(t.Context(), func(context.Context) error {
				ran = true
				return errBoom
			})
			if ran || !errors.Is(err, stoic.ErrInvalid) {
				t.Errorf("ran: %t, error: %v, want ErrInvalid and no run", ran, err)
			}
		})
	}
}

// The cause of a context is often the error of something else, with a URL in it.
func TestCauseTextsHideSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := &url.Error{Op: "Get", URL: "https://user:s3cr3t@host/path?token=hunter2", Err: errBoom}
		ctx, cancel := context.WithCancelCause(t.Context())
		p := stoic.MustNew("payments", ratelimit.New(1, 1, ratelimit.Wait(time.Hour)))
		_ = p.Do(ctx, func(context.Context) error { return nil })
		time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		for _, when := range []string{"during the wait", "before the call"} {
			err := p.Do(ctx, func(context.Context) error { return nil })
			if text := err.Error(); strings.Contains(text, "hunter2") || strings.Contains(text, "s3cr3t") || !strings.Contains(text, "host/path") {
				t.Errorf("%s: %s", when, text)
			}
			if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v does not match the context's error and cause", when, err)
			}
		}
	})
}

// panickingIs is an error whose methods panic.
type panickingIs struct{}

func (panickingIs) Error() string { return "bad" }
func (panickingIs) Is(error) bool { panic("is") }

type countEnds struct {
	hooks.Nop

	last hooks.Result
	ends int
}

func (c *countEnds) End(_ context.Context, _ hooks.Op, res hooks.Result) {
	c.ends++
	c.last = res
}

func TestEndComesWhenTheErrorItselfPanics(t *testing.T) {
	h := &countEnds{}
	var got any
	func() {
		defer func() { got = recover() }()
		_ = stoic.MustNew("p", stoic.Observe(h)).Do(t.Context(), func(context.Context) error { return panickingIs{} })
	}()
	if h.ends != 1 || h.last.Outcome != hooks.Panicked || got != "is" {
		t.Errorf("%d ends, %v, panic %v, want one that panicked", h.ends, h.last.Outcome, got)
	}
}

// attachCounter counts how often it is told of a stack.
type attachCounter struct {
	hooks.Nop

	n int
}

func (a *attachCounter) Attach(string, []hooks.LayerInfo) { a.n++ }

func TestAttachOnceForAHookInTwoLayers(t *testing.T) {
	h := &attachCounter{}
	stoic.MustNew("p", stoic.Observe(h), retry.New(), stoic.Observe(h))
	if h.n != 1 {
		t.Errorf("Attach was called %d times, want once", h.n)
	}
}

// A Func below a pipeline that a layer chose sees the attempt of the stack around again,
// while it is in a first attempt itself.
func TestRunShowsTheAttemptOfTheStackAroundToTheFunc(t *testing.T) {
	chosen := stoic.MustNew("chosen", retry.New(retry.Constant(0)))
	inner := stoic.MustNew("inner", stoic.PolicyFunc("choose", chosen.Run))
	outer := stoic.MustNew("outer", retry.New(retry.MaxAttempts(4), retry.Constant(0)))
	var seen []int
	failures := 1
	_ = outer.Do(t.Context(), func(ctx context.Context) error {
		if stoic.Attempt(ctx) < 3 {
			return errBoom
		}
		return inner.Do(ctx, func(ctx context.Context) error {
			seen = append(seen, stoic.Attempt(ctx))
			if failures--; failures >= 0 {
				return errBoom
			}
			return nil
		})
	})
	if want := []int{3, 2}; !slices.Equal(seen, want) {
		t.Errorf("attempts %v, want %v: the third of the stack around, then the second of its own", seen, want)
	}
}
