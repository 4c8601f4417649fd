// Package peers has the contenders: stoic, the same parts wired by hand, and other
// libraries, each in a file of its own and used as its own documentation says.
// Policies are built once, outside the call, unless the library wants one per call.
package peers

// A Contender is one way to write the stacks.
type Contender struct {
	// Name is how the tables call it.
	Name string

	// Modules are those that it is made of.
	Modules []string

	// Build makes a stack. It returns nil if the contender does not have it, or with a
	// Listen that nobody would call.
	Build func(stack Stack, s Settings) Run

	// NoDeadline says that its context ends in time, but has no Deadline.
	NoDeadline bool

	// WaitsForTokens says that in a stack its limiter waits for a token where the others
	// refuse.
	WaitsForTokens bool

	// NoBudget says that it has no retry budget, so that Four and Full lack one.
	NoBudget bool
}

// Names of contenders that the bounds refer to.
const (
	Stoic    = "stoic"
	ByHand   = "by hand"
	Failsafe = "failsafe-go"
)

// All lists the contenders, stoic first.
func All() []Contender {
	return []Contender{
		stoicContender(),
		byHandContender(),
		cenkaltiContender(),
		avastContender(),
		sethvargoContender(),
		failsafeContender(),
		fortifyContender(),
		eapacheContender(),
	}
}
