package stoic_test

// A rate limit around another policy: each call takes one token, whatever it does.
var composeRateLimit = []composeRow{{
	stack:    "ratelimit > deadline",
	succeeds: []string{`call( run )ok => nil`, `call( run )ok => nil`, composeLimited},
	fails:    []string{`call( run )failed => E`, `call( run )failed => E`, composeLimited},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`, composeLimited},
	hangs:    []string{`call( run @1s deadline#1:1s )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
	panics:   []string{`call( run )panicked => panic`, `call( run )panicked => panic`, composeLimited},
	exits:    []string{`call( run )exited => exit`, `call( run )exited => exit`, composeLimited},
	cancels: []string{
		`call( run @50ms )canceled => E`,
		`call( run @50ms )canceled => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	expires: []string{`call( run @600ms )failed => DeadlineExceeded`},
}, {
	// Retries are free.
	stack:    "ratelimit > retry",
	succeeds: []string{`call( 1( run )ok )ok => nil`, `call( 1( run )ok )ok => nil`, composeLimited},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( run3 )failed gave_up#3:max_attempts )failed => E`,
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( run3 )failed gave_up#3:max_attempts )failed => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 400ms`,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
		`call( 1( run )ok )ok => nil`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	hangs:  []string{`call( 1( run @10s )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	panics: []string{`call( 1( run )panicked )panicked => panic`, `call( 1( run )panicked )panicked => panic`, composeLimited},
	exits:  []string{`call( 1( run )exited )exited => exit`, `call( 1( run )exited )exited => exit`, composeLimited},
	cancels: []string{
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	expires: []string{`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 800ms`,
	},
}, {
	// The limiter refuses first, if it has no token; a call that the open breaker
	// refuses has taken one.
	stack:    "ratelimit > breaker",
	succeeds: []string{`call( run )ok => nil`, `call( run )ok => nil`, composeLimited},
	fails: []string{
		`call( run )failed => E`,
		`call( run b#1:closed->open )failed => E`,
		composeLimited,
	},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`, composeLimited},
	hangs: []string{
		`call( run @10s )failed => DeadlineExceeded`,
		`call( run @10s b#1:closed->open )failed => DeadlineExceeded`,
		composeOpen,
		composeOpen,
		composeLimited,
	},
	panics: []string{
		`call( run )panicked => panic`,
		`call( run b#1:closed->open )panicked => panic`,
		composeLimited,
	},
	exits: []string{
		`call( run )exited => exit`,
		`call( run b#1:closed->open )exited => exit`,
		composeLimited,
	},
	cancels: []string{
		`call( run @50ms )canceled => E`,
		`call( run @50ms )canceled => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 900ms`,
	},
	expires: []string{
		`call( run @600ms )failed => DeadlineExceeded`,
		`call( run @600ms b#1:closed->open )failed => DeadlineExceeded`,
		composeOpen,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 800ms`,
	},
}, {
	// The inner limit of one in 2 s refuses the second call, which has taken a token
	// of the outer one.
	stack: "ratelimit > small ratelimit",
	succeeds: []string{
		`call( run )ok => nil`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 2s`,
		composeLimited,
	},
	fails: []string{
		`call( run )failed => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 2s`,
		composeLimited,
	},
	recovers: []string{
		`call( run )failed => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 2s`,
		composeLimited,
	},
	hangs: []string{
		`call( run @10s )failed => DeadlineExceeded`,
		`call( run @10s )failed => DeadlineExceeded`,
	},
	panics: []string{
		`call( run )panicked => panic`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 2s`,
		composeLimited,
	},
	exits: []string{
		`call( run )exited => exit`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 2s`,
		composeLimited,
	},
	cancels: []string{
		`call( run @50ms )canceled => E`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 1.95s`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 950ms`,
	},
	expires: []string{
		`call( run @600ms )failed => DeadlineExceeded`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 1.4s`,
		`call( ratelimit#1:rate_limited )rejected => Rejection(ErrLimited ErrRejected) after 400ms`,
	},
}}
