package deadline

import "github.com/stoic-go/stoic"

// Describe implements stoic.Describer.
func (d *Deadline) Describe() stoic.Description {
	return stoic.Description{
		Kind:   stoic.KindDeadline,
		Params: []stoic.Param{{Name: "limit", Value: d.limit}},
		Allows: d.limit,
	}
}

// Validate implements stoic.Validator.
func (d *Deadline) Validate() error {
	switch {
	case !d.made:
		return &stoic.InvalidError{Field: "Deadline{}", Reason: "must be made by deadline.New"}
	case !d.valid:
		return &stoic.InvalidError{Field: "New", Value: d.limit, Reason: "must be positive; leave the layer out for no limit"}
	default:
		return nil
	}
}
