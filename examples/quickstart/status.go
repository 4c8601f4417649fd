package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// statusError is a 5xx answer as an error. Its two methods are all that a stack needs
// to know: retry.Transient asks for the status, retry for the wait.
type statusError struct {
	code  int
	after string // the header Retry-After
}

// checkStatus makes an error of a 5xx. Without one a 503 would be a success.
func checkStatus(resp *http.Response) error {
	if resp.StatusCode < http.StatusInternalServerError {
		return nil
	}
	return &statusError{code: resp.StatusCode, after: resp.Header.Get("Retry-After")}
}

func (e *statusError) Error() string {
	if e.after != "" {
		return fmt.Sprintf("status %d (Retry-After: %s)", e.code, e.after)
	}
	return fmt.Sprintf("status %d", e.code)
}

// StatusCode is the HTTP status.
func (e *statusError) StatusCode() int { return e.code }

// RetryAfter is how long the server asks to wait, if it says so in seconds.
func (e *statusError) RetryAfter() (time.Duration, bool) {
	seconds, err := strconv.ParseUint(e.after, 10, 16)
	return time.Duration(seconds) * time.Second, err == nil
}
