package hookstest_test

import (
	"testing"
	"time"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

func TestEntryStringOfWaits(t *testing.T) {
	wait := func(kind hooks.EventKind, reason string, delay time.Duration) hooks.Event {
		return hooks.Event{
			Kind: kind, Pipeline: "p", Operation: "p", Policy: "ratelimit", Attempt: 1, Reason: reason, Delay: delay,
		}
	}
	tests := []struct {
		e    hooks.Event
		want string
	}{
		{wait(hooks.Waited, "", 250*time.Millisecond), "waited ratelimit p #1 250ms"},
		{wait(hooks.Waited, "", 0), "waited ratelimit p #1 0s"},
		{wait(hooks.Reject, "canceled", 300*time.Millisecond), "reject ratelimit p #1 300ms canceled"},
		{wait(hooks.Reject, "rate_limited", 0), "reject ratelimit p #1 rate_limited"},
	}
	for _, tt := range tests {
		if got := (hookstest.Entry{Method: hookstest.Event, Event: tt.e}).String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
