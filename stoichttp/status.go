package stoichttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StatusError is what the layers of a stack see of a response that is a failure. Ask
// for it in retry.If, in breaker.Judge or in stoic.Benign. The caller of
// [Transport.RoundTrip] mostly gets the response instead; where the context ended the
// call, or the response cannot be read any more, the error that he gets unwraps to it.
type StatusError struct {
	Code int

	after time.Duration
	hint  bool
}

func newStatusError(resp *http.Response) *StatusError {
	e := &StatusError{Code: resp.StatusCode}
	e.after, e.hint = retryAfter(resp.Header, time.Now())
	return e
}

// Error reads like "the server answered 503 Service Unavailable (retry after 3s)".
func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code)))
	if e.hint {
		text += fmt.Sprintf(" (retry after %s)", e.after.Round(time.Millisecond))
	}
	return text
}

// StatusCode is Code.
func (e *StatusError) StatusCode() int { return e.Code }

// RetryAfter is the wait that the response asks for, if it does. It is never negative.
func (e *StatusError) RetryAfter() (time.Duration, bool) { return e.after, e.hint }

// ErrorType is the status code: "503".
func (e *StatusError) ErrorType() string { return strconv.Itoa(e.Code) }
