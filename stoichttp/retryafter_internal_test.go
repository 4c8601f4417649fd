package stoichttp

import (
	"context"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/retry"
)

// No value makes a negative wait, one over the cap, or a panic.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "3", "-1", "+3", "1.5", " 3", "soon", "9223372036", "9223372037", "9223372036854775807", "9223372036854775808",
		"99999999999999999999999999999999", "\u0663", "3, 5", "0x10", "1e9",
		now.Add(42 * time.Second).Format(http.TimeFormat), now.Add(-time.Hour).Format(time.ANSIC),
		"Sunday, 06-Nov-94 08:49:37 GMT", "Mon, 01 Jan 0000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon Jan  1 00:00:00 0000",
	} {
		f.Add(seed, int64(0))
		f.Add(seed, int64(math.MaxInt32))
	}
	const limit = 10 * time.Second
	f.Fuzz(func(t *testing.T, value string, offset int64) {
		at := now.Add(time.Duration(offset))
		wait, ok := retryAfter(http.Header{"Retry-After": {value}}, at)
		if wait < 0 || !ok && wait != 0 {
			t.Fatalf("%q: wait %v, %t", value, wait, ok)
		}

		// And through a retry: what it sleeps is the hint, capped, or its own backoff.
		var slept []time.Duration
		sleep := func(_ context.Context, d time.Duration) error {
			slept = append(slept, d)
			return nil
		}
		p := stoic.MustNew("p", retry.New(retry.MaxAttempts(2), retry.MaxRetryAfter(limit), retry.Constant(time.Millisecond), retry.Sleep(sleep)))
		_ = p.Do(context.Background(), func(context.Context) error { // always fails
			return &StatusError{Code: 503, after: wait, hint: ok}
		})
		want := time.Millisecond
		if ok {
			want = min(wait, limit)
		}
		if want == 0 && len(slept) == 0 {
			return
		}
		if len(slept) != 1 || slept[0] != want || slept[0] < 0 || slept[0] > limit {
			t.Fatalf("%q: slept %v, want %v", value, slept, want)
		}
	})
}
