package stoichttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic/retry"
)

// gapWith runs a GET whose first answer has the header, and returns the wait before the
// second attempt; ok is false when there was none.
func gapWith(t *testing.T, code int, header []string, opts ...retry.Option) (gap time.Duration, ok bool) {
	t.Helper()
	base := newFake(func(n int, _ *http.Request) (*http.Response, error) {
		if n == 1 {
			return answer(code, "first", header...), nil
		}
		return answer(200, "second"), nil
	})
	resp, err := transport(t, base, plain(t, retries(2, opts...))).RoundTrip(request(t, "GET", ""))
	times := base.sentAt()
	if len(times) == 1 {
		wantAnswer(t, resp, err, code, "first")
		return 0, false
	}
	wantAnswer(t, resp, err, 200, "second")
	return times[1] - times[0], true
}

func TestC60_EveryFormOfRetryAfter(t *testing.T) {
	const own = 100 * time.Millisecond
	at := func(layout string, d time.Duration) func() []string {
		return func() []string { return []string{"Retry-After", time.Now().UTC().Add(d).Format(layout)} }
	}
	line := func(values ...string) func() []string {
		var header []string
		for _, v := range values {
			header = append(header, "Retry-After", v)
		}
		return func() []string { return header }
	}
	const rfc850 = "Monday, 02-Jan-06 15:04:05 GMT"
	tests := []struct {
		name   string
		header func() []string
		want   time.Duration
	}{
		{"0", line("0"), 0},
		{"3", line("3"), 3 * time.Second},
		{"leading zeros", line("003"), 3 * time.Second},
		{"-1", line("-1"), own},
		{"+3", line("+3"), own},
		{"1.5", line("1.5"), own},
		{"blank 3", line(" 3"), 3 * time.Second},
		{"3 tab", line("3\t"), 3 * time.Second},
		{"empty", line(""), own},
		{"blank", line(" "), own},
		{"soon", line("soon"), own},
		{"3s", line("3s"), own},
		{"1e3", line("1e3"), own},
		{"0x10", line("0x10"), own},
		{"list", line("3, 5"), own},
		{"other digits", line("\u0663"), own},
		{"date", at(http.TimeFormat, 42*time.Second), 42 * time.Second},
		{"RFC 850", at(rfc850, 42*time.Second), 42 * time.Second},
		{"asctime", at(time.ANSIC, 42*time.Second), 42 * time.Second},
		{"date in the past", at(http.TimeFormat, -42*time.Second), 0},
		{"RFC 850 in the past", at(rfc850, -42*time.Second), 0},
		{"asctime in the past", at(time.ANSIC, -42*time.Second), 0},
		{"date now", at(http.TimeFormat, 0), 0},
		{"ISO date", at(time.RFC3339, 42*time.Second), own},
		{"two lines", line("3", "7"), 3 * time.Second},
		{"two lines, the first unknown", line("soon", "7"), own},
		{"no line", line(), own},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, code := range []int{429, 503} {
				synctest.Test(t, func(t *testing.T) {
					got, ok := gapWith(t, code, tt.header(), retry.MaxRetryAfter(time.Minute))
					if !ok || got != tt.want {
						t.Errorf("%d: waited %v (%t), want %v", code, got, ok, tt.want)
					}
				})
			}
			synctest.Test(t, func(t *testing.T) {
				if got, ok := gapWith(t, 200, tt.header()); ok {
					t.Errorf("200: retried after %v", got)
				}
			})
		})
	}
}

func TestC09_SecondsThatOverflowADuration(t *testing.T) {
	for _, value := range []string{
		"9223372036", "9223372037", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 30), "0" + strings.Repeat("9", 30),
	} {
		t.Run(value, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, ok := gapWith(t, 429, []string{"Retry-After", value}, retry.MaxRetryAfter(30*time.Second))
				if !ok || got != 30*time.Second {
					t.Errorf("waited %v (%t), want 30s", got, ok)
				}
			})
		})
	}
}

func TestC59_RetryAfterAboveOurMaximumWaitsTheMaximum(t *testing.T) {
	forms := map[string]func() string{
		"seconds": func() string { return "3600" },
		"date":    func() string { return time.Now().UTC().Add(time.Hour).Format(http.TimeFormat) },
	}
	for name, value := range forms {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, ok := gapWith(t, 429, []string{"Retry-After", value()}, retry.MaxRetryAfter(10*time.Second))
				if !ok || got != 10*time.Second {
					t.Errorf("waited %v (%t), want 10s", got, ok)
				}
			})
		})
		t.Run(name+", caller's deadline 5 s", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := newFake(func(int, *http.Request) (*http.Response, error) {
					return answer(429, "slow down", "Retry-After", value()), nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				tr := transport(t, base, plain(t, retries(2, retry.MaxRetryAfter(10*time.Second))))
				resp, err := tr.RoundTrip(request(t, "GET", "").WithContext(ctx))
				equal(t, "took", time.Since(base.start), 0)
				wantAnswer(t, resp, err, 429, "slow down")
				equal(t, "sent", base.sent(), 1)
			})
		})
	}
}
