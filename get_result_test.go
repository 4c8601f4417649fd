package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// hedged runs what is inside twice at once, cancels the other when one is done, and waits
// for it.
func hedged(ctx context.Context, next stoic.Next) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- next.Do(ctx) }()
	}
	first := <-errs
	cancel()
	if second := <-errs; second == nil {
		return nil
	}
	return first
}

func TestGetKeepsTheResultOfTheWinner(t *testing.T) {
	p := stoic.MustNew("p", stoic.PolicyFunc("hedge", hedged))
	for range 100 {
		winner := make(chan struct{}, 1)
		winner <- struct{}{}
		got, err := stoic.Get(t.Context(), p, func(ctx context.Context) (int, error) {
			select {
			case <-winner:
				return 42, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		if got != 42 || err != nil {
			t.Fatalf("got %d and %v, want 42", got, err)
		}
	}
}

// recovering turns a panic of what is inside into an error.
func recovering(ctx context.Context, next stoic.Next) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("recovered: %v", v)
		}
	}()
	return next.Do(ctx)
}

// A result that FailIf objected to is not the answer when the call then failed for
// another reason, whether or not the function ran again.
func TestGetDoesNotHideALaterFailure(t *testing.T) {
	unwanted := stoic.FailIf(func(n int) error {
		if n == 503 {
			return errBusy
		}
		return nil
	})
	errToken := errors.New("no token")
	run := 0
	second := func(f func() error) stoic.Policy {
		return stoic.PolicyFunc("second", func(ctx context.Context, next stoic.Next) error {
			if run++; run == 2 {
				return f()
			}
			return next.Do(ctx)
		})
	}
	tests := map[string]stoic.Policy{
		"a layer fails before the function": second(func() error { return errToken }),
		"the function panics":               second(func() error { panic("bug") }),
	}
	for name, layer := range tests {
		t.Run(name, func(t *testing.T) {
			run = 0
			p := stoic.MustNew("p", retry.New(retry.MaxAttempts(2), retry.Constant(0)), stoic.PolicyFunc("recover", recovering), layer)
			got, err := stoic.Get(t.Context(), p, func(context.Context) (int, error) { return 503, nil }, unwanted)
			if got != 0 || err == nil || errors.Is(err, errBusy) {
				t.Errorf("got %d and %v, want 0 and the failure of the second attempt", got, err)
			}
		})
	}
}

// The error that FailIf makes need not be comparable.
type listError struct{ list []int }

func (e listError) Error() string { return fmt.Sprint(e.list) }

func TestGetWithAnErrorThatCannotBeCompared(t *testing.T) {
	got, err := stoic.Get(t.Context(), stoic.MustNew("p", retry.New(retry.MaxAttempts(2), retry.Constant(0))),
		func(context.Context) (int, error) { return 503, nil },
		stoic.FailIf(func(int) error { return listError{[]int{1}} }))
	if got != 503 || err != nil {
		t.Errorf("got %d and %v, want 503", got, err)
	}
}

func TestGetRefusesANilOption(t *testing.T) {
	_, err := stoic.Get(t.Context(), stoic.MustNew("p"), func(context.Context) (int, error) { return 1, nil }, nil)
	if !errors.Is(err, stoic.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestGetWithALayerThatHidesAFailure(t *testing.T) {
	hide := stoic.PolicyFunc("hide", func(ctx context.Context, next stoic.Next) error {
		_ = next.Do(ctx)
		return nil
	})
	for name, check := range map[string]error{"the function fails": nil, "FailIf objects": errBusy} {
		got, err := stoic.Get(t.Context(), stoic.MustNew("p", hide), func(context.Context) (int, error) {
			if check == nil {
				return 1, errBoom
			}
			return 1, nil
		}, stoic.FailIf(func(int) error { return check }))
		if got != 0 || err != nil {
			t.Errorf("%s: got %d and %v, want the zero value and no error", name, got, err)
		}
	}
}
