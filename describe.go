package stoic

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

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

const (
	// Unlimited is a number of runs without a limit.
	Unlimited = math.MaxInt

	// Forever is a time without a limit.
	Forever = time.Duration(math.MaxInt64)
)

// A Describer is a [Policy] that says what it is, so that [Pipeline.Explain] and
// [Pipeline.Vet] can reason about it. Layers that are no Describer are shown as
// opaque, and the numbers of the stack are lower bounds. Describe is called by New,
// once, and must return the same facts on every call.
//
// A layer of [KindRetry] makes attempts: it must hand [Next.WithAttempt] down for each
// run after the first, and ask [Next.Budget] before it. It may have a method
// Retries(error) bool, which reports whether it would run what is inside again after
// that error: Explain and Vet ask it about the refusals of the layers inside.
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

// Description is what a layer says about itself: facts, not prose. A field that is
// zero says that there is nothing of the kind: a layer that runs what is inside
// once, waits for nothing and never refuses needs only a Kind.
//
// Explain and Vet read these Params, of the kinds that have them. Numbers may have any
// type of number; all are optional, and others are shown only.
//
//	retry      backoff (string): "no jitter" and "constant" come back together
//	budget     ratio, min per second (numbers), window (time.Duration), withdraw only (bool)
//	breaker    consecutive failures; failure rate, min calls, window;
//	           failure rate of last, last calls; open for (time.Duration), probes
//	ratelimit  per second, burst (numbers)
type Description struct {
	Kind   string  // one of the Kind constants, or a word of its own
	Name   string  // its own name where it has one
	Params []Param // its settings, defaults included, in a fixed order

	// MaxRuns is the most times that one call into the layer runs what is inside it;
	// 0 is once, [Unlimited] is without a limit.
	MaxRuns int

	// OnlyFirst says that the layer runs what is inside it once, whatever MaxRuns,
	// when the call is itself a resend of a layer further out (Next.Attempt is above 1).
	OnlyFirst bool

	// Waits is the most that the layer waits by itself before each run: Waits[0] before
	// the first, and the last entry before all further ones.
	Waits []time.Duration

	// MaxHint is the longest wait before a further run that an error may ask for instead
	// of the one in Waits.
	MaxHint time.Duration

	// Allows is the time after which the context of what is inside ends; 0 is no limit.
	Allows time.Duration

	// Refusal is an example of the error with which the layer refuses to run what is
	// inside it; nil if it never refuses.
	Refusal error

	// Opaque says that the layer may do more than the other fields say, as code of the
	// user's may: runs, waits, refusals.
	Opaque bool
}

// MaxWait is the most that the layer waits by itself in one call: the sum of the waits
// before its runs, [Forever] without a limit.
func (d Description) MaxWait() time.Duration {
	var total time.Duration
	listed := min(d.runs(), len(d.Waits))
	for k := range listed {
		total = addTime(total, d.waitBefore(k+1))
	}
	if further := d.runs() - listed; listed > 0 && further > 0 {
		total = addTime(total, mulTime(further, d.waitBefore(d.runs())))
	}
	return total
}

// Param is one setting of a layer.
type Param struct {
	Name  string
	Value any // a number, a time.Duration, a bool or a string
}

// String returns "name value", or the name alone for true.
func (p Param) String() string {
	if p.Value == true {
		return p.Name
	}
	return fmt.Sprintf("%s %v", p.Name, p.Value)
}

// MarshalJSON writes a duration as its text, "1.5s", as it does a number that JSON does
// not have.
func (p Param) MarshalJSON() ([]byte, error) {
	value := p.Value
	switch v := value.(type) {
	case time.Duration:
		value = v.String()
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			value = fmt.Sprint(v)
		}
	}
	return json.Marshal(struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
	}{p.Name, value})
}

// param returns the value of a setting as a T.
func param[T any](d Description, name string) (value T, ok bool) {
	for _, p := range d.Params {
		if p.Name == name {
			value, ok = p.Value.(T)
			return value, ok
		}
	}
	return value, false
}

// number is param for a number of any type.
func number(d Description, name string) (n float64, ok bool) {
	value, _ := param[any](d, name)
	switch v := reflect.ValueOf(value); {
	case value == nil:
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	default:
		return 0, false
	}
}

// runs is MaxRuns with its zero value read.
func (d Description) runs() int { return max(1, d.MaxRuns) }

// waitBefore is the most that the layer waits before run k, from 1.
func (d Description) waitBefore(k int) time.Duration {
	if len(d.Waits) == 0 {
		return 0
	}
	return max(0, d.Waits[min(k, len(d.Waits))-1])
}

func describe(p Policy) Description {
	if d, ok := p.(Describer); ok {
		desc := d.Describe()
		desc.Params, desc.Waits = slices.Clone(desc.Params), slices.Clone(desc.Waits)
		return desc
	}
	return Description{Kind: KindOpaque, Opaque: true}
}
