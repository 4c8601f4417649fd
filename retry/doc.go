// Package retry runs an operation again when it failed: a bounded number of
// attempts, exponential backoff with jitter, hints from the other side, and a stop
// as soon as another attempt makes no sense.
//
//	option               default
//	MaxAttempts(n)       3, the first call included
//	FullJitter(base, m)  100 ms, 10 s
//	If(f)                everything but cancelled callers and rejections
//	MaxRetryAfter(d)     30 s
//	Sleep, Rand          a timer that stops on cancel; math/rand/v2
//	AllowNested          off
//
// In a stack it stands inside the total deadline and the budget, and outside the
// breaker, the rate limit and the deadline of each attempt:
//
//	deadline (total) → budget → retry → breaker → ratelimit → deadline (attempt)
//
// # After a failed attempt
//
// The questions are asked in this order, and nothing is charged before it must be:
//
//  1. Is the caller's context done? Stop.
//  2. Is the failure worth a retry? If not, stop.
//  3. Was it the last attempt? Stop.
//  4. The delay is computed.
//  5. Would the next attempt start at the deadline or after it? Stop, without a wait.
//  6. Does the budget around the retry refuse? Stop.
//  7. The retry event, the wait, the context once more, and the next attempt.
//
// # What comes back
//
// The last error itself, when the attempts ran out or it was not worth a retry. A
// rejection from further in, when nothing was sent. Otherwise a [*StoppedError]
// that unwraps to the last failure of a call that was sent, and also matches what
// stopped the retry.
//
// # Calls that must not be repeated
//
// A call marked by stoic.WithNonIdempotent that has no idempotency key is sent
// again only when the failure proves that it was not executed: a failed dial, a
// rejection that [If] accepts, or an error marked by [NotExecuted]. A timeout, a
// 429 and a 503 prove nothing. Nor does the error of an http.Client, a *url.Error: a
// connection that it was refused may be that of a redirect, after the request was
// executed. With a client that follows none, mark its failed dials by [NotExecuted].
//
// # Retries inside retries
//
// Retries multiply: four attempts around three are twelve. A retry that runs inside
// a resend of an outer one therefore does not retry, which makes it 4+3−1 = 6, and
// reports a NestedRetry event. [AllowNested] lifts that.
package retry
