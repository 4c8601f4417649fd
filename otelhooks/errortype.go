package otelhooks

import (
	"context"
	"errors"
	"go/token"
	"reflect"
	"strings"
	"sync"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/retry"
)

// The values of error.type that are stoic's own. They always have their place.
const (
	typeDeadline = "deadline_exceeded"
	typeCanceled = "canceled"
	typePanic    = "panic"
	typeGoexit   = "goexit"
)

// ownTypes are all of them; the others come from the policies' ErrorType methods.
func ownTypes() []string {
	return []string{
		"circuit_open", "half_open_limit", "budget_exhausted", "rate_limited", "deadline_too_short",
		"invalid", typeDeadline, typeCanceled, typePanic, typeGoexit,
	}
}

const (
	// maxTypes is how many values of error.type one hook emits beside _OTHER.
	maxTypes = 32
	// maxTypeLength is that of the longest value. Nobody's type name is longer.
	maxTypeLength = 128
)

// errorTypes gives each outcome its error.type, from a bounded set: spans and metrics
// share it, so that they agree.
type errorTypes struct {
	mu   sync.Mutex
	seen map[string]struct{}
}

func newErrorTypes() *errorTypes {
	t := &errorTypes{seen: make(map[string]struct{}, maxTypes)}
	for _, name := range ownTypes() {
		t.seen[name] = struct{}{}
	}
	return t
}

// of returns the error.type of an outcome, "" for one that is no error: a success, and a
// call that the caller canceled.
func (t *errorTypes) of(res hooks.Result) string {
	switch res.Outcome {
	case hooks.Succeeded, hooks.Canceled:
		return ""
	case hooks.Panicked:
		return typePanic
	case hooks.Exited:
		return typeGoexit
	default:
		return t.admit(errorTypeOf(res.Err))
	}
}

// admit returns name if it is one of the first, and _OTHER if it is one too many or does not
// look like a name.
func (t *errorTypes) admit(name string) string {
	if !isName(name) {
		return other
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.seen[name]; ok {
		return name
	}
	if len(t.seen) >= maxTypes {
		return other
	}
	t.seen[name] = struct{}{}
	return name
}

// errorTypeOf is errorType of an error whose methods may panic, such as a nil pointer in
// an error: what is told about a call must not break it.
func errorTypeOf(err error) (name string) {
	defer func() {
		if recover() != nil {
			name = other
		}
	}()
	return errorType(err)
}

// errorType is the cause of a failure in a word: what an error of the tree says of itself,
// else that a context ended, else the error's Go type.
func errorType(err error) string {
	if err == nil {
		return other
	}
	if stopped, ok := errors.AsType[*retry.StoppedError](err); ok {
		// Why a retry stopped is an attribute of its own; the cause is the last failure.
		if named, ok := errors.AsType[typed](err); ok && named != typed(stopped) {
			return named.ErrorType() // of a layer further out: a deadline that ran out
		}
		if errors.Is(stopped.Reason, context.DeadlineExceeded) {
			return typeDeadline
		}
		return errorType(stopped.Err)
	}
	if named, ok := errors.AsType[typed](err); ok {
		if name := named.ErrorType(); name != "" {
			return name
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return typeDeadline
	case errors.Is(err, context.Canceled):
		return typeCanceled
	default:
		return semconv.ErrorType(unmarked(err)).Value.AsString()
	}
}

// unmarked is err without the marks around it that this module makes (retry.Permanent,
// retry.After, stoic.FailIf): a mark is not what went wrong. fmt.Errorf may be in between.
func unmarked(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || !isMark(reflect.TypeOf(err)) {
			return err
		}
		err = inner
	}
}

func isMark(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		return false
	}
	switch t = t.Elem(); t.PkgPath() {
	case "fmt":
		return true
	case reflect.TypeFor[stoic.Pipeline]().PkgPath(), reflect.TypeFor[retry.Retry]().PkgPath():
		return !token.IsExported(t.Name())
	default:
		return false
	}
}

// typed is an error that says what it is.
type typed interface {
	error
	ErrorType() string
}

// isName reports whether s can be the name of a type: no text, no URL.
func isName(s string) bool {
	if s == "" || len(s) > maxTypeLength || s[0] == '/' {
		return false
	}
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		case strings.ContainsRune("_.-~+*/[],", r):
		default:
			return false
		}
	}
	return true
}
