package stoic_test

// A budget around a retry: of all calls together, one retry in 10 s.
var composeBudget = []composeRow{{
	stack:    "budget > retry",
	succeeds: []string{`call( 1( run )ok )ok => nil`},
	// It is asked before the wait, and does not count first attempts.
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed budget#2:budget_exhausted gave_up#2:budget_exhausted )failed => StoppedError(E ErrExhausted)`,
		`call( 1( run )failed budget#1:budget_exhausted gave_up#1:budget_exhausted )failed => StoppedError(E ErrExhausted)`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
	},
	hangs:   []string{`call( 1( run @10s )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	panics:  []string{`call( 1( run )panicked )panicked => panic`},
	exits:   []string{`call( 1( run )exited )exited => exit`},
	cancels: []string{`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`},
	expires: []string{`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	// The deadline is asked before the budget.
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}}

// A retry around another policy: each attempt goes through it.
var composeRetry = []composeRow{{
	stack:    "retry > deadline",
	succeeds: []string{`call( 1( run )ok )ok => nil`},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( run3 )failed gave_up#3:max_attempts )failed => E`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
	},
	// Each attempt has its second, and the call takes three and the waits.
	hangs: []string{
		`call( 1( run
		@1s deadline#1:1s )failed retry#1+100ms
		@1.1s 2( run2
		@2.1s deadline#2:1s )failed retry#2+200ms
		@2.3s 3( run3
		@3.3s deadline#3:1s )failed gave_up#3:max_attempts )failed => ExceededError(DeadlineExceeded ErrExceeded)`,
	},
	panics:  []string{`call( 1( run )panicked )panicked => panic`},
	exits:   []string{`call( 1( run )exited )exited => exit`},
	cancels: []string{`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`},
	expires: []string{`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}, {
	// 3 around 2 are 4: inside a resend the inner one does not retry.
	stack:    "retry > short retry",
	succeeds: []string{`call( 1( 1( run )ok )ok )ok => nil`},
	fails: []string{
		`call( 1( 1( run )failed retry#1+50ms
		@50ms 2( run2 )failed gave_up#2:max_attempts )failed retry#1+100ms
		@150ms 2( 2( run2 )failed nested#2 )failed retry#2+200ms
		@350ms 3( 3( run3 )failed nested#3 )failed gave_up#3:max_attempts )failed => E`,
	},
	recovers: []string{
		`call( 1( 1( run )failed retry#1+50ms
		@50ms 2( run2 )ok )ok )ok => nil`,
	},
	hangs: []string{
		`call( 1( 1( run @10s )failed gave_up#1:deadline )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
	},
	panics: []string{`call( 1( 1( run )panicked )panicked )panicked => panic`},
	exits:  []string{`call( 1( 1( run )exited )exited )exited => exit`},
	cancels: []string{
		`call( 1( 1( run @50ms )canceled gave_up#1:canceled )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
	},
	expires: []string{
		`call( 1( 1( run @600ms )failed gave_up#1:deadline )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
	},
	hurries: []string{
		`call( 1( 1( run )failed retry#1+50ms
		@50ms 2( run2 )failed gave_up#2:max_attempts )failed retry#1+100ms
		@150ms 2( 2( run2 )failed nested#2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}, {
	// The breaker sees each attempt.
	stack:    "retry > breaker",
	succeeds: []string{`call( 1( run )ok )ok => nil`},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed retry#2+200ms
		@300ms 3( b#3:circuit_open )rejected gave_up#3:rejected )failed => StoppedError(E ErrOpen)`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 4.8s`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
	},
	// Without a deadline inside, it learns of a hang when the caller gives up.
	hangs: []string{
		`call( 1( run @10s )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( run @10s b#1:closed->open )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	panics: []string{
		`call( 1( run )panicked )panicked => panic`,
		`call( 1( run b#1:closed->open )panicked )panicked => panic`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	exits: []string{
		`call( 1( run )exited )exited => exit`,
		`call( 1( run b#1:closed->open )exited )exited => exit`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	cancels: []string{
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
	},
	expires: []string{
		`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( run @600ms b#1:closed->open )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}, {
	// Each attempt takes a token. One that is refused is not tried again.
	stack: "retry > ratelimit",
	succeeds: []string{
		`call( 1( run )ok )ok => nil`,
		`call( 1( run )ok )ok => nil`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 1s`,
	},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( ratelimit#3:rate_limited )rejected gave_up#3:rejected )failed => StoppedError(E ErrLimited)`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 700ms`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	hangs: []string{`call( 1( run @10s )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	panics: []string{
		`call( 1( run )panicked )panicked => panic`,
		`call( 1( run )panicked )panicked => panic`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 1s`,
	},
	exits: []string{
		`call( 1( run )exited )exited => exit`,
		`call( 1( run )exited )exited => exit`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 1s`,
	},
	cancels: []string{
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	expires: []string{`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}}
