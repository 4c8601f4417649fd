package stoic_test

// The calls that a stack refuses at once.
const (
	composeOpen    = "call( b#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s"
	composeLimited = "call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 1s"
)

// The recommended stack: deadline (total), budget, retry, breaker, rate limit,
// deadline (attempt). The trace is that of the Observe layer around it.
var composeFull = []composeRow{{
	stack: "deadline > large budget > retry > breaker > ratelimit > short deadline",
	succeeds: []string{
		`call( 1( run )ok )ok => nil`,
		`call( 1( run )ok )ok => nil`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 1s`,
	},
	// The breaker opens in the middle of a call, and the retry ends at it.
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed retry#2+200ms
		@300ms 3( b#3:circuit_open )rejected gave_up#3:rejected )failed => StoppedError(E ErrOpen)`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 4.8s`,
	},
	// Each attempt takes a token.
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	// The third attempt would begin after the total deadline: not before the wait, but now.
	hangs: []string{
		`call( 1( run
		@400ms deadline#1:400ms )failed retry#1+100ms
		@500ms 2( run2
		@900ms deadline#2:400ms b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(DeadlineExceeded ErrExceeded)`,
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
	// A cancel says nothing about the dependency, but the token is spent.
	cancels: []string{
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( ratelimit#1:rate_limited )rejected gave_up#1:rejected )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	// The second attempt ends by the deadline of the caller, which is nobody's ErrExceeded.
	expires: []string{
		`call( 1( run
		@400ms deadline#1:400ms )failed retry#1+100ms
		@500ms 2( run2
		@600ms b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(DeadlineExceeded)`,
	},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}, {
	// With one retry in 10 s, the budget ends the call before the open breaker does.
	stack:    "deadline > budget > retry > breaker > ratelimit > short deadline",
	succeeds: []string{`call( 1( run )ok )ok => nil`},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed budget#2:budget_exhausted gave_up#2:budget_exhausted )failed => StoppedError(E ErrExhausted)`,
		`call( 1( b#1:circuit_open )rejected gave_up#1:rejected )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
	},
	hangs: []string{
		`call( 1( run
		@400ms deadline#1:400ms )failed retry#1+100ms
		@500ms 2( run2
		@900ms deadline#2:400ms b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(DeadlineExceeded ErrExceeded)`,
	},
	panics:  []string{`call( 1( run )panicked )panicked => panic`},
	exits:   []string{`call( 1( run )exited )exited => exit`},
	cancels: []string{`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`},
	expires: []string{
		`call( 1( run
		@400ms deadline#1:400ms )failed retry#1+100ms
		@500ms 2( run2
		@600ms b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(DeadlineExceeded)`,
	},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 b#2:closed->open )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}}
