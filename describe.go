package stoic

// The kinds of layers that reasoning about a stack knows. A third-party layer
// that behaves like one of them uses its kind; others choose their own word.
const (
	KindRetry      = "retry"      // runs what is inside more than once; each run is an attempt
	KindBudget     = "budget"     // limits the retries inside it
	KindBreaker    = "breaker"    // refuses while the dependency is failing
	KindRateLimit  = "ratelimit"  // refuses or waits above a rate
	KindDeadline   = "deadline"   // bounds the time of what is inside
	KindObserve    = "observe"    // reports to a hook
	KindBenign     = "benign"     // marks errors as answers
	KindFunc       = "func"       // made by PolicyFunc
	KindMiddleware = "middleware" // made by Middleware
	KindOpaque     = "opaque"     // does not describe itself
)

// A Describer is a [Policy] that says what it is. Layers that do not are shown as
// opaque. Describe must return the same facts on every call.
type Describer interface {
	Policy
	Describe() Description
}

// A Validator is a [Policy] that checks its own configuration. [New] calls it and
// reports what it returns: one [*InvalidError] with Field, Value and Reason set, or
// several joined by [errors.Join]. Constructors thus need no error result and nest
// in the call to New.
type Validator interface {
	Policy
	Validate() error
}

// An Identifier is a [Policy] with state. Two layers of one stack whose identities
// are equal are the same state twice, which [New] refuses: one call would count
// twice. Identity must return a comparable value, usually a pointer.
type Identifier interface {
	Policy
	Identity() any
}

// Description is what a layer says about itself: facts, not prose.
type Description struct {
	Kind   string  // one of the Kind constants, or a word of its own
	Name   string  // its own name where it has one
	Params []Param // its settings, defaults included, in a fixed order
}

// Param is one setting of a layer.
type Param struct {
	Name  string
	Value any // a number, a time.Duration, a bool or a string
}

func describe(p Policy) Description {
	if d, ok := p.(Describer); ok {
		return d.Describe()
	}
	return Description{Kind: KindOpaque}
}
