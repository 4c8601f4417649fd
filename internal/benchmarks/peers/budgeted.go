package peers

import "context"

// budgeted puts the budget around an attempt, for libraries of retries that cannot
// ask one. A retry that it refuses is not made, and is not worth another one.
func (h *byHand) budgeted(attempt Op) Op {
	h.budget.request()
	first, last := true, error(nil)
	return func(ctx context.Context) error {
		if !first && !h.budget.retry() {
			return &refusedError{last}
		}
		first = false
		last = attempt(ctx)
		return last
	}
}

// refusedError is the last error of a call whose retry the budget refused.
type refusedError struct{ last error }

func (e *refusedError) Error() string { return "retry budget spent: " + e.last.Error() }
func (e *refusedError) Unwrap() error { return e.last }
