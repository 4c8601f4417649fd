package peers

import "github.com/stoic-go/stoic/internal/benchmarks/measure"

// Subject makes the scenario of a contender measurable. The goroutines share the stack.
func (sc Scenario) Subject(name string, run Run, goroutines int) measure.Subject {
	return measure.Subject{
		Name:       sc.Name + ", " + name,
		Goroutines: goroutines,
		Start: func() (calls func(n int) bool, stop func()) {
			ctx, cancel := sc.Parent()
			op := sc.NewOp()
			return func(n int) bool {
				for range n {
					if !sc.OK(run(ctx, op)) {
						return false
					}
				}
				return true
			}, cancel
		},
	}
}
