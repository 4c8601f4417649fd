// Package ratelimit bounds how often what is inside it is called. The engine is
// golang.org/x/time/rate: a token bucket, full at first.
//
//	option        default
//	Reject()      refuse at once when there is no token
//	Wait(max)     wait for a token, at most max
//
// Inside a retry, every attempt takes a token: use it for the quota of the
// dependency. Outside, a call takes one whatever its retries: use it to protect
// yourself. Put the deadline of each attempt inside the limiter, or waiting for a
// token spends the attempt's time.
//
// # Errors
//
// [ErrLimited], as a *stoic.Rejection: the call was not made. Its RetryAfter is the
// time until a token is there: who waits that long finds it, unless somebody else took
// it. A wait that cannot fit the context's deadline fails at once, takes nothing, and
// matches context.DeadlineExceeded as well. When the context ends during the wait, the
// rejection matches the context's error and cause, and not [ErrLimited]; the token
// goes back as far as x/time can: the last waiter's does, one in the middle does not.
package ratelimit
