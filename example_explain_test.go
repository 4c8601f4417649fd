package stoic_test

import (
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/retry"
)

func ExamplePipeline_Explain() {
	p := stoic.MustNew("payments",
		deadline.New(2*time.Second),
		budget.New(),
		retry.New(),
		breaker.New("payments"),
		deadline.New(500*time.Millisecond),
	)
	fmt.Print(p.Explain())
	// Output:
	// payments: 5 layers, outermost first
	//   1 deadline
	//     Ends the whole call after 2s, retries and waits included; no attempt starts later.
	//   2 budget
	//     Grants a retry for each 10 requests, and 1 a second whatever the requests, over 10s.
	//   3 retry
	//     Makes up to 3 attempts, waiting up to 100ms, 200ms between them (full jitter).
	//   4 breaker "payments"
	//     Sees every attempt, and opening ends the retry: in a total outage it opens after 10 attempts
	//     (50 % of at least 50 in 10s, or 10 in a row), that is at least 4 calls; it refuses for 5s,
	//     and then 1 probe of 1 attempt.
	//   5 deadline
	//     Ends each attempt after 500ms, which is a failure for the layers outside.
	// worst case of one call
	//     attempts  3
	//     time      1.8s; without the deadlines, 3 × the operation and 300ms of waiting
	//     hints     2s, if errors ask for longer waits (RetryAfter)
	// load per call in a total outage, before a breaker opens or a limit refuses
	//     3 without a budget; 1 + min(2, 0.1 + 1/r) at r calls a second
	//     1.2 at 10 calls/s, 1.11 at 100 calls/s, 1.101 at 1000 calls/s
}

func ExamplePipeline_Vet() {
	p := stoic.MustNew("payments",
		deadline.New(2*time.Second),
		retry.New(retry.Constant(time.Second)),
	)
	for _, f := range p.Vet(stoic.CodeDeadlineTotalOnly) {
		fmt.Println(f.Code)
		fmt.Println("  why:", f.Reason)
		fmt.Println("  fix:", f.Fix)
	}
	// Output:
	// backoff-exceeds-deadline
	//   why: the waits alone can pass the deadline of 2s: attempt 3 may not happen even if each one before fails at once.
	//   fix: make fewer attempts, wait less, or allow more time.
	// retry-without-budget
	//   why: in a total outage it sends 3 times the load.
	//   fix: put a budget around it, shared by all stacks of this client to this dependency.
	// retry-without-jitter
	//   why: clients that fail together wait the same time and come back together.
	//   fix: use FullJitter.
}
