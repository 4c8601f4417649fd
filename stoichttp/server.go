package stoichttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/stoic-go/stoic"
)

// statusClientClosedRequest is what servers log when the client went away.
const statusClientClosedRequest = 499

// WriteError answers a request whose handling ended with err, an error of a stack. It
// says nothing of what is inside: the text is that of the status.
//
//	a rejection by a rate limit            429
//	any other rejection                    503
//	a retry that a rejection ended         as the rejection
//	a deadline, a layer's or the context's 504
//	a context that was cancelled           499, which nobody sees: the client is gone
//	anything else                          500
//
// An answer to a rejection has Retry-After, in whole seconds rounded up, at least 1, when
// the layer that refused knows the time. A nil err writes nothing. WriteError
// belongs before anything else was written.
func WriteError(w http.ResponseWriter, err error) {
	if err == nil {
		return
	}
	// Through StoppedError.As this also finds the rejection that ended a retry.
	rejection, rejected := errors.AsType[*stoic.Rejection](err)
	code := http.StatusInternalServerError
	switch {
	case rejected && rejection.Policy == stoic.KindRateLimit:
		code = http.StatusTooManyRequests
	case rejected || errors.Is(err, stoic.ErrRejected):
		code = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		code = http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled):
		code = statusClientClosedRequest
	}
	if rejected {
		if after, ok := rejection.RetryAfter(); ok {
			w.Header().Set("Retry-After", wholeSeconds(after))
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	text := http.StatusText(code)
	if code == statusClientClosedRequest {
		text = "Client Closed Request"
	}
	http.Error(w, text, code)
}

// wholeSeconds rounds up. d is positive, so it is at least 1.
func wholeSeconds(d time.Duration) string {
	seconds := d / time.Second
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(int64(seconds), 10)
}
