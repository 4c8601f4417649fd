// Package breaker stops calling a dependency that fails. The state machine and the
// window are github.com/sony/gobreaker/v2; this package closes its traps.
//
//	option                                default
//	FailureRate(ratio, minCalls, window)  0.5 of at least 50 calls in 10 s
//	ConsecutiveFailures(n)                10 in a row
//	FailureRateOfLast(ratio, calls)       off
//	OpenFor(d)                            5 s
//	Probes(n)                             1
//	ProbeTimeout(d)                       30 s
//	SlowCall(d)                           off
//	Judge(f)                              what stoic.VerdictOf calls a failure is one
//
// Closed, it lets every call through and counts. It opens when one of its rules says
// so, and refuses every call for OpenFor. Then it is half-open: it admits Probes
// calls; when all succeed it closes, and the first failure opens it again.
//
// Setting one of the rules switches the defaults of the others off; setting none gives
// FailureRate and ConsecutiveFailures. Fewer than about 50 calls, or 5 in a row, trip
// on the noise of a 30 % error rate.
//
// # Inside or outside a retry
//
// Inside, which is the usual place, it sees every attempt, and stops the retry as soon
// as it opens. Outside, it counts a failed call once, after all its attempts. It needs
// a deadline inside it, or it learns of a dependency that hangs only when the caller
// gives up:
//
//	deadline (total) → budget → retry → breaker → ratelimit → deadline (attempt)
//
// # What counts
//
// The verdict of stoic.VerdictOf: deadlines are failures, whoever set them; a caller
// who cancelled, and a layer further in that refused, count as nothing. A panic, a
// Goexit and a panic in Judge are failures. The result of a call that was admitted
// in an earlier state is ignored.
//
// # Errors
//
// [ErrOpen], as a *stoic.Rejection with the time until half-open. gobreaker's own
// ErrOpenState and ErrTooManyRequests match too.
package breaker
