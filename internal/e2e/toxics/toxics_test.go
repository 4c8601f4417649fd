package toxics_test

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

const (
	total   = 20 * time.Second
	attempt = 5 * time.Second
)

// stack is a full one: four attempts, and limits that a healthy call is far from.
func stack(b *breaker.Breaker, total, attempt time.Duration) []stoic.Policy {
	return []stoic.Policy{
		deadline.New(total),
		budget.New(budget.Ratio(1), budget.MinPerSecond(100)),
		retry.New(retry.MaxAttempts(4), retry.FullJitter(time.Millisecond, 10*time.Millisecond)),
		b,
		ratelimit.New(1e6, 1e6),
		deadline.New(attempt),
	}
}

// steady is a breaker that opens only when nearly everything fails.
func steady() *breaker.Breaker {
	return breaker.New("orders", breaker.FailureRate(0.95, 50, 10*time.Second))
}

func TestSlowNetworksAreNoFailures(t *testing.T) {
	tests := []struct{ kind, attributes string }{
		{"latency", `{"latency":5,"jitter":3}`},
		{"bandwidth", `{"rate":2000}`}, // KB a second: 2 ms for a response
		{"slow_close", `{"delay":20}`},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			w := newWorld(t, stack(steady(), total, attempt)...)
			w.poison(tt.kind, 1, tt.attributes)
			for _, f := range failed(w.run("GET", noHeader)) {
				t.Errorf("call %s: %v", f.number, f.err)
			}
			if got := w.sent.Load(); got != calls {
				t.Errorf("%d attempts, want %d", got, calls)
			}
		})
	}
}

func TestResetsOnHalfOfTheConnections(t *testing.T) {
	w := newWorld(t, stack(steady(), total, attempt)...)
	w.poison("reset_peer", 0.5, `{"timeout":0}`)
	failures := failed(w.run("GET", noHeader))
	for _, f := range failures {
		t.Logf("call %s: %v", f.number, f.err)
	}
	if len(failures) > calls/100 {
		t.Errorf("%d of %d calls failed, want at most 1 %%", len(failures), calls)
	}
	if got := w.sent.Load(); got <= calls {
		t.Errorf("%d attempts for %d calls: no connection was reset", got, calls)
	}
}

// A POST with a key is repeated, whole and under the same key. Every answer may be
// lost, and the server sees more requests than there are calls.
func TestResetsOfPostsWithAKey(t *testing.T) {
	w := newWorld(t, stack(steady(), total, attempt)...)
	w.poison("reset_peer", 0.5, `{"timeout":0}`)
	outcomes := w.run("POST", func(number string) http.Header {
		return http.Header{"Idempotency-Key": {"order-" + number}}
	})
	if failures := failed(outcomes); len(failures) > calls/100 {
		t.Errorf("%d of %d calls failed, the first with %v", len(failures), calls, failures[0].err)
	}
	for _, o := range outcomes {
		if o.err == nil && count(&w.served, o.number) == 0 {
			t.Errorf("call %s succeeded, and the server has not seen it", o.number)
		}
	}
}

// Without a key, nothing proves that the request whose answer was lost was not executed.
func TestResetsOfPostsWithoutAKey(t *testing.T) {
	w := newWorld(t, stack(steady(), total, attempt)...)
	w.poison("reset_peer", 0.5, `{"timeout":0}`)
	outcomes := w.run("POST", noHeader)
	if len(failed(outcomes)) == 0 {
		t.Error("no call failed: no connection was reset")
	}
	for _, o := range outcomes {
		if got := count(&w.attempts, o.number); got != 1 {
			t.Errorf("call %s was sent %d times, want 1", o.number, got)
		}
		if got := count(&w.served, o.number); got > 1 {
			t.Errorf("the server has seen call %s %d times", o.number, got)
		}
	}
}

// A black hole takes requests and never answers.
func TestBlackHole(t *testing.T) {
	const total, attempt, inARow = 2 * time.Second, 100 * time.Millisecond, 10
	b := breaker.New("orders", breaker.ConsecutiveFailures(inARow), breaker.OpenFor(time.Minute))
	layers := stack(b, total, attempt)
	explained := stoic.MustNew("orders", layers...).Explain().Worst
	w := newWorld(t, layers...)
	w.poison("timeout", 1, `{"timeout":0}`)
	outcomes := w.run("GET", noHeader)

	for _, o := range outcomes {
		if !errors.Is(o.err, deadline.ErrExceeded) && !errors.Is(o.err, breaker.ErrOpen) {
			t.Errorf("call %s: %v, want ErrExceeded or ErrOpen", o.number, o.err)
		}
		// Four attempts of 100 ms and three short waits are far from the total deadline.
		if o.took > total {
			t.Errorf("call %s took %s, its deadline is %s", o.number, o.took, total)
		}
		if got := count(&w.attempts, o.number); got > int64(explained.Attempts) {
			t.Errorf("call %s was sent %d times, explained are %d", o.number, got, explained.Attempts)
		}
	}
	if b.State() != breaker.Open {
		t.Errorf("the breaker is %s, want open", b.State())
	}
	// It opens with the tenth failure. The other workers have one attempt under way then.
	if got := w.sent.Load(); got < inARow || got > inARow+workers-1 {
		t.Errorf("%d attempts, want %d to %d", got, inARow, inARow+workers-1)
	}
}

// A response that is cut off is an error of reading it, never a short response.
func TestResponsesThatAreCutOff(t *testing.T) {
	w := newWorld(t, stack(steady(), total, attempt)...)
	w.poison("limit_data", 1, `{"bytes":1000}`)
	for _, o := range w.run("GET", noHeader) {
		if !errors.Is(o.err, io.ErrUnexpectedEOF) {
			t.Errorf("call %s: %v, want ErrUnexpectedEOF", o.number, o.err)
		}
		if got := count(&w.attempts, o.number); got != 1 {
			t.Errorf("call %s was sent %d times: its headers were in", o.number, got)
		}
	}
}

func TestDownAndUpAgain(t *testing.T) {
	b := breaker.New("orders", breaker.ConsecutiveFailures(5), breaker.OpenFor(50*time.Millisecond))
	w := newWorld(t, stack(b, total, attempt)...)
	w.proxy.Stop()
	for _, o := range w.run("GET", noHeader) {
		if !errors.Is(o.err, syscall.ECONNREFUSED) && !errors.Is(o.err, breaker.ErrOpen) {
			t.Errorf("call %s: %v, want a refused connection or ErrOpen", o.number, o.err)
		}
	}
	if err := w.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a call succeeds again", func() bool { return w.call("GET", "0", http.Header{}) == nil })
	if b.State() != breaker.Closed {
		t.Errorf("the breaker is %s, want closed", b.State())
	}
	for _, f := range failed(w.run("GET", noHeader)) {
		t.Errorf("call %s: %v", f.number, f.err)
	}
}
