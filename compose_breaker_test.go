package stoic_test

// A breaker around another policy: it counts calls, as they look from outside.
var composeBreaker = []composeRow{{
	stack:    "breaker > deadline",
	succeeds: []string{`call( run )ok => nil`},
	fails: []string{
		`call( run )failed => E`,
		`call( run b#1:closed->open )failed => E`,
		composeOpen,
	},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`},
	hangs: []string{
		`call( run @1s deadline#1:1s )failed => ExceededError(DeadlineExceeded ErrExceeded)`,
		`call( run @1s deadline#1:1s b#1:closed->open )failed => ExceededError(DeadlineExceeded ErrExceeded)`,
		composeOpen,
	},
	panics: []string{
		`call( run )panicked => panic`,
		`call( run b#1:closed->open )panicked => panic`,
		composeOpen,
	},
	exits: []string{
		`call( run )exited => exit`,
		`call( run b#1:closed->open )exited => exit`,
		composeOpen,
	},
	cancels: []string{
		`call( run @50ms )canceled => E`,
		`call( run @50ms )canceled => E`,
		`call( run @50ms )canceled => E`,
	},
	expires: []string{
		`call( run @600ms )failed => DeadlineExceeded`,
		`call( run @600ms b#1:closed->open )failed => DeadlineExceeded`,
		composeOpen,
	},
}, {
	// The breaker sees a call once, after all its attempts.
	stack:    "breaker > retry",
	succeeds: []string{`call( 1( run )ok )ok => nil`},
	fails: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( run3 )failed gave_up#3:max_attempts )failed => E`,
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed retry#2+200ms
		@300ms 3( run3 )failed gave_up#3:max_attempts b#1:closed->open )failed => E`,
		composeOpen,
	},
	recovers: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )ok )ok => nil`,
	},
	hangs: []string{
		`call( 1( run @10s )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( run @10s )failed gave_up#1:deadline b#1:closed->open )failed => StoppedError(DeadlineExceeded)`,
		composeOpen,
	},
	panics: []string{
		`call( 1( run )panicked )panicked => panic`,
		`call( 1( run )panicked b#1:closed->open )panicked => panic`,
		composeOpen,
	},
	exits: []string{
		`call( 1( run )exited )exited => exit`,
		`call( 1( run )exited b#1:closed->open )exited => exit`,
		composeOpen,
	},
	cancels: []string{
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
		`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`,
	},
	expires: []string{
		`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`,
		`call( 1( run @600ms )failed gave_up#1:deadline b#1:closed->open )failed => StoppedError(DeadlineExceeded)`,
		composeOpen,
	},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline b#1:closed->open )failed => StoppedError(E DeadlineExceeded)`,
		composeOpen,
	},
}, {
	// What c refuses says nothing to b, which stays closed.
	stack:    "breaker > quick breaker",
	succeeds: []string{`call( run )ok => nil`},
	fails: []string{
		`call( run c#1:closed->open )failed => E`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	recovers: []string{
		`call( run c#1:closed->open )failed => E`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	hangs: []string{
		`call( run @10s c#1:closed->open )failed => DeadlineExceeded`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	panics: []string{
		`call( run c#1:closed->open )panicked => panic`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	exits: []string{
		`call( run c#1:closed->open )exited => exit`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
	cancels: []string{`call( run @50ms )canceled => E`, `call( run @50ms )canceled => E`},
	expires: []string{
		`call( run @600ms c#1:closed->open )failed => DeadlineExceeded`,
		`call( c#1:circuit_open )rejected => Rejection(ErrOpen ErrRejected) after 5s`,
	},
}, {
	// The open breaker refuses first, and no token is taken.
	stack:    "breaker > ratelimit",
	succeeds: []string{`call( run )ok => nil`, `call( run )ok => nil`, composeLimited, composeLimited},
	fails: []string{
		`call( run )failed => E`,
		`call( run b#1:closed->open )failed => E`,
		composeOpen,
	},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`, composeLimited},
	hangs: []string{
		`call( run @10s )failed => DeadlineExceeded`,
		`call( run @10s b#1:closed->open )failed => DeadlineExceeded`,
		composeOpen,
	},
	panics: []string{
		`call( run )panicked => panic`,
		`call( run b#1:closed->open )panicked => panic`,
		composeOpen,
	},
	exits: []string{
		`call( run )exited => exit`,
		`call( run b#1:closed->open )exited => exit`,
		composeOpen,
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
	},
}}
