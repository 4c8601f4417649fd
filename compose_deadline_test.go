package stoic_test

// A deadline around another policy: it bounds everything inside it.
var composeDeadline = []composeRow{{
	stack:    "deadline > short deadline",
	succeeds: []string{`call( run )ok => nil`},
	fails:    []string{`call( run )failed => E`},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`},
	hangs:    []string{`call( run @400ms deadline#1:400ms )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
	panics:   []string{`call( run )panicked => panic`},
	exits:    []string{`call( run )exited => exit`},
	cancels:  []string{`call( run @50ms )canceled => E`},
	expires:  []string{`call( run @400ms deadline#1:400ms )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
}, {
	// The inner one never lengthens the outer, and keeps silent: it was not its time.
	stack:    "short deadline > deadline",
	succeeds: []string{`call( run )ok => nil`},
	fails:    []string{`call( run )failed => E`},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`},
	hangs:    []string{`call( run @400ms deadline#1:400ms )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
	panics:   []string{`call( run )panicked => panic`},
	exits:    []string{`call( run )exited => exit`},
	cancels:  []string{`call( run @50ms )canceled => E`},
	expires:  []string{`call( run @400ms deadline#1:400ms )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
}, {
	stack:    "deadline > retry",
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
	// The first attempt eats the whole call.
	hangs:   []string{`call( 1( run @1s )failed gave_up#1:deadline deadline#1:1s )failed => ExceededError(DeadlineExceeded ErrExceeded)`},
	panics:  []string{`call( 1( run )panicked )panicked => panic`},
	exits:   []string{`call( 1( run )exited )exited => exit`},
	cancels: []string{`call( 1( run @50ms )canceled gave_up#1:canceled )canceled => StoppedError(E Canceled Cause)`},
	expires: []string{`call( 1( run @600ms )failed gave_up#1:deadline )failed => StoppedError(DeadlineExceeded)`},
	hurries: []string{
		`call( 1( run )failed retry#1+100ms
		@100ms 2( run2 )failed gave_up#2:deadline )failed => StoppedError(E DeadlineExceeded)`,
	},
}, {
	stack:    "deadline > breaker",
	succeeds: []string{`call( run )ok => nil`},
	fails: []string{
		`call( run )failed => E`,
		`call( run b#1:closed->open )failed => E`,
		composeOpen,
	},
	recovers: []string{`call( run )failed => E`, `call( run )ok => nil`},
	// A dependency that hangs opens the breaker, before the deadline has its say.
	hangs: []string{
		`call( run @1s deadline#1:1s )failed => ExceededError(DeadlineExceeded ErrExceeded)`,
		`call( run @1s b#1:closed->open deadline#1:1s )failed => ExceededError(DeadlineExceeded ErrExceeded)`,
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
	// The deadline of the caller counts as much.
	expires: []string{
		`call( run @600ms )failed => DeadlineExceeded`,
		`call( run @600ms b#1:closed->open )failed => DeadlineExceeded`,
		composeOpen,
	},
}, {
	stack:    "deadline > ratelimit",
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
}}
