// Package stoic composes resilience policies into a stack and runs calls through
// it: deadlines, circuit breaker, retry with backoff and jitter, retry budget,
// rate limit. Build one stack per dependency (a payments API, a database, a
// queue) and run every call to that dependency through it.
//
//	payments := stoic.MustNew("payments",
//		deadline.New(2*time.Second),        // the whole call, waits included
//		budget.New(),                       // retries: 10 % of the calls, and one a second
//		retry.New(),                        // three attempts, full jitter
//		breaker.New("payments"),            // sees every attempt
//		ratelimit.New(ratelimit.Per(100, time.Second), 20),
//		deadline.New(500*time.Millisecond), // each attempt
//	)
//	err := payments.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, stoic.IdempotencyKey(ctx), amount)
//	})
//
// The first layer is the outermost. [New] compiles the stack: it checks every
// layer and every order that cannot work, and reports all mistakes in one error.
// A [Pipeline] is immutable and safe for concurrent use; state (a breaker's
// counts, a budget) lives in the policy values, so a value used in two pipelines
// is one breaker, one budget.
//
// # Errors
//
// An error of the operation comes back as it is unless a layer has something to
// add, and then it stays reachable by [errors.Is] and [errors.As]. Every error
// that means "the client refused, and did not call" matches [ErrRejected]; every
// mistake in the construction of a stack matches [ErrInvalid].
//
// # Contexts
//
// A context that is already done does nothing: no call, no token, no count, no
// hook. Deadlines are cooperative: the operation gets a context and is waited
// for, so it must honour that context. Panics and [runtime.Goexit] reach the
// caller unchanged, and leave nothing taken.
//
// # Asking the stack
//
// [Pipeline.Explain] says what each layer does at its place, and the worst case of a
// call in numbers: attempts, time, load in an outage. [Pipeline.Vet] finds orders and
// numbers that are known to hurt; put it into a test beside the stack.
//
// # Observing
//
// [Observe] puts a [hooks.Hook] into the stack; everything inside it reports to
// it. Without one, a stack takes no timestamps and allocates nothing for it.
//
// # Own layers
//
// A [Policy] has one method. [PolicyFunc] makes a layer from a function,
// [Middleware] from existing middleware. What a layer can add by implementing
// more: see [Describer], [Validator] and [Identifier].
package stoic
