package stoic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/stoic-go/stoic/hooks"
)

// Ticket is a retry that a [Budget] granted. It means something to that budget
// only: hand it back to Refund, or forget it.
type Ticket int64

// A Budget is a [Policy] that limits the retries inside it. Reserve grants one
// retry, or returns the budget's rejection; Refund gives back a granted retry that
// was not sent: the wait before it was cut short, or a layer further in refused it.
// Once the layers inside were entered and panic, it counts as sent. Both are safe for
// concurrent use and never block for long.
type Budget interface {
	Policy
	Reserve() (Ticket, error)
	Refund(t Ticket)
}

// layer is one entry of a flattened stack.
type layer struct {
	policy Policy
	desc   Description
	within string // the nested pipeline that it came from, or ""
	spins  bool   // it runs what is inside again after a refusal; see Pipeline.stack
}

func (l layer) label() string {
	s := l.desc.Kind
	if s == KindOpaque {
		s = fmt.Sprintf("%T", l.policy)
	}
	if l.desc.Name != "" {
		s += fmt.Sprintf(" %q", l.desc.Name)
	}
	if l.within != "" {
		s += " of " + printable(l.within)
	}
	return s
}

// printable is name, quoted if it would break a line or be misread.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		return quoted
	}
	return name
}

// New makes a pipeline of layers, outermost first. The name is that of the
// dependency; errors and telemetry carry it. Zero layers call the Func once.
//
// New flattens pipelines among the layers, and reports every mistake in one error
// that matches [ErrInvalid]: a nil layer, an invalid setting, the same stateful
// value twice, a budget with no retry inside it. It keeps no reference to the
// caller's slice.
func New(name string, layers ...Policy) (*Pipeline, error) {
	c := compiler{name: name}
	if name == "" {
		c.fail(0, &InvalidError{Field: "New", Value: `""`, Reason: "the pipeline needs a name"})
	}
	c.flatten("", layers)
	c.validate()
	c.checkIdentities()
	c.checkOrder()
	if len(c.errs) > 0 {
		return nil, c.err()
	}
	p := &Pipeline{name: name, born: time.Now(), layers: c.layers}
	p.slots = c.slots(p)
	p.attach()
	return p, nil
}

// MustNew is [New] for package-level variables and for stacks that are constant:
// it panics with New's error.
func MustNew(name string, layers ...Policy) *Pipeline {
	p, err := New(name, layers...)
	if err != nil {
		panic(err)
	}
	return p
}

type compiler struct {
	name   string
	layers []layer
	errs   []*InvalidError
}

// err joins the mistakes, outermost layer first.
func (c *compiler) err() error {
	slices.SortStableFunc(c.errs, func(a, b *InvalidError) int { return cmp.Compare(a.Layer, b.Layer) })
	errs := make([]error, len(c.errs))
	for i, e := range c.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// fail records err for the layer with that number; 0 is the whole.
func (c *compiler) fail(number int, err *InvalidError) {
	e := *err
	e.Pipeline, e.Layer = c.name, number
	if number > 0 {
		e.Policy = c.layers[number-1].label()
	}
	c.errs = append(c.errs, &e)
}

func (c *compiler) flatten(within string, layers []Policy) {
	for _, policy := range layers {
		if policy == nil || isNil(policy) {
			c.layers = append(c.layers, layer{policy: nilLayer{}, desc: Description{Kind: "nil"}, within: within})
			c.fail(len(c.layers), &InvalidError{Reason: "is a nil layer"})
			continue
		}
		nested, ok := policy.(*Pipeline)
		if !ok {
			c.layers = append(c.layers, layer{policy: policy, desc: describe(policy), within: within})
			continue
		}
		if nested.slots == nil {
			c.layers = append(c.layers, layer{policy: nilLayer{}, desc: Description{Kind: "pipeline"}, within: within})
			c.fail(len(c.layers), &InvalidError{Reason: "the nested pipeline was not made by New"})
			continue
		}
		for _, l := range nested.layers {
			if l.within == "" {
				l.within = nested.name
			}
			c.layers = append(c.layers, l)
		}
	}
}

// nilLayer holds the place of a layer that was refused, so that the numbers of the
// others are right in the errors.
type nilLayer struct{}

func (nilLayer) Run(context.Context, Next) error { return errZeroNext }

func (c *compiler) validate() {
	for i, l := range c.layers {
		v, ok := l.policy.(Validator)
		if !ok {
			continue
		}
		for _, err := range leaves(v.Validate()) {
			invalid, ok := errors.AsType[*InvalidError](err)
			switch {
			case !ok:
				invalid = &InvalidError{Reason: err.Error()}
			case invalid == nil:
				invalid = &InvalidError{Reason: "its Validate returned a nil *InvalidError, which is an error"}
			}
			c.fail(i+1, invalid)
		}
	}
}

// leaves takes a join of errors apart.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	// Exactly a join at the top is meant, not one somewhere in the chain.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	return []error{err}
}

func (c *compiler) checkIdentities() {
	for i, l := range c.layers {
		identified, ok := l.policy.(Identifier)
		if !ok {
			continue
		}
		if id := identified.Identity(); id != nil && !reflect.ValueOf(id).Comparable() {
			c.fail(i+1, &InvalidError{Field: "Identity", Value: fmt.Sprintf("%T", id), Reason: "must be comparable"})
		}
	}
}

// checkOrder refuses what cannot work, whatever the settings.
func (c *compiler) checkOrder() {
	for _, rule := range errorRules {
		for _, f := range rule(stack(c.layers)) {
			c.fail(f.Layers[0], &InvalidError{Code: f.Code, Reason: f.Reason + " Fix: " + f.Fix})
		}
	}
}

// slots resolves what each layer needs from its place.
func (c *compiler) slots(p *Pipeline) []slot {
	slots := []slot{{p: p}}
	var around slot            // hook and budget so far
	var listening []hooks.Hook // all of them
	add := func(policy Policy) {
		slots = append(slots, slot{policy: policy, p: p, hook: around.hook, budget: around.budget})
	}
	for _, l := range c.layers {
		o, observes := l.policy.(*observer)
		if observes && (o.hook == nil || slices.ContainsFunc(listening, o.isTheHook)) {
			continue
		}
		add(l.policy)
		if observes {
			around.hook = hooks.Join(around.hook, o.hook)
			listening = append(listening, o.hook)
		}
		if b, ok := l.policy.(Budget); ok {
			around.budget = b
		}
		if l.desc.Kind == KindRetry && around.hook != nil {
			add(attempt{})
		}
	}
	add(call{})
	for i := range slots[1:] {
		slots[i].next = &slots[i+1]
	}
	return slots
}

// attach tells the hooks which stack they are part of.
func (p *Pipeline) attach() {
	infos := make([]hooks.LayerInfo, len(p.layers))
	for i, l := range p.layers {
		infos[i] = hooks.LayerInfo{Kind: l.desc.Kind, Name: l.desc.Name, Policy: l.policy}
	}
	told := make(map[any]bool) // a hook in two Observe layers is told once
	for _, l := range p.layers {
		o, ok := l.policy.(*observer)
		if !ok {
			continue
		}
		canCompare := reflect.ValueOf(o.hook).Comparable()
		if a, ok := o.hook.(hooks.Attacher); ok && (!canCompare || !told[a]) {
			a.Attach(p.name, slices.Clone(infos))
			if canCompare {
				told[a] = true
			}
		}
	}
}

func isNil(v any) bool {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return rv.IsNil()
	default:
		return false
	}
}
