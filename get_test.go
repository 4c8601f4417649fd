package stoic_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

// reply is a result like that of an HTTP call, which has no error for a 503.
type reply struct{ status, attempt int }

var errBusy = errors.New("busy")

// busy is a FailIf for a 503.
func busy() stoic.GetOption[reply] {
	return stoic.FailIf(func(r reply) error {
		if r.status == 503 {
			return errBusy
		}
		return nil
	})
}

// replies answers attempt n with the n-th status, and 0 as the error of a call.
func replies(statuses ...int) func(context.Context) (reply, error) {
	return func(ctx context.Context) (reply, error) {
		n := stoic.Attempt(ctx)
		if status := statuses[n-1]; status != 0 {
			return reply{status, n}, nil
		}
		return reply{500, n}, errBoom
	}
}

func TestGet(t *testing.T) {
	tests := []struct {
		name     string
		statuses []int
		want     reply
		err      error
	}{
		{"success", []int{200}, reply{200, 1}, nil},
		{"success after an error", []int{0, 200}, reply{200, 2}, nil},
		{"success after an unwanted result", []int{503, 200}, reply{200, 2}, nil},
		{"unwanted to the end", []int{503, 503, 503}, reply{503, 3}, nil},
		{"an error first, unwanted at the end", []int{0, 0, 503}, reply{503, 3}, nil},
		{"error to the end", []int{0, 0, 0}, reply{}, errBoom},
		{"unwanted first, an error at the end", []int{503, 503, 0}, reply{}, errBoom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := stoic.MustNew("payments", attempts(3, 0))
			got, err := stoic.Get(t.Context(), p, replies(tt.statuses...), busy())
			if got != tt.want || !same(err, tt.err) {
				t.Errorf("got %v and %v, want %v and %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestGetWithoutFailIf(t *testing.T) {
	p := stoic.MustNew("payments", attempts(3, 0))
	if got, err := stoic.Get(t.Context(), p, replies(503)); got != (reply{503, 1}) || err != nil {
		t.Errorf("got %v and %v, want the first reply", got, err)
	}
}

func TestGetReturnsTheUnwantedResultWhateverElseStopped(t *testing.T) {
	tests := []struct {
		name   string
		layers []stoic.Policy
		runs   int
	}{
		{"attempts ran out", []stoic.Policy{attempts(2, 0)}, 2},
		{"no retry at all", nil, 1},
		{"budget refused", []stoic.Policy{budget.New(budget.Ratio(0), budget.MinPerSecond(0)), attempts(3, 0)}, 1},
		{"breaker opened", []stoic.Policy{attempts(3, 0), breaker.New("b", breaker.ConsecutiveFailures(1))}, 1},
		{"not retryable", []stoic.Policy{retry.New(retry.If(func(error) bool { return false }))}, 1},
		{"own deadline", []stoic.Policy{deadline.New(time.Second), attempts(3, time.Minute)}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				got, err := stoic.Get(t.Context(), stoic.MustNew("payments", tt.layers...), func(context.Context) (reply, error) {
					runs++
					return reply{503, runs}, nil
				}, busy())
				if got != (reply{503, tt.runs}) || err != nil || runs != tt.runs {
					t.Errorf("got %v and %v after %d runs, want the last result, nil and %d", got, err, runs, tt.runs)
				}
			})
		})
	}
}

func TestGetUnwantedResultIsAFailureForTheLayers(t *testing.T) {
	br := breaker.New("b", breaker.ConsecutiveFailures(5))
	p := stoic.MustNew("payments", attempts(3, 0), br)
	if _, err := stoic.Get(t.Context(), p, replies(503, 503, 503), busy()); err != nil {
		t.Error(err)
	}
	if got := br.Counts(); got.Failures != 3 || got.Successes != 0 {
		t.Errorf("the breaker counts %+v, want 3 failures", got)
	}
}

func TestGetOpenBreakerWithoutAResultIsItsError(t *testing.T) {
	br := breaker.New("b")
	br.ForceOpen()
	got, err := stoic.Get(t.Context(), stoic.MustNew("payments", attempts(3, 0), br), replies(503), busy())
	if got != (reply{}) || !errors.Is(err, breaker.ErrOpen) {
		t.Errorf("got %v and %v, want the zero value and ErrOpen", got, err)
	}
}

func TestGetStoppedByTheCaller(t *testing.T) {
	tests := []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"canceled in the wait", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"canceled with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(errCause) })
			return ctx, func() { cancel(nil) }
		}, errCause},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tt.ctx(t.Context())
				defer cancel()
				got, err := stoic.Get(ctx, stoic.MustNew("payments", attempts(3, time.Minute)), replies(503), busy())
				if got != (reply{}) || !errors.Is(err, tt.want) || !errors.Is(err, context.Canceled) || !errors.Is(err, errBusy) {
					t.Errorf("got %v and %v, want the zero value and an error that matches %v, Canceled and the failure", got, err, tt.want)
				}
			})
		})
	}
}

// A layer that refuses a result that no check objects to: its error stands.
func TestGetErrorOfALayerAfterAResult(t *testing.T) {
	strict := stoic.PolicyFunc("strict", func(ctx context.Context, next stoic.Next) error {
		if err := next.Do(ctx); err != nil {
			return err
		}
		return errBoom
	})
	got, err := stoic.Get(t.Context(), stoic.MustNew("payments", strict), replies(200), busy())
	if got != (reply{}) || !same(err, errBoom) {
		t.Errorf("got %v and %v, want the zero value and the layer's error", got, err)
	}
}

// The caller cancels while the last attempt runs: nothing was stopped by that.
func TestGetResultInHandOfACanceledCaller(t *testing.T) {
	for _, status := range []int{200, 503} {
		ctx, cancel := context.WithCancel(t.Context())
		got, err := stoic.Get(ctx, stoic.MustNew("payments"), func(context.Context) (reply, error) {
			cancel()
			return reply{status, 1}, nil
		}, busy())
		if got != (reply{status, 1}) || err != nil {
			t.Errorf("got %v and %v, want the result %d", got, err, status)
		}
	}
}

func TestGetSeveralFailIf(t *testing.T) {
	var j journal
	check := func(name string, err error) stoic.GetOption[reply] {
		return stoic.FailIf(func(reply) error {
			j.add(name)
			return err
		})
	}
	var seen error
	note := stoic.PolicyFunc("note", func(ctx context.Context, next stoic.Next) error {
		seen = next.Do(ctx)
		return seen
	})
	got, err := stoic.Get(t.Context(), stoic.MustNew("payments", note), replies(200),
		check("fine", nil), check("first", errBusy), check("second", errBoom))
	if got != (reply{200, 1}) || err != nil || !errors.Is(seen, errBusy) || errors.Is(seen, errBoom) {
		t.Errorf("got %v and %v, the layer %v, want the result, nil and the first objection", got, err, seen)
	}
	j.want(t, "fine", "first")
}

func TestGetHintOfTheCheckIsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := stoic.Get(t.Context(), stoic.MustNew("payments", attempts(2, 0)), replies(503, 200),
			stoic.FailIf(func(r reply) error {
				if r.status == 503 {
					return retry.After(7*time.Second, errBusy)
				}
				return nil
			}))
		if got := time.Since(start); err != nil || got != 7*time.Second {
			t.Errorf("%v after %v, want nil after 7s", err, got)
		}
	})
}

func TestGetPanic(t *testing.T) {
	p := stoic.MustNew("payments", attempts(3, 0))
	v := panicOf(func() {
		_, _ = stoic.Get(t.Context(), p, replies(200), stoic.FailIf(func(reply) error { panic("check") }))
	})
	if v != "check" {
		t.Errorf("the caller recovers %v, want the panic of the check", v)
	}
	v = panicOf(func() {
		_, _ = stoic.Get(t.Context(), p, func(context.Context) (reply, error) { panic("fn") }, busy())
	})
	if v != "fn" {
		t.Errorf("the caller recovers %v, want the panic of the operation", v)
	}
}

func TestGetRefusesWhatItCannotRun(t *testing.T) {
	for name, get := range map[string]func() (int, error){
		"nil function": func() (int, error) { return stoic.Get[int](t.Context(), stoic.MustNew("payments"), nil) },
		"nil pipeline": func() (int, error) {
			return stoic.Get(t.Context(), nil, func(context.Context) (int, error) { return 1, nil })
		},
	} {
		if got, err := get(); got != 0 || !errors.Is(err, stoic.ErrInvalid) {
			t.Errorf("%s: got %v and %v, want 0 and ErrInvalid", name, got, err)
		}
	}
}

// A layer that stops waiting for what is inside it: the operation that runs on must
// not write to the result that the caller has.
func TestGetWithADetachingLayer(t *testing.T) {
	errLeft := errors.New("left")
	detach := func(result error, calls *sync.WaitGroup) stoic.Policy {
		return stoic.PolicyFunc("detach", func(ctx context.Context, next stoic.Next) error {
			for range 4 {
				calls.Go(func() { _ = next.Do(context.WithoutCancel(ctx)) })
			}
			return result
		})
	}
	t.Run("error", func(t *testing.T) {
		var calls sync.WaitGroup
		release := make(chan struct{})
		got, err := stoic.Get(t.Context(), stoic.MustNew("payments", detach(errLeft, &calls)), func(context.Context) (*reply, error) {
			<-release
			return &reply{status: 200}, nil
		})
		close(release)
		calls.Wait()
		if got != nil || !same(err, errLeft) {
			t.Errorf("got %v and %v, want nil and the layer's error", got, err)
		}
	})
	t.Run("racing", func(t *testing.T) {
		for range 100 {
			var calls sync.WaitGroup
			got, err := stoic.Get(t.Context(), stoic.MustNew("payments", detach(nil, &calls)), func(context.Context) (reply, error) {
				return reply{200, 1}, nil
			}, busy())
			if err != nil || got != (reply{}) && got != (reply{200, 1}) {
				t.Errorf("got %v and %v", got, err)
			}
			calls.Wait()
		}
	})
}

// The wait that an unwanted result asks for would pass the caller's deadline: the
// caller's context is not done, so the result is what comes back, at once.
func TestGetResultWhoseHintPassesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		p := stoic.MustNew("p", retry.New())
		start := time.Now()
		got, err := stoic.Get(ctx, p, func(context.Context) (int, error) { return 429, nil },
			stoic.FailIf(func(int) error { return retry.After(time.Hour, errOperation) }))
		if got != 429 || err != nil || time.Since(start) != 0 {
			t.Errorf("got %d, %v after %s, want 429 and no error at once", got, err, time.Since(start))
		}
	})
}

func TestGetRefusesANilCheck(t *testing.T) {
	_, err := stoic.Get(t.Context(), stoic.MustNew("p"), func(context.Context) (int, error) {
		t.Error("called")
		return 0, nil
	}, stoic.FailIf[int](nil))
	if !errors.Is(err, stoic.ErrInvalid) || !strings.Contains(err.Error(), "FailIf(nil)") {
		t.Errorf("got %v, want ErrInvalid about FailIf(nil)", err)
	}
}
