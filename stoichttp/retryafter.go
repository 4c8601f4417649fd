package stoichttp

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads the Retry-After header: RFC 9110, section 10.2.3. It is a number of
// seconds, or a date in one of the three forms of HTTP; a date in the past is no wait.
// Of two lines the first counts. Anything else is as if it was not there. Numbers beyond
// the largest Duration are that.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.Trim(h.Get("Retry-After"), " \t")
	if value == "" {
		return 0, false
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(math.MaxInt64/time.Second) { // out of range is all that can be wrong
			return math.MaxInt64, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}
