// Package settings collects what is wrong with the options of a policy, so that
// constructors need no error result and stoic.New can report every mistake at once.
package settings

import (
	"errors"

	"github.com/stoic-go/stoic"
)

// Problems are the invalid settings of one policy. The zero value has none.
type Problems struct{ list []problem }

type problem struct {
	setting string
	err     *stoic.InvalidError
}

// Check notes whether setting holds ok. Options of one setting replace each other,
// so a valid one takes back what an earlier one did wrong. field and value are what
// the caller wrote, reason is what must hold.
func (p *Problems) Check(setting string, ok bool, field string, value any, reason string) {
	for i, old := range p.list {
		if old.setting == setting {
			p.list = append(p.list[:i], p.list[i+1:]...)
			break
		}
	}
	if !ok {
		err := &stoic.InvalidError{Field: field, Value: value, Reason: reason}
		p.list = append(p.list, problem{setting: setting, err: err})
	}
}

// Err joins the problems, in the order in which they were made; nil if there are
// none.
func (p *Problems) Err() error {
	errs := make([]error, len(p.list))
	for i, problem := range p.list {
		errs[i] = problem.err
	}
	return errors.Join(errs...)
}
