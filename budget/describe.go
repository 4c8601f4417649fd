package budget

import "github.com/stoic-go/stoic"

// Describe implements stoic.Describer.
func (b *Budget) Describe() stoic.Description {
	return stoic.Description{
		Kind: stoic.KindBudget,
		Params: []stoic.Param{
			{Name: "ratio", Value: b.ratio},
			{Name: "min per second", Value: b.minPerSecond},
			{Name: "window", Value: b.span},
		},
		Refusal: exhausted(),
	}
}

// Identity implements stoic.Identifier.
func (b *Budget) Identity() any { return b }

// Validate implements stoic.Validator.
func (b *Budget) Validate() error {
	if b.win == nil && b.problems.Err() == nil {
		return &stoic.InvalidError{Field: "Budget{}", Reason: "must be made by budget.New"}
	}
	return b.problems.Err()
}
