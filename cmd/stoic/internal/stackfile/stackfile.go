// Package stackfile makes stacks of YAML files.
package stackfile

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
)

// Stack is a stack as a file describes it. It makes any number of pipelines, each with a
// state of its own.
type Stack struct {
	Name string
	node *source.Node
}

// Load checks a file that holds a stack and nothing else. Every error is about a place in
// it.
func Load(f *source.File) (*Stack, error) {
	s, err := source.NewSchema(schema.Stack)
	if err != nil {
		return nil, err
	}
	if err := s.Check(f); err != nil {
		return nil, err
	}
	return Of(f.Root)
}

// Of takes a value that the schema has accepted as a stack, and makes it once to see
// whether stoic.New does.
func Of(n *source.Node) (*Stack, error) {
	s := &Stack{Name: n.Get("name").Text(), node: n}
	_, err := s.New()
	return s, err
}

// New makes the pipeline. What stoic.New refuses comes back as errors about places in the
// file, joined.
func (s *Stack) New() (*stoic.Pipeline, error) {
	return build(s.node)
}

// Layer is the item of the list of layers that describes that layer, counted from 1,
// outermost first, nested stacks flattened, as stoic counts them. Without such a layer it
// is the whole stack.
func (s *Stack) Layer(number int) *source.Node {
	layers := flat(s.node)
	if number < 1 || number > len(layers) {
		return s.node
	}
	return layers[number-1]
}

// flat are the layers of a stack and of those nested in it.
func flat(n *source.Node) []*source.Node {
	var all []*source.Node
	for _, item := range n.Get("layers").Items() {
		if kind, options := item.Only(); kind == "stack" {
			all = append(all, flat(options)...)
			continue
		}
		all = append(all, item)
	}
	return all
}

func build(n *source.Node) (*stoic.Pipeline, error) {
	var (
		policies []stoic.Policy
		errs     []error
	)
	for _, item := range n.Get("layers").Items() {
		kind, options := item.Only()
		var (
			p   stoic.Policy
			err error
		)
		if kind == "stack" {
			p, err = build(options)
		} else {
			p, err = policy(kind, options)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		policies = append(policies, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	p, err := stoic.New(n.Get("name").Text(), policies...)
	if err != nil {
		return nil, placed(err, n)
	}
	return p, nil
}

// placed says for each mistake that stoic.New found where it stands in the file.
func placed(err error, stack *source.Node) error {
	layers := flat(stack)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return stack.Errorf("%v", err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		invalid, ok := errors.AsType[*stoic.InvalidError](e)
		if !ok || invalid.Layer < 1 || invalid.Layer > len(layers) {
			errs = append(errs, stack.Errorf("%v", e))
			continue
		}
		item := layers[invalid.Layer-1]
		_, at := item.Only()
		whole := at.IsMapping()
		if option := at.Get(snake(invalid.Field)); option != nil {
			at, whole = option, false
		}
		reason := invalid.Reason
		if invalid.Value != nil {
			reason = fmt.Sprintf("got %v: %s", invalid.Value, reason)
		}
		wrong := at.Errorf("%s", reason)
		if whole { // the name of the layer is easier to find than its options
			wrong.Line, wrong.Column = item.Line, item.Column
		}
		errs = append(errs, wrong)
	}
	return errors.Join(errs...)
}

// snake is the name of an option in a file: max_attempts for MaxAttempts.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
