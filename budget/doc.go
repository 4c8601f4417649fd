// Package budget bounds how much load retries may add.
//
//	option            default
//	Ratio(r)          0.1: one retry for ten requests
//	MinPerSecond(m)   1: what a quiet client may retry all the same
//	Window(d)         10 s
//
// Within the window, retries ≤ ratio · requests + minPerSecond · window in seconds. So
// in a total outage the dependency sees at most 1 + ratio + minPerSecond / rate times
// the load, where a retry of three attempts alone makes it three times.
//
// It is a layer outside a retry, which asks it before each further attempt. Share one
// value among all the stacks of one client to one dependency, made once and never per
// call:
//
//	deadline (total) → budget → retry → breaker → ratelimit → deadline (attempt)
//
// A retry that is refused ends with a *retry.StoppedError that matches [ErrExhausted]
// and the failure.
//
// Source of the model: the retry budgets of Finagle, and "Handling Overload" in the
// book Site Reliability Engineering.
package budget
