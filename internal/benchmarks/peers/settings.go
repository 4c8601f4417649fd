package peers

import (
	"context"
	"errors"
	"time"

	"github.com/stoic-go/stoic"
)

// Op is what runs under a stack.
type Op = stoic.Func

// Run runs op once under a stack that was built before. Safe for concurrent use.
type Run func(ctx context.Context, op Op) error

// Settings are the same for every contender, as far as it has them.
type Settings struct {
	// Attempts counts the first call.
	Attempts int

	// Base and Max bound the exponential backoff, with full jitter where there is such a
	// thing. A zero Base is a retry at once, without a wait.
	Base, Max time.Duration

	// InARow is how many failures in a row open the breaker; OpenFor how long it stays
	// open. Where a breaker can have a second rule, it is Rate of at least MinCalls in
	// Window. One success in half-open closes it.
	InARow   int
	OpenFor  time.Duration
	Rate     float64
	MinCalls int
	Window   time.Duration

	// The limiter allows Limit in Per, and as many at once.
	Limit int
	Per   time.Duration

	// Total bounds the whole call, Each one attempt.
	Total, Each time.Duration

	// Retries to first calls that the budget allows in Window, and Spare besides.
	Ratio float64
	Spare int

	// Listen is called by whatever the contender offers to hear of retries and state
	// changes. With nil, nobody listens.
	Listen func()
}

// Defaults are the settings that are measured. Nothing of them is reached: calls
// succeed, tokens are never used up. The limit is the largest that every limiter takes.
func Defaults() Settings {
	return Settings{
		Attempts: 3,
		Base:     100 * time.Millisecond,
		Max:      10 * time.Second,
		InARow:   10,
		OpenFor:  5 * time.Second,
		Rate:     0.5,
		MinCalls: 50,
		Window:   10 * time.Second,
		Limit:    1_000_000,
		Per:      time.Millisecond,
		Total:    2 * time.Second,
		Each:     500 * time.Millisecond,
		Ratio:    0.1,
		Spare:    10,
	}
}

// perSecond is the limit as x/time/rate takes it.
func (s Settings) perSecond() float64 { return float64(s.Limit) / s.Per.Seconds() }

// ErrLimited is what the hand-written code returns when there is no token.
var ErrLimited = errors.New("rate limited")
