package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

func TestInvalidOptions(t *testing.T) {
	const (
		attempts = "must be at least 1 (the first call counts); for no limit use Unlimited()"
		interval = "base must not be negative, nor above max"
	)
	tests := []struct {
		option retry.Option
		want   string
	}{
		{retry.MaxAttempts(0), "MaxAttempts(0): " + attempts},
		{retry.MaxAttempts(-1), "MaxAttempts(-1): " + attempts},
		{retry.MaxAttempts(math.MinInt), "MaxAttempts(-9223372036854775808): " + attempts},
		{retry.FullJitter(-1, time.Second), "FullJitter(-1ns, 1s): " + interval},
		{retry.FullJitter(2, 1), "FullJitter(2ns, 1ns): " + interval},
		{retry.FullJitter(0, -1), "FullJitter(0s, -1ns): " + interval},
		{retry.EqualJitter(time.Minute, time.Second), "EqualJitter(1m0s, 1s): " + interval},
		{retry.DecorrelatedJitter(time.Minute, 0), "DecorrelatedJitter(1m0s, 0s): " + interval},
		{retry.NoJitter(math.MinInt64, math.MaxInt64), "NoJitter(-2562047h47m16.854775808s, 2562047h47m16.854775807s): " + interval},
		{retry.Constant(-1), "Constant(-1ns): must not be negative"},
		{retry.WithBackoff(nil), "WithBackoff(nil): needs a Backoff"},
		{retry.WithBackoff(retry.BackoffFunc(nil)), "WithBackoff(nil): needs a Backoff"},
		{retry.If(nil), "If(nil): needs a function that tells which errors to retry"},
		{retry.MaxRetryAfter(0), "MaxRetryAfter(0s): must be positive"},
		{retry.MaxRetryAfter(-time.Second), "MaxRetryAfter(-1s): must be positive"},
		{retry.Sleep(nil), "Sleep(nil): needs a function that waits"},
		{retry.Rand(nil), "Rand(nil): needs a function that returns a number in [0, 1)"},
		{nil, "Option(nil): must not be nil"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			_, err := stoic.New("pay", stoic.Observe(nil), retry.New(tt.option))
			matches(t, err, stoic.ErrInvalid)
			equal(t, "error", fmt.Sprint(err), "pay: layer 2 (retry): "+tt.want)
			invalid, ok := errors.AsType[*stoic.InvalidError](err)
			if !ok {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			if invalid.Layer != 2 || invalid.Policy != "retry" || invalid.Pipeline != "pay" {
				t.Errorf("got %#v, want layer 2 of pay", invalid)
			}
			field, _, _ := strings.Cut(tt.want, "(")
			equal(t, "field", invalid.Field, field)
		})
	}
}

// linear is a Backoff of the caller's.
type linear struct{ step time.Duration }

func (l *linear) Delay(n int, _ time.Duration, _ func() float64) time.Duration {
	return time.Duration(n+1) * l.step
}

func TestValidOptions(t *testing.T) {
	for name, option := range map[string]retry.Option{
		"one attempt":       retry.MaxAttempts(1),
		"most attempts":     retry.MaxAttempts(math.MaxInt),
		"unlimited":         retry.Unlimited(),
		"no wait":           retry.Constant(0),
		"base 0":            retry.FullJitter(0, 0),
		"base is max":       retry.DecorrelatedJitter(time.Second, time.Second),
		"longest":           retry.EqualJitter(math.MaxInt64, math.MaxInt64),
		"backoff":           retry.WithBackoff(&linear{time.Second}),
		"shortest cap":      retry.MaxRetryAfter(1),
		"longest cap":       retry.MaxRetryAfter(math.MaxInt64),
		"nested is allowed": retry.AllowNested(),
	} {
		if _, err := stoic.New("pay", retry.New(option)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLastOptionOfASettingWins(t *testing.T) {
	tests := []struct {
		name    string
		options []retry.Option
		want    string // of the error, "" for none
	}{
		{"attempts repaired", []retry.Option{retry.MaxAttempts(0), retry.MaxAttempts(2)}, ""},
		{"attempts repaired by Unlimited", []retry.Option{retry.MaxAttempts(0), retry.Unlimited()}, ""},
		{"attempts broken", []retry.Option{retry.MaxAttempts(2), retry.MaxAttempts(0)}, "MaxAttempts(0)"},
		{"backoff repaired by another", []retry.Option{retry.Constant(-1), retry.WithBackoff(nil), retry.FullJitter(1, 2)}, ""},
		{"backoff broken by another", []retry.Option{retry.FullJitter(1, 2), retry.WithBackoff(nil)}, "WithBackoff(nil)"},
		{"the last mistake is named", []retry.Option{retry.MaxAttempts(-1), retry.MaxAttempts(-2)}, "MaxAttempts(-2)"},
		{"if", []retry.Option{retry.If(nil), retry.If(accept)}, ""},
		{"cap", []retry.Option{retry.MaxRetryAfter(0), retry.MaxRetryAfter(1)}, ""},
		{"sleep", []retry.Option{retry.Sleep(nil), retry.Sleep(new(sleeper).sleep)}, ""},
		{"rand", []retry.Option{retry.Rand(nil), retry.Rand(half)}, ""},
		{"another setting repairs nothing", []retry.Option{retry.MaxAttempts(0), retry.Constant(0)}, "MaxAttempts(0)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stoic.New("pay", retry.New(tt.options...))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got error %v, want none", err)
			case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "pay: layer 1 (retry): "+tt.want+": ")):
				t.Errorf("got error %v, want only one that names %s", err, tt.want)
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("got several errors: %v", err)
			}
		})
	}
	op := newOp(errBoom)
	identical(t, retry.Do(t.Context(), op.run, retry.MaxAttempts(7), retry.Constant(0), retry.MaxAttempts(2)), errBoom)
	equal(t, "calls", op.calls(), 2)
}

func TestAllMistakesInOneError(t *testing.T) {
	_, err := stoic.New("pay", retry.New(retry.MaxAttempts(0), retry.Constant(-1), nil, retry.If(nil), retry.MaxRetryAfter(0)))
	matches(t, err, stoic.ErrInvalid)
	var fields []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		field, _, _ := strings.Cut(strings.TrimPrefix(line, "pay: layer 1 (retry): "), ":")
		fields = append(fields, field)
	}
	equal(t, "fields", strings.Join(fields, " "), "MaxAttempts(0) Constant(-1ns) Option(nil) If(nil) MaxRetryAfter(0s)")
}

func TestRetryThatNewDidNotMakeIsInvalid(t *testing.T) {
	_, err := stoic.New("pay", &retry.Retry{})
	matches(t, err, stoic.ErrInvalid)
	equal(t, "error", fmt.Sprint(err), "pay: layer 1 (retry): Retry{}: must be made by retry.New")

	_, err = stoic.New("pay", (*retry.Retry)(nil))
	matches(t, err, stoic.ErrInvalid)
}

// A layer of the caller's may hide a retry from stoic.New.
func TestInvalidRetryDoesNotRun(t *testing.T) {
	for name, r := range map[string]*retry.Retry{
		"zero":            {},
		"invalid option":  retry.New(retry.WithBackoff(nil)),
		"invalid options": retry.New(retry.MaxAttempts(0), retry.Sleep(nil)),
	} {
		op := newOp(errBoom)
		err := plain(t, stoic.PolicyFunc(name, r.Run)).Do(t.Context(), op.run)
		matches(t, err, stoic.ErrInvalid)
		equal(t, "calls", op.calls(), 0)
	}
	op := newOp(errBoom, nil)
	identical(t, plain(t, stoic.PolicyFunc("valid", retry.New(retry.Constant(0)).Run)).Do(t.Context(), op.run), nil)
}

func TestOneRetryServesSeveralPipelines(t *testing.T) {
	r := retry.New(retry.MaxAttempts(2), retry.Constant(0))
	a, b := plain(t, r), plain(t, r, r)
	for _, p := range []*stoic.Pipeline{a, b, a} {
		identical(t, p.Do(t.Context(), newOp(errBoom, nil).run), nil)
	}
}

func TestDoRunsOneCall(t *testing.T) {
	op := newOp(errBoom, nil)
	identical(t, retry.Do(t.Context(), op.run, retry.Constant(0)), nil)
	equal(t, "calls", op.calls(), 2)

	op = newOp(errBoom)
	matches(t, retry.Do(t.Context(), op.run, retry.MaxAttempts(0)), stoic.ErrInvalid)
	matches(t, retry.Do(t.Context(), op.run, nil), stoic.ErrInvalid)
	equal(t, "calls", op.calls(), 0)

	matches(t, retry.Do(t.Context(), nil), stoic.ErrInvalid)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	matches(t, retry.Do(ctx, op.run), context.Canceled)
	equal(t, "calls", op.calls(), 0)

	ctx, cancel = context.WithCancel(t.Context())
	err := retry.Do(ctx, func(context.Context) error { cancel(); return errBoom })
	if stopped, ok := errors.AsType[*retry.StoppedError](err); !ok || stopped.Pipeline != "retry.Do" {
		t.Errorf("got %v, want a StoppedError of retry.Do", err)
	}
}
