package hookstest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

var (
	errBoom = errors.New("boom")
	call    = hooks.Op{Kind: hooks.KindCall, Pipeline: "payments", Operation: "refund", Attempt: 1}
	first   = hooks.Op{Kind: hooks.KindAttempt, Pipeline: "payments", Operation: "refund", Attempt: 1}
	second  = hooks.Op{Kind: hooks.KindAttempt, Pipeline: "payments", Operation: "refund", Attempt: 2}
	failed  = hooks.Result{Outcome: hooks.Failed, Err: errBoom, Duration: time.Second}
	success = hooks.Result{Outcome: hooks.Succeeded, Duration: time.Second}
	retried = hooks.Event{
		Kind: hooks.Retry, Pipeline: "payments", Operation: "refund", Policy: "retry",
		Attempt: 1, Delay: 100 * time.Millisecond, Err: errBoom,
	}
	opened = hooks.Event{
		Kind: hooks.StateChange, Pipeline: "payments", Operation: "refund", Policy: "breaker", Name: "api",
		From: "closed", To: "open",
	}
)

// play tells r of a call that succeeds in its second attempt.
func play(ctx context.Context, r *hookstest.Recorder) {
	ctx = r.Start(ctx, call)
	r.End(r.Start(ctx, first), first, failed)
	r.Event(ctx, retried)
	r.Event(ctx, opened)
	r.End(r.Start(ctx, second), second, success)
	r.End(ctx, call, success)
}

var played = []string{
	"start call payments/refund #1",
	"start attempt payments/refund #1",
	"end attempt payments/refund #1 failed",
	"retry retry payments/refund #1 100ms",
	"state_change breaker(api) payments/refund closed->open",
	"start attempt payments/refund #2",
	"end attempt payments/refund #2 succeeded",
	"end call payments/refund #1 succeeded",
}

func TestRecorder(t *testing.T) {
	var r hookstest.Recorder
	play(t.Context(), &r)

	if got := r.Strings(); !slices.Equal(got, played) {
		t.Errorf("Strings:\n got %q\nwant %q", got, played)
	}
	if got, want := r.Events(), []hooks.Event{retried, opened}; !slices.Equal(got, want) {
		t.Errorf("Events: got %+v, want %+v", got, want)
	}
	if got, want := r.Events(hooks.StateChange, hooks.GaveUp), []hooks.Event{opened}; !slices.Equal(got, want) {
		t.Errorf("Events of two kinds: got %+v, want %+v", got, want)
	}
	if got, want := r.Ops(hooks.KindAttempt), []hooks.Op{first, second}; !slices.Equal(got, want) {
		t.Errorf("Ops: got %+v, want %+v", got, want)
	}
	if got := r.All()[2].Result; got != failed {
		t.Errorf("Result: got %+v, want %+v", got, failed)
	}
	if got := r.Open(); got != 0 {
		t.Errorf("Open: got %d, want 0", got)
	}
	if err := r.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
}

func TestRecorderContexts(t *testing.T) {
	type key struct{}
	var r hookstest.Recorder
	ctx := context.WithValue(t.Context(), key{}, "value")
	started := r.Start(ctx, call)
	again := r.Start(ctx, call)
	r.Event(started, retried)
	r.End(started, call, success)

	if started == ctx || started == again {
		t.Error("Start must return a new context each time")
	}
	if got := started.Value(key{}); got != "value" {
		t.Errorf("value of the context that Start returned: got %v", got)
	}
	for i, want := range []context.Context{started, again, started, started} {
		if got := r.All()[i].Context; got != want {
			t.Errorf("entry %d: the context is not the one that Start returned", i)
		}
	}
}

func TestRecorderAllIsACopy(t *testing.T) {
	var r hookstest.Recorder
	play(t.Context(), &r)
	r.All()[0] = hookstest.Entry{}
	if got := r.Strings(); !slices.Equal(got, played) {
		t.Errorf("after a change to what All returned: %q", got)
	}
}

func TestRecorderTakeAll(t *testing.T) {
	var r hookstest.Recorder
	started := r.Start(t.Context(), call)
	if got := len(r.TakeAll()); got != 1 {
		t.Errorf("took %d entries, want 1", got)
	}
	if got := len(r.TakeAll()); got != 0 {
		t.Errorf("took %d entries again, want 0", got)
	}
	if got := r.Open(); got != 1 {
		t.Errorf("Open after TakeAll: got %d, want 1", got)
	}
	r.End(started, call, success)
	if err := r.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
	if got, want := r.Strings(), played[len(played)-1:]; !slices.Equal(got, want) {
		t.Errorf("Strings: got %q, want %q", got, want)
	}
}

func TestRecorderCheck(t *testing.T) {
	const notStarted = "its context is not one that Start returned and that has not ended"
	tests := []struct {
		name string
		play func(ctx context.Context, r *hookstest.Recorder)
		want string
		open int
	}{
		{"nothing", func(context.Context, *hookstest.Recorder) {}, "", 0},
		{"balanced", play, "", 0},
		{
			"no end", func(ctx context.Context, r *hookstest.Recorder) {
				r.Start(ctx, call)
			},
			"start call payments/refund #1: no end", 1,
		},
		{
			"no start", func(ctx context.Context, r *hookstest.Recorder) {
				r.End(ctx, call, failed)
			},
			"end call payments/refund #1 failed: " + notStarted, 0,
		},
		{
			"two ends", func(ctx context.Context, r *hookstest.Recorder) {
				ctx = r.Start(ctx, call)
				r.End(ctx, call, failed)
				r.End(ctx, call, failed)
			},
			"end call payments/refund #1 failed: " + notStarted, 0,
		},
		{
			"derived context", func(ctx context.Context, r *hookstest.Recorder) {
				ctx, cancel := context.WithCancel(r.Start(ctx, call))
				defer cancel()
				r.End(ctx, call, failed)
			},
			"end call payments/refund #1 failed: " + notStarted + "\nstart call payments/refund #1: no end", 1,
		},
		{
			"context of another recorder", func(ctx context.Context, r *hookstest.Recorder) {
				var other hookstest.Recorder
				r.End(other.Start(ctx, call), call, failed)
			},
			"end call payments/refund #1 failed: " + notStarted, 0,
		},
		{
			"another operation", func(ctx context.Context, r *hookstest.Recorder) {
				r.End(r.Start(ctx, first), second, success)
			},
			"end attempt payments/refund #2 succeeded: it began as start attempt payments/refund #1", 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r hookstest.Recorder
			tt.play(t.Context(), &r)
			got := ""
			if err := r.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Check:\n got %q\nwant %q", got, tt.want)
			}
			if got := r.Open(); got != tt.open {
				t.Errorf("Open: got %d, want %d", got, tt.open)
			}
		})
	}
}

func TestRecorderConcurrently(t *testing.T) {
	const callers, calls = 8, 10
	var r hookstest.Recorder
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				play(t.Context(), &r)
				_ = r.Strings()
				_ = r.Open()
			}
		})
	}
	wg.Wait()
	if got, want := len(r.All()), callers*calls*len(played); got != want {
		t.Errorf("got %d entries, want %d", got, want)
	}
	if err := r.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
}

func TestEntryString(t *testing.T) {
	event := func(e hooks.Event) hookstest.Entry { return hookstest.Entry{Method: hookstest.Event, Event: e} }
	tests := []struct {
		entry hookstest.Entry
		want  string
	}{
		{hookstest.Entry{}, "unknown unknown "},
		{
			hookstest.Entry{Method: hookstest.Start, Op: hooks.Op{Kind: hooks.KindCall, Pipeline: "p", Operation: "p", Attempt: 1}},
			"start call p #1",
		},
		{
			hookstest.Entry{
				Method: hookstest.End, Op: hooks.Op{Kind: hooks.KindCall, Pipeline: "p"},
				Result: hooks.Result{Outcome: hooks.Panicked, Panic: "boom", Duration: time.Second},
			},
			"end call p panicked",
		},
		{
			event(hooks.Event{Kind: hooks.Retry, Pipeline: "p", Operation: "p", Policy: "retry", Attempt: 1, Err: errBoom}),
			"retry retry p #1 0s",
		},
		{
			event(hooks.Event{Kind: hooks.GaveUp, Pipeline: "p", Policy: "retry", Attempt: 3, Reason: hooks.StopMaxAttempts}),
			"gave_up retry p #3 max_attempts",
		},
		{
			event(hooks.Event{Kind: hooks.Reject, Pipeline: "p", Policy: "breaker", Name: "api", Attempt: 1, Reason: "circuit_open"}),
			"reject breaker(api) p #1 circuit_open",
		},
		{
			event(hooks.Event{Kind: hooks.DeadlineExceeded, Pipeline: "p", Policy: "deadline", Attempt: 1, Delay: 2 * time.Second}),
			"deadline_exceeded deadline p #1 2s",
		},
		{
			event(hooks.Event{Kind: hooks.NestedRetry, Pipeline: "p", Operation: "o", Policy: "retry", Attempt: 2}),
			"nested_retry retry p/o #2",
		},
		{event(hooks.Event{Kind: 200, Pipeline: "p", Policy: "x"}), "unknown x p"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.want, "/", " "), func(t *testing.T) {
			if got := tt.entry.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMethodString(t *testing.T) {
	for m, want := range map[hookstest.Method]string{
		0: "unknown", hookstest.Start: "start", hookstest.End: "end", hookstest.Event: "event", 200: "unknown",
	} {
		if got := m.String(); got != want {
			t.Errorf("Method(%d): got %q, want %q", m, got, want)
		}
	}
}
