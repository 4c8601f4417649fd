package hooks_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

func TestSlogWaits(t *testing.T) {
	const where = "pipeline=payments operation=refund policy=ratelimit "
	limiter := func(kind hooks.EventKind, change func(*hooks.Event)) hooks.Event {
		e := event(kind, change)
		e.Policy = "ratelimit"
		return e
	}
	rejected := func(reason string, delay time.Duration) hooks.Event {
		return limiter(hooks.Reject, func(e *hooks.Event) {
			e.Attempt, e.Reason, e.Delay, e.Err = 1, reason, delay, errors.New("boom")
		})
	}
	tests := []struct {
		name string
		e    hooks.Event
		want string
	}{
		{
			"waited",
			limiter(hooks.Waited, func(e *hooks.Event) { e.Attempt, e.Delay = 2, 250*time.Millisecond }),
			`level=DEBUG msg="stoic: waited" ` + where + "attempt=2 waited=250ms",
		},
		{
			"waited so short that the clock did not move",
			limiter(hooks.Waited, nil),
			`level=DEBUG msg="stoic: waited" ` + where + "waited=0s",
		},
		{
			"wait cut short",
			rejected("canceled", 300*time.Millisecond),
			`level=DEBUG msg="stoic: rejected" ` + where + "attempt=1 waited=300ms reason=canceled error=boom",
		},
		{
			"rejected at once",
			rejected("rate_limited", 0),
			`level=DEBUG msg="stoic: rejected" ` + where + "attempt=1 reason=rate_limited error=boom",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, b := logger(slog.LevelDebug)
			hooks.Slog(l).Event(t.Context(), tt.e)
			if got, want := b.String(), tt.want+"\n"; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			l, b = logger(slog.LevelInfo)
			hooks.Slog(l).Event(t.Context(), tt.e)
			if got := b.String(); got != "" {
				t.Errorf("at INFO it wrote %s", got)
			}
		})
	}
}
