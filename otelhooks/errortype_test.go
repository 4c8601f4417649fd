package otelhooks_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

type list []error

func (l list) Error() string   { return fmt.Sprint(len(l), " errors") }
func (l list) Unwrap() []error { return l }

type generic[K comparable, V any] struct{}

func (generic[K, V]) Error() string { return "generic" }

// nilError has methods that fail on a nil pointer.
type nilError struct{ text, kind string }

func (e *nilError) Error() string     { return e.text }
func (e *nilError) ErrorType() string { return e.kind }

// errorType is the error.type of a call that fails with err.
func errorType(t *testing.T, fail stoic.Func, layers ...stoic.Policy) string {
	t.Helper()
	f := newFixture(t)
	if err := f.stack(layers...).Do(t.Context(), fail); err == nil {
		t.Error("the call did not fail")
	}
	call := f.spans.Ended()[len(f.spans.Ended())-1]
	set := attribute.NewSet(call.Attributes()...)
	v, ok := set.Value("error.type")
	if !ok {
		t.Fatalf("no error.type in %v", call.Attributes())
	}
	return v.AsString()
}

func TestErrorTypeOfAnError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"says it", errBusy, "503"},
		{"says it, wrapped", fmt.Errorf("charge: %w", errBusy), "503"},
		{"says it, joined", errors.Join(errBoom, errBusy), "503"},
		{"says it, above a deadline", list{errBusy, context.DeadlineExceeded}, "503"},
		{"says nothing", &saidError{text: "boom"}, "*otelhooks_test.saidError"},
		{"says a text", &saidError{kind: "the user 42 is gone"}, "_OTHER"},
		{"says a URL", &saidError{kind: "https://example.com/users/42"}, "_OTHER"},
		{"says a path", &saidError{kind: "/users/42"}, "_OTHER"},
		{"says a type of a path with a user", &saidError{kind: "*git.sr.ht/~user/c++.Error"}, "*git.sr.ht/~user/c++.Error"},
		{"deadline", context.DeadlineExceeded, "deadline_exceeded"},
		{"deadline, wrapped", fmt.Errorf("read: %w", context.DeadlineExceeded), "deadline_exceeded"},
		{"our deadline", &deadline.ExceededError{Err: errBusy}, "deadline_exceeded"},
		{"of the operating system", os.ErrDeadlineExceeded, "*poll.DeadlineExceededError"},
		{"canceled", context.Canceled, "canceled"},
		{"canceled, wrapped", fmt.Errorf("read: %w", context.Canceled), "canceled"},
		{"only a text", errBoom, "*errors.errorString"},
		{"wrapped", fmt.Errorf("a: %w", fmt.Errorf("b: %w", errBoom)), "*errors.errorString"},
		{"a pointer", &fs.PathError{Op: "open", Path: "/secret", Err: fs.ErrNotExist}, "*fs.PathError"},
		{"not a pointer", net.UnknownNetworkError("tcp5"), "net.UnknownNetworkError"},
		{"not comparable", list{errBoom}, "github.com/stoic-go/stoic/otelhooks_test.list"},
		{"generic", &generic[string, int]{}, "*otelhooks_test.generic[string,int]"},
		{"generic with a text in it", &generic[string, struct{ A, B int }]{}, "_OTHER"},
		{"a rejection", &stoic.Rejection{Type: "bulkhead_full"}, "bulkhead_full"},
		{"a rejection of no type", &stoic.Rejection{Err: errBoom}, "*stoic.Rejection"},
		{"an invalid call", &stoic.InvalidError{}, "invalid"},
		{"its method panics", (*nilError)(nil), "_OTHER"},
		{"permanent", retry.Permanent(&fs.PathError{}), "*fs.PathError"},
		{"with a hint", retry.After(1, errBoom), "*errors.errorString"},
		{"not executed", retry.NotExecuted(fmt.Errorf("dial: %w", &net.OpError{})), "*net.OpError"},
		{"marked twice and wrapped", fmt.Errorf("a: %w", retry.After(1, retry.Permanent(fmt.Errorf("b: %w", &fs.PathError{})))), "*fs.PathError"},
		{"stopped", &retry.StoppedError{Reason: errBoom, Err: &fs.PathError{}}, "*fs.PathError"},
		{"stopped by a deadline", &retry.StoppedError{Reason: context.DeadlineExceeded, Err: errBusy}, "deadline_exceeded"},
		{"stopped by a cancellation", &retry.StoppedError{Reason: context.Canceled, Err: errBusy}, "503"},
		{"stopped by a rejection", &retry.StoppedError{Reason: &stoic.Rejection{Type: "circuit_open"}, Err: errBusy}, "503"},
		{"stopped, wrapped", fmt.Errorf("charge: %w", &retry.StoppedError{Reason: errBoom, Err: errBusy}), "503"},
		{"stopped, below another type", &deadline.ExceededError{Err: &retry.StoppedError{Reason: errBoom, Err: errBusy}}, "deadline_exceeded"},
		{"stopped twice", &retry.StoppedError{Reason: errBoom, Err: &retry.StoppedError{Reason: errBoom, Err: errGone}}, "410"},
		{"stopped without a failure", &retry.StoppedError{Reason: errBoom}, "_OTHER"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := errorType(t, func(context.Context) error { return tt.err }); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestErrorTypeOfAnUnwantedResultIsThatOfItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		_, err := stoic.Get(t.Context(), f.stack(), func(context.Context) (int, error) { return 503, nil },
			stoic.FailIf(func(int) error { return &fs.PathError{Op: "get", Err: errBoom} }))
		if err != nil {
			t.Fatal(err)
		}
		f.wantTree(t, `payments 0s..0s error "get : boom" error.type="*fs.PathError" stoic.call.attempts=1`)
	})
}

// The cause of a cancellation says more than that it was one.
func TestErrorTypeOfACause(t *testing.T) {
	got := errorType(t, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(errBusy)
		return stoic.ContextError(ctx)
	})
	if got != "503" {
		t.Errorf("got %s, want that of the cause", got)
	}
}
