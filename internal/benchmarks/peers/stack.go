package peers

// A Stack is a set of policies that every contender nests in the same order, where it
// has them: deadline of the call, budget, retry, breaker, limiter, deadline of the
// attempt, operation.
type Stack string

// The stacks that are compared.
const (
	Empty    Stack = "empty"
	Retry    Stack = "retry"
	Breaker  Stack = "breaker"
	Limiter  Stack = "limiter"
	Deadline Stack = "deadline" // Total, alone
	Three    Stack = "three"    // deadline of the call, retry, breaker
	Four     Stack = "four"     // budget, retry, breaker, limiter
	Full     Stack = "full"     // all six
)

// Stacks lists all, in the order of the table.
func Stacks() []Stack {
	return []Stack{Empty, Retry, Breaker, Limiter, Deadline, Three, Four, Full}
}

// Retries reports whether the stack has a retry.
func (s Stack) Retries() bool { return s == Retry || s == Three || s == Four || s == Full }

// Breaks reports whether the stack has a breaker.
func (s Stack) Breaks() bool { return s == Breaker || s == Three || s == Four || s == Full }

// Limits reports whether the stack has a limiter.
func (s Stack) Limits() bool { return s == Limiter || s == Four || s == Full }

// Ends reports whether the stack bounds the time of the call.
func (s Stack) Ends() bool { return s == Deadline || s == Three || s == Full }

// Budgets reports whether the stack has a retry budget.
func (s Stack) Budgets() bool { return s == Four || s == Full }
