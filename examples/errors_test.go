package examples_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

var errDown = errors.New("down")

func fails(context.Context) error { return errDown }

func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestREADME_Errors holds the table of errors: what each of them matches, and what it
// does not.
func TestREADME_Errors(t *testing.T) {
	errs := map[string]error{
		"ErrOpen": breaker.ErrOpen, "ErrLimited": ratelimit.ErrLimited, "ErrExhausted": budget.ErrExhausted,
		"ErrExceeded": deadline.ErrExceeded, "ErrRejected": stoic.ErrRejected, "ErrInvalid": stoic.ErrInvalid,
		"DeadlineExceeded": context.DeadlineExceeded, "Canceled": context.Canceled, "errDown": errDown,
		"ErrOpenState": gobreaker.ErrOpenState, "ErrTooManyRequests": gobreaker.ErrTooManyRequests,
	}
	tests := map[string]struct {
		call func(t *testing.T) error
		want []string // all of errs that it matches
	}{
		"attempts ran out": {attemptsRanOut, []string{"errDown"}},
		"breaker open":     {breakerOpen, []string{"ErrOpen", "ErrOpenState", "ErrRejected"}},
		"breaker probing":  {breakerProbing, []string{"ErrOpen", "ErrTooManyRequests", "ErrRejected"}},
		"breaker opened between attempts": {
			breakerOpenedBetweenAttempts, []string{"errDown", "ErrOpen", "ErrOpenState"},
		},
		"rate limit":               {limited, []string{"ErrLimited", "ErrRejected"}},
		"rate limit, no time left": {limitedTooLate, []string{"ErrLimited", "ErrRejected", "DeadlineExceeded"}},
		"budget":                   {budgetSpent, []string{"errDown", "ErrExhausted"}},
		"deadline":                 {deadlineExceeded, []string{"ErrExceeded", "DeadlineExceeded"}},
		"deadline before a retry":  {deadlineBeforeRetry, []string{"errDown", "DeadlineExceeded"}},
		"canceled in the wait":     {canceledInTheWait, []string{"errDown", "Canceled"}},
		"context done before":      {doneBefore, []string{"Canceled"}},
		"invalid":                  {invalid, []string{"ErrInvalid"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := tt.call(t)
				want := make(map[string]bool)
				for _, name := range tt.want {
					want[name] = true
				}
				for name, target := range errs {
					if got := errors.Is(err, target); got != want[name] {
						t.Errorf("errors.Is(%q, %s) = %v, want %v", err, name, got, want[name])
					}
				}
			})
		})
	}
}

func attemptsRanOut(t *testing.T) error {
	t.Helper()
	err := stoic.MustNew("pay", retry.New()).Do(t.Context(), fails)
	if err != errDown { //nolint:errorlint // it must be the very same
		t.Errorf("err = %v, want the last error itself", err)
	}
	return err
}

func breakerOpen(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", breaker.New("pay", breaker.ConsecutiveFailures(1)))
	_ = p.Do(t.Context(), fails)
	err := p.Do(t.Context(), fails)
	wantRetryAfter(t, err, breaker.DefaultOpenFor)
	return err
}

func breakerProbing(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", breaker.New("pay", breaker.ConsecutiveFailures(1)))
	_ = p.Do(t.Context(), fails)
	time.Sleep(breaker.DefaultOpenFor + 1)
	var err error
	_ = p.Do(t.Context(), func(ctx context.Context) error {
		err = p.Do(ctx, fails) // while the probe is out
		return nil
	})
	return err
}

func breakerOpenedBetweenAttempts(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", retry.New(), breaker.New("pay", breaker.ConsecutiveFailures(2)))
	err := p.Do(t.Context(), fails)
	wantStopped(t, err, 2)
	return err
}

func limited(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", ratelimit.New(ratelimit.Per(1, time.Second), 1))
	_ = p.Do(t.Context(), fails)
	err := p.Do(t.Context(), fails)
	wantRetryAfter(t, err, time.Second)
	return err
}

func limitedTooLate(t *testing.T) error {
	t.Helper()
	limit := ratelimit.New(ratelimit.Per(1, time.Second), 1, ratelimit.Wait(time.Minute))
	p := stoic.MustNew("pay", deadline.New(500*time.Millisecond), limit)
	_ = p.Do(t.Context(), fails)
	return p.Do(t.Context(), fails)
}

func budgetSpent(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", budget.New(budget.MinPerSecond(0)), retry.New())
	err := p.Do(t.Context(), fails)
	wantStopped(t, err, 1)
	return err
}

func deadlineExceeded(t *testing.T) error {
	t.Helper()
	err := stoic.MustNew("pay", deadline.New(time.Second)).Do(t.Context(), hangs)
	if e, ok := errors.AsType[*deadline.ExceededError](err); !ok || !e.Timeout() {
		t.Errorf("err = %v, want an ExceededError that is a timeout", err)
	}
	return err
}

func deadlineBeforeRetry(t *testing.T) error {
	t.Helper()
	p := stoic.MustNew("pay", deadline.New(time.Second), retry.New(retry.Constant(time.Second)))
	err := p.Do(t.Context(), fails)
	wantStopped(t, err, 1)
	return err
}

func canceledInTheWait(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	err := stoic.MustNew("pay", retry.New(retry.Constant(time.Minute))).Do(ctx, fails)
	wantStopped(t, err, 1)
	return err
}

func doneBefore(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return stoic.MustNew("pay", retry.New()).Do(ctx, fails)
}

func invalid(t *testing.T) error {
	t.Helper()
	_, err := stoic.New("pay", retry.New(retry.MaxAttempts(0)), deadline.New(0))
	if e, ok := errors.AsType[*stoic.InvalidError](err); !ok || e.Layer != 1 || e.Field != "MaxAttempts" {
		t.Errorf("InvalidError = %+v, want that of layer 1, MaxAttempts", e)
	}
	return err
}

func wantStopped(t *testing.T, err error, attempts int) {
	t.Helper()
	if stopped, ok := errors.AsType[*retry.StoppedError](err); !ok || stopped.Attempts != attempts {
		t.Errorf("err = %v, want a StoppedError after %d attempts", err, attempts)
	}
}

func wantRetryAfter(t *testing.T, err error, want time.Duration) {
	t.Helper()
	rejection, ok := errors.AsType[*stoic.Rejection](err)
	if !ok {
		t.Fatalf("err = %v, want a Rejection", err)
	}
	// The policies add a nanosecond, so that who waits that long is not too early.
	if got, known := rejection.RetryAfter(); !known || got.Truncate(time.Microsecond) != want {
		t.Errorf("RetryAfter = %v, %v, want %v", got, known, want)
	}
}
