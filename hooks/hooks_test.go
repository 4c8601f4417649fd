package hooks_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

var (
	call    = hooks.Op{Kind: hooks.KindCall, Pipeline: "payments", Operation: "refund", Attempt: 1}
	attempt = hooks.Op{Kind: hooks.KindAttempt, Pipeline: "payments", Operation: "refund", Attempt: 2}
)

// spy is a hook that writes its name and the method to a journal shared with
// others, and misbehaves where it is told to.
type spy struct {
	name    string
	journal *journal
	start   func() // called at the end of Start; nil does nothing
	end     func()
	event   func()
	attach  func()
}

func (s *spy) Start(ctx context.Context, op hooks.Op) context.Context {
	s.journal.add("%s start %s", s.name, op.Kind)
	do(s.start)
	return ctx
}

func (s *spy) End(_ context.Context, op hooks.Op, res hooks.Result) {
	s.journal.add("%s end %s %s", s.name, op.Kind, res.Outcome)
	do(s.end)
}

func (s *spy) Event(_ context.Context, e hooks.Event) {
	s.journal.add("%s %s", s.name, e.Kind)
	do(s.event)
}

func (s *spy) Attach(pipeline string, layers []hooks.LayerInfo) {
	s.journal.add("%s attach %s %d", s.name, pipeline, len(layers))
	do(s.attach)
}

func do(f func()) {
	if f != nil {
		f()
	}
}

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, "; ")
}

// outcome runs f on a goroutine of its own and says how it ended: the value of
// its panic, or exited.
func outcome(f func()) (panicked any, exited bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		exited = true
		defer func() {
			if panicked = recover(); panicked != nil {
				exited = false
			}
		}()
		f()
		exited = false
	}()
	<-done
	return panicked, exited
}

func exit() { runtime.Goexit() }

func TestNop(t *testing.T) {
	ctx := t.Context()
	if got := (hooks.Nop{}).Start(ctx, call); got != ctx {
		t.Errorf("Start returned %v, want the context it was given", got)
	}
	hookstest.TestHook(t, func() hooks.Hook { return hooks.Nop{} })
}

func TestStrings(t *testing.T) {
	tests := []struct {
		value fmt.Stringer
		want  string
	}{
		{hooks.KindCall, "call"},
		{hooks.KindAttempt, "attempt"},
		{hooks.OpKind(0), "unknown"},
		{hooks.OpKind(200), "unknown"},
		{hooks.Succeeded, "succeeded"},
		{hooks.Failed, "failed"},
		{hooks.Canceled, "canceled"},
		{hooks.Rejected, "rejected"},
		{hooks.Panicked, "panicked"},
		{hooks.Exited, "exited"},
		{hooks.Outcome(0), "unknown"},
		{hooks.Outcome(200), "unknown"},
		{hooks.Retry, "retry"},
		{hooks.GaveUp, "gave_up"},
		{hooks.Reject, "reject"},
		{hooks.StateChange, "state_change"},
		{hooks.DeadlineExceeded, "deadline_exceeded"},
		{hooks.NestedRetry, "nested_retry"},
		{hooks.Waited, "waited"},
		{hooks.EventKind(0), "unknown"},
		{hooks.EventKind(200), "unknown"},
	}
	for _, tt := range tests {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("%T(%d): got %q, want %q", tt.value, tt.value, got, tt.want)
		}
	}
}
