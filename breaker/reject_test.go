package breaker_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

func TestRejectionSaysThatTheClientRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, 3*time.Second, 1)...)
		r.feed(1, fail)
		open := r.rejected()
		time.Sleep(3*time.Second + 1)
		probe := r.hold()
		full := r.rejected()
		probe.finish(succeed)
		r.b.ForceOpen()
		forced := r.rejected()
		tests := []struct {
			rejection *stoic.Rejection
			text      string
			kind      string
			sentinel  error
		}{
			{
				open, `pay: breaker "db": circuit breaker is open: the client did not send this call (retry after 3s)`,
				"circuit_open", gobreaker.ErrOpenState,
			},
			{
				full, `pay: breaker "db": circuit breaker is half-open, and all its probes are out: the client did not send this call`,
				"half_open_limit", gobreaker.ErrTooManyRequests,
			},
			{
				forced, `pay: breaker "db": circuit breaker is forced open: the client did not send this call`,
				"circuit_open", gobreaker.ErrOpenState,
			},
		}
		for _, tt := range tests {
			if got := tt.rejection.Error(); got != tt.text {
				t.Errorf("text: got %q, want %q", got, tt.text)
			}
			if got := tt.rejection.ErrorType(); got != tt.kind {
				t.Errorf("type: got %q, want %q", got, tt.kind)
			}
			for _, target := range []error{stoic.ErrRejected, breaker.ErrOpen, tt.sentinel} {
				if !errors.Is(tt.rejection, target) {
					t.Errorf("%v does not match %v", tt.rejection, target)
				}
			}
			if tt.rejection.Policy != stoic.KindBreaker || tt.rejection.Name != "db" || tt.rejection.Pipeline != "pay" {
				t.Errorf("got %+v", tt.rejection)
			}
		}
		if errors.Is(open, gobreaker.ErrTooManyRequests) || errors.Is(full, gobreaker.ErrOpenState) {
			t.Error("open and full match both sentinels of gobreaker, want each its own")
		}
	})
}

// RetryAfter is exact: a nanosecond less is too early, and it is in time.
func TestRetryAfterIsExact(t *testing.T) {
	for _, passed := range []time.Duration{0, 1, time.Millisecond, time.Second - 1, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, inARow(1, time.Second, 1)...)
			r.feed(1, fail)
			time.Sleep(passed)
			after, ok := r.rejected().RetryAfter()
			if want := time.Second - passed + 1; !ok || after != want {
				t.Fatalf("after %v: got %v, %v, want %v", passed, after, ok, want)
			}
			time.Sleep(after - 1)
			if again, _ := r.rejected().RetryAfter(); again != 1 {
				t.Errorf("a nanosecond before: got %v, want 1ns", again)
			}
			time.Sleep(time.Nanosecond)
			r.feed(1, succeed)
			r.wantState(breaker.Closed)
		})
	}
}

// Each refusal returns a value of its own: the caller may keep it.
func TestRejectionsAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, inARow(1, time.Minute, 1)...)
		r.feed(1, fail)
		first := r.rejected()
		kept := *first
		time.Sleep(time.Second)
		if second := r.rejected(); second == first || *first != kept {
			t.Error("the first rejection has changed")
		}
	})
}

// A breaker that never closes by itself says so by the longest time there is, not by an
// overflow.
func TestRetryAfterSaturates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New("b", breaker.ConsecutiveFailures(1), breaker.OpenFor(math.MaxInt64))
		p := stoic.MustNew("p", b)
		_ = p.Do(t.Context(), func(context.Context) error { return errors.New("down") })
		rejection, ok := errors.AsType[*stoic.Rejection](p.Do(t.Context(), func(context.Context) error { return nil }))
		if !ok {
			t.Fatal("not rejected")
		}
		if after, known := rejection.RetryAfter(); !known || after != math.MaxInt64 {
			t.Errorf("RetryAfter: %v, %t, want the longest time", after, known)
		}
	})
}
