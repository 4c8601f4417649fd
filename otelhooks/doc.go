// Package otelhooks sends what stacks do to OpenTelemetry: a span for each call and for
// each attempt, and metrics. Put a [Hook] outermost:
//
//	hook, err := otelhooks.New()
//	…
//	stack, err := stoic.New("payments", stoic.Observe(hook), …)
//
// It needs the OpenTelemetry API only; the program chooses an SDK and its exporters. The
// names are in docs/telemetry.md, with queries for the questions that they answer.
//
// # Spans
//
// A call is an internal span named like the operation (stoic.WithOperation, else the
// pipeline). Each attempt of a retry is an internal span below it, "attempt " and the
// operation; what the Func does is below the attempt. A stack without a retry has no
// attempt spans.
//
// The status is Error on an attempt that failed, and on a call that failed in the end; a
// call that a later attempt saved is no error, nor is one that its caller canceled. It is
// never Ok. A failed attempt's span is handed to the exporter when the retry has judged
// the failure, with the time at which the attempt ended.
//
// A change of a breaker's state is the only span event, on the span of the call that
// caused it. There are no links, and no exceptions.
//
// # Metrics
//
//	stoic.call.duration      histogram, s            calls, with retries and waits
//	stoic.call.attempts      histogram, {attempt}    attempts sent for a call
//	stoic.attempt.duration   histogram, s            attempts of retries
//	stoic.policy.rejections  counter, {rejection}    what policies refused to send
//	stoic.breaker.status     updowncounter, 1        1 for the state of each breaker, 0 else
//
// and with [WithDetailedMetrics]
//
//	stoic.breaker.transitions       counter, {transition}
//	stoic.retry.delay               histogram, s
//	stoic.rate_limit.wait.duration  histogram, s
//	stoic.budget.utilization        gauge, 1    read from the budget at each collection
//
// The status of a breaker is the one that the events told last. An open breaker that gets
// no calls stays open there, since its next call is what makes it half-open. Breakers
// that a layer of yours chooses at call time are known from their first change, and in one
// pipeline those of one name share a status.
//
// # Values of error.type
//
// The same value is on the span and on the metrics of one outcome. stoic's own values are
//
//	circuit_open        a breaker was open
//	half_open_limit     a half-open breaker's probes were taken
//	rate_limited        a limiter had no token
//	deadline_too_short  a limiter's token would come after the deadline
//	deadline_exceeded   a deadline ran out, whoever set it, or left no time for another attempt
//	canceled            something was canceled, but not by the caller
//	panic, goexit       the operation did not return
//	invalid             a stack or a call that cannot work
//	budget_exhausted    where the budget's rejection itself is the error
//	_OTHER              everything past 32 different values, and what is no name
//
// Any other error is what its ErrorType() string method says, or its Go type. For a retry
// that stopped it is the type of the last failure, or deadline_exceeded where a deadline
// was the reason; why it stopped is the attribute stoic.retry.stop_reason.
package otelhooks
