package breaker

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stoic-go/stoic"
)

// The tests of what cannot be seen from outside: races that need a goroutine to stop at
// one place.

func failure() *outcome { return &outcome{verdict: stoic.Failure, ctx: context.Background()} }
func success() *outcome { return &outcome{verdict: stoic.Success, ctx: context.Background()} }

// halfOpen is a core that has just become half-open, with one probe out.
func halfOpen(t *testing.T, probes int) (c *core, word, id uint64) {
	t.Helper()
	b := New("db", ConsecutiveFailures(1), OpenFor(1), Probes(probes))
	c = b.core.Load()
	c.feed(0, failure())
	waitHalfOpen(t, b)
	word, id, rejection := c.admit(context.Background(), stoic.Next{}, time.Now())
	if rejection != nil || stateOf(word) != HalfOpen {
		t.Fatalf("admit: %v, %v", stateOf(word), rejection)
	}
	return c, word, id
}

// waitHalfOpen waits for a breaker that is open for a nanosecond.
func waitHalfOpen(t *testing.T, b *Breaker) {
	t.Helper()
	for range 1_000_000 {
		if b.State() == HalfOpen {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("state: %v, want half-open", b.State())
}

// A verdict whose word is old changes nothing, also when the check before the feed was
// made in time. This fails when the check in the closure of feed is removed.
func TestStaleVerdictIsNotFed(t *testing.T) {
	for name, o := range map[string]*outcome{"success": nil, "failure": failure()} {
		t.Run(name, func(t *testing.T) {
			c, word, id := halfOpen(t, 2)
			const old = 0 // closed
			c.feed(old, o)
			if got := c.word.Load(); got != word {
				t.Errorf("word: got %d, want %d", got, word)
			}
			if got := c.counts(); got != (Counts{}) {
				t.Errorf("counts: got %+v, want none", got)
			}
			c.end(word, id, success()) // its place is not taken by the stale one
			_, id, rejection := c.admit(context.Background(), stoic.Next{}, time.Now())
			if rejection != nil {
				t.Fatal(rejection)
			}
			c.end(word, id, success())
			if got := c.current(); got != Closed {
				t.Errorf("state: got %v, want closed", got)
			}
		})
	}
}

// A stale verdict may sit in gobreaker's only half-open slot for a moment. The verdict
// on the probe waits for it and is not lost.
func TestProbeWaitsForAStaleVerdict(t *testing.T) {
	verdicts := map[string]struct {
		feed func(c *core, word, id uint64)
		want State
	}{
		"success": {func(c *core, word, id uint64) { c.end(word, id, success()) }, Closed},
		"failure": {func(c *core, word, id uint64) { c.end(word, id, failure()) }, Open},
		"hung": {func(c *core, _, _ uint64) {
			_, _, _ = c.admit(context.Background(), stoic.Next{}, time.Now().Add(time.Hour))
		}, Open},
	}
	for name, tt := range verdicts {
		t.Run(name, func(t *testing.T) {
			c, word, id := halfOpen(t, 1)
			tries, inside, done := 0, make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				_, _ = c.cb.Execute(func() (struct{}, error) {
					close(inside)
					for feeding := 0; feeding < 1000; { // until the other one has tried
						runtime.Gosched()
						if c.mu.TryLock() {
							c.mu.Unlock()
							tries++
						} else {
							feeding++
						}
						if tries > 1_000_000 {
							break // it never does
						}
					}
					return struct{}{}, errStale
				})
			}()
			<-inside
			tt.feed(c, word, id)
			<-done
			if got := stateOf(c.word.Load()); got != tt.want {
				t.Errorf("state: got %v, want %v", got, tt.want)
			}
		})
	}
}

// A change between gobreaker's note of its generation and the closure is seen in the
// closure; one after it by gobreaker. So a success from before the breaker opened does
// not count in the next closed period either.
func TestChangeWhileAVerdictIsOnItsWay(t *testing.T) {
	b := New("db", ConsecutiveFailures(1), OpenFor(time.Hour))
	c := b.core.Load()
	_, _ = c.cb.Execute(func() (struct{}, error) {
		c.feed(0, failure()) // opens
		return struct{}{}, failure()
	})
	if got := c.word.Load(); got>>2 != 1 || stateOf(got) != Open {
		t.Errorf("got change %d to %v, want the first, to open", got>>2, stateOf(got))
	}
	if got := c.counts(); got != (Counts{}) {
		t.Errorf("got %+v, want no counts", got)
	}
}

// A breaker lives as long as the program; nothing of a call may live as long in it.
func TestBreakerKeepsNothingOfACall(t *testing.T) {
	b := New("db", ConsecutiveFailures(2), OpenFor(1), Probes(2))
	p := stoic.MustNew("pay", b)
	errDown := errors.New("down")
	for _, step := range []struct {
		name   string
		before func()
		err    error
	}{
		{name: "success"},
		{name: "failure", err: errDown},
		{name: "failure that opens", err: errDown},
		{name: "successful probe", before: func() { waitHalfOpen(t, b) }},
		{name: "failed probe", err: errDown},
		{name: "neutral probe", before: func() { waitHalfOpen(t, b) }, err: &stoic.Rejection{Err: errDown}},
		{name: "rejected", before: b.ForceOpen},
		{name: "forced closed", before: b.ForceClosed, err: errDown},
	} {
		if step.before != nil {
			step.before()
		}
		type request struct{ body [1 << 10]byte }
		r := &request{}
		kept := weak.Make(r)
		_ = p.Do(context.WithValue(context.Background(), b, r), func(context.Context) error {
			r.body[0]++
			return step.err
		})
		runtime.GC()
		if kept.Value() != nil {
			t.Errorf("%s: the context of the call is still reachable", step.name)
		}
	}
	runtime.KeepAlive(p)
}

// The breaker may close between the first look of a call at it and its admission. Such
// a call is an ordinary one, and counts.
func TestClosedMeanwhile(t *testing.T) {
	c := New("db").core.Load()
	if err := c.runGuarded(context.Background(), stoic.Next{}); err == nil {
		t.Fatal("the zero Next returned no error")
	}
	if got := c.counts(); got.Failures != 1 {
		t.Errorf("got %+v, want one failure", got)
	}
}
