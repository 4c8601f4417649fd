package labfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/lab"
)

func scenario(n *source.Node) (lab.Scenario, error) {
	sc := lab.Scenario{
		Name:     n.Get("name").Text(),
		Duration: n.Get("duration").Duration(),
		Drain:    n.Get("drain").Duration(),
		Window:   n.Get("window").Duration(),
		Recovery: lab.Recovery{
			Window:  n.Get("recovery").Get("window").Duration(),
			Success: n.Get("recovery").Get("success").Float(),
		},
		Server: server(n.Get("server")),
	}
	var err error
	if sc.Clients, err = clients(n.Get("clients")); err != nil {
		return sc, err
	}
	for _, item := range n.Get("faults").Items() {
		kind, options := item.Only()
		f := fault(kind, options)
		if to := options.Get("to"); f.To <= f.From {
			return sc, to.Errorf("got %s, expected a time after from, which is %s", to.Raw(), options.Get("from").Raw())
		}
		sc.Faults = append(sc.Faults, f)
	}
	for _, zero := range []*source.Node{n.Get("drain"), n.Get("window"), n.Get("recovery").Get("window")} {
		if zero != nil && zero.Duration() == 0 { // which the lab takes for the default
			return sc, zero.Errorf("got %s, expected a duration above 0", zero)
		}
	}
	return sc, placed(sc.Validate(), n)
}

func clients(n *source.Node) (lab.Clients, error) {
	c := lab.Clients{
		Processes: n.Get("processes").Int(),
		Shared:    n.Get("shared").True(),
		Rate:      n.Get("rate").Float(),
		Even:      n.Get("even").True(),
		Burst:     n.Get("burst").Int(),
		Loop:      n.Get("loop").Get("users").Int(),
		Think:     dist(n.Get("loop").Get("think")),
		Requests:  n.Get("loop").Get("requests").Int(),
	}
	for _, item := range n.Get("load").Items() {
		c.Load = append(c.Load, lab.LoadPoint{At: item.Get("at").Duration(), Rate: item.Get("rate").Float()})
	}
	var first string
	for _, kind := range []string{"rate", "load", "burst", "loop"} {
		switch {
		case !n.Has(kind):
		case first != "":
			return c, n.Get(kind).Errorf("%s is there too, expected one of rate, load, burst and loop", first)
		default:
			first = kind
		}
	}
	if first == "" {
		return c, n.Errorf("nothing says when requests start, expected one of rate, load, burst and loop")
	}
	if even := n.Get("even"); even != nil && first != "rate" && first != "load" {
		return c, even.Errorf("even is for rate and load, not for %s", first)
	}
	return c, nil
}

func server(n *source.Node) lab.Server {
	s := lab.Server{
		Workers:      n.Get("workers").Int(),
		Service:      dist(n.Get("service")),
		Slowdown:     n.Get("slowdown").Duration(),
		Hop:          dist(n.Get("hop")),
		Queue:        n.Get("queue").Int(),
		RejectCost:   n.Get("reject_cost").Float(),
		CutAbandoned: n.Get("cut_abandoned").True(),
	}
	if n.Has("queue") && s.Queue == 0 {
		s.Queue = lab.NoQueue
	}
	if n.Get("full").Text() == "ignore" {
		s.Full = lab.IgnoreFull
	}
	switch n.Get("drop").Text() {
	case "expired":
		s.Drop = lab.DropExpired
	case "too_late":
		s.Drop = lab.DropTooLate
	}
	return s
}

func dist(n *source.Node) lab.Dist {
	if !n.IsMapping() {
		return lab.Fixed(n.Duration())
	}
	switch kind, v := n.Only(); kind {
	case "exp":
		return lab.Exp(v.Duration())
	case "uniform":
		return lab.Uniform(v.Get("low").Duration(), v.Get("high").Duration())
	case "normal":
		return lab.Normal(v.Get("mean").Duration(), v.Get("sd").Duration())
	case "log_normal":
		return lab.LogNormal(v.Get("median").Duration(), v.Get("p99").Duration())
	case "erlang":
		return lab.Erlang(v.Get("k").Int(), v.Get("mean").Duration())
	default: // mix
		return lab.Mix(v.Get("share").Float(), dist(v.Get("rare")), dist(v.Get("usual")))
	}
}

func fault(kind string, n *source.Node) lab.Fault {
	return lab.Fault{
		Kind: map[string]lab.FaultKind{
			"fail_fast": lab.FailFast, "black_hole": lab.BlackHole, "brown_out": lab.BrownOut, "hold": lab.Hold,
		}[kind],
		From:    n.Get("from").Duration(),
		To:      n.Get("to").Duration(),
		Share:   n.Get("share").Float(),
		Speed:   n.Get("speed").Float(),
		Latency: n.Get("latency").Duration(),
		Ramp:    n.Get("ramp").Duration(),
	}
}

// placed says for each mistake that the lab found where it stands in the file.
func placed(err error, root *source.Node) error {
	if err == nil {
		return nil
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	words := strings.NewReplacer("Workers", "workers", "Queue", "queue", "Duration", "duration", "Drain", "drain")
	var errs []error
	for _, e := range all {
		invalid, ok := errors.AsType[*stoic.InvalidError](e)
		if !ok {
			errs = append(errs, root.Errorf("%v", e))
			continue
		}
		reason := words.Replace(invalid.Reason) // the names of a file are in lower case
		if invalid.Value != nil {
			reason = fmt.Sprintf("got %v: %s", invalid.Value, reason)
		}
		errs = append(errs, find(root, invalid.Field).Errorf("%s", reason))
	}
	return errors.Join(errs...)
}

// find is the value in the file that a field of a lab.Scenario was made of, or what is
// around it: "Faults[0].To" is "to" of the first fault, "Clients.Loop" is "users".
func find(n *source.Node, field string) *source.Node {
	for _, step := range strings.FieldsFunc(inFile(field), func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Items()) {
			if n = n.Items()[i]; n.Len() == 1 { // a fault, which has its kind for a name
				_, n = n.Only()
			}
			continue
		}
		inner := n.Get(snake(step))
		if inner == nil && n.IsMapping() && n.Len() == 1 { // the kind of a distribution
			_, kind := n.Only()
			inner = kind.Get(snake(step))
		}
		if inner == nil {
			return n
		}
		n = inner
	}
	return n
}

// inFile is the field under the names of a file.
func inFile(field string) string {
	switch field {
	case "Clients.Loop":
		return "clients.loop.users"
	case "Clients.Think", "Clients.Requests":
		return "clients.loop." + strings.TrimPrefix(field, "Clients.")
	default:
		return field
	}
}

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
