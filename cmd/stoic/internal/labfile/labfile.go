// Package labfile makes scenarios of YAML files: an outage, the stacks that are tried in
// it, and the bounds that must hold.
package labfile

import (
	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
	"github.com/stoic-go/stoic/lab"
)

// File is what a file says.
type File struct {
	Name, About string
	Scenario    lab.Scenario
	Seeds       []uint64
	Stacks      []*stackfile.Stack
	Bounds      []Bound
}

// Load checks a file that holds a scenario. Every error is about a place in it.
func Load(f *source.File) (*File, error) {
	s, err := source.NewSchema(schema.Scenario, schema.Stack)
	if err != nil {
		return nil, err
	}
	if err := s.Check(f); err != nil {
		return nil, err
	}
	n := f.Root
	out := &File{Name: n.Get("name").Text(), About: n.Get("about").Text(), Seeds: seeds(n.Get("seeds"))}
	if out.Scenario, err = scenario(n); err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, item := range n.Get("stacks").Items() {
		stack, err := stackfile.Of(item)
		if err != nil {
			return nil, err
		}
		if names[stack.Name] {
			return nil, item.Get("name").Errorf("there are two stacks with the name %q", stack.Name)
		}
		names[stack.Name] = true
		out.Stacks = append(out.Stacks, stack)
	}
	for _, item := range n.Get("assert").Items() {
		b, err := bound(item, names, len(out.Scenario.Faults) > 0)
		if err != nil {
			return nil, err
		}
		out.Bounds = append(out.Bounds, b)
	}
	return out, nil
}

func seeds(n *source.Node) []uint64 {
	var list []uint64
	for _, item := range n.Items() {
		list = append(list, uint64(item.Float()))
	}
	if list == nil {
		return []uint64{1}
	}
	return list
}

// Stack makes the stack of each process for the lab.
func Stack(s *stackfile.Stack) lab.Stack {
	return func(*lab.Env) *stoic.Pipeline {
		p, err := s.New()
		if err != nil {
			return nil // it was made once before, so this does not happen; the lab says so if it does
		}
		return p
	}
}
