// Package httpclients compares clients that retry HTTP requests: the bare transport,
// stoichttp, go-retryablehttp and failsafehttp, with the same settings, each used as its
// documentation says.
package httpclients

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"github.com/stoic-go/stoic/stoichttp"
)

// The settings of all.
const (
	maxAttempts = 3
	backoff     = time.Microsecond // go-retryablehttp knows no zero
	inARow      = 10
)

// Contender makes a RoundTripper around a base.
type Contender struct {
	Name    string
	Retries bool
	New     func(base http.RoundTripper) http.RoundTripper
}

// All are the contenders; the first is the bare transport.
func All() []Contender {
	return []Contender{
		{"bare", false, func(base http.RoundTripper) http.RoundTripper { return base }},
		{"stoic, retry", true, func(base http.RoundTripper) http.RoundTripper {
			return stoichttp.NewTransport(base, stoic.MustNew("api", newRetry()))
		}},
		{"stoic, retry and breaker", true, func(base http.RoundTripper) http.RoundTripper {
			return stoichttp.NewTransport(base, stoic.MustNew("api", newRetry(), newBreaker()))
		}},
		{"stoic, full stack", true, func(base http.RoundTripper) http.RoundTripper {
			return stoichttp.NewTransport(base, stoic.MustNew("api",
				deadline.New(time.Minute), budget.New(budget.Ratio(1)), newRetry(), newBreaker(),
				ratelimit.New(1e9, 1e9), deadline.New(30*time.Second)))
		}},
		{"failsafehttp, retry", true, func(base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().
				WithMaxAttempts(maxAttempts).WithDelay(backoff).Build())
		}},
		{"failsafehttp, retry and breaker", true, func(base http.RoundTripper) http.RoundTripper {
			return failsafehttp.NewRoundTripper(base,
				failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(maxAttempts).WithDelay(backoff).Build(),
				circuitbreaker.NewBuilder[*http.Response]().WithFailureThreshold(inARow).Build())
		}},
		{"go-retryablehttp", true, func(base http.RoundTripper) http.RoundTripper {
			c := retryablehttp.NewClient()
			c.HTTPClient.Transport = base
			c.Logger = nil
			c.RetryMax = maxAttempts - 1
			c.RetryWaitMin, c.RetryWaitMax = backoff, backoff
			return c.StandardClient().Transport
		}},
	}
}

func newRetry() *retry.Retry {
	return retry.New(retry.MaxAttempts(maxAttempts), retry.Constant(backoff))
}

func newBreaker() *breaker.Breaker {
	return breaker.New("api", breaker.ConsecutiveFailures(inARow))
}
