package labfile

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
)

// Bound is what must hold for one number of one stack, or of all.
type Bound struct {
	Stack  string // empty: each of them
	Metric string
	Fault  bool // over the requests that start during the faults, not over all

	least, most *source.Node // nil: none
	isTime      bool
}

// isTime reports whether a metric is a time. Its values are in seconds.
func isTime(metric string) bool {
	switch metric {
	case "good_p50", "good_p99", "failed_p50", "failed_p99", "recovery":
		return true
	default:
		return false
	}
}

func bound(n *source.Node, stacks map[string]bool, faults bool) (Bound, error) {
	b := Bound{
		Stack: n.Get("stack").Text(), Metric: n.Get("metric").Text(), Fault: n.Get("over").Text() == "fault",
		least: n.Get("at_least"), most: n.Get("at_most"),
	}
	b.isTime = isTime(b.Metric)
	if name := n.Get("stack"); name != nil && !stacks[b.Stack] {
		return b, name.Errorf("there is no stack with the name %q", b.Stack)
	}
	if b.least == nil && b.most == nil {
		return b, n.Errorf(`"at_least" or "at_most" is missing`)
	}
	if over := n.Get("over"); b.Fault && !faults {
		return b, over.Errorf("there are no faults")
	} else if b.Metric == "recovery" && !faults {
		return b, n.Get("metric").Errorf("there are no faults to recover from")
	} else if b.Fault && b.Metric == "recovery" {
		return b, over.Errorf("recovery is not a number of the fault, leave over out")
	}
	for _, limit := range []*source.Node{b.least, b.most} {
		switch {
		case limit == nil:
		case b.isTime && limit.Text() == "":
			return b, limit.Errorf("got %s, expected a duration with a unit, like 500ms, 2s or 1m30s, for %s", limit, b.Metric)
		case !b.isTime && limit.Text() != "":
			return b, limit.Errorf("got %s, expected a number for %s", limit, b.Metric)
		}
	}
	return b, nil
}

// About reports whether the bound is for the stack of that name.
func (b Bound) About(stack string) bool { return b.Stack == "" || b.Stack == stack }

// Holds reports whether a value is within the bound. Of what there is none of (NaN), a
// bound on failures and rejections holds, and one on what is good does not. Never is
// infinite.
func (b Bound) Holds(value float64) bool {
	if math.IsNaN(value) {
		return strings.HasPrefix(b.Metric, "failed")
	}
	return (b.least == nil || value >= b.limit(b.least)) && (b.most == nil || value <= b.limit(b.most))
}

func (b Bound) limit(n *source.Node) float64 {
	if b.isTime {
		return n.Duration().Seconds()
	}
	return n.Float()
}

// Text says what must hold for a stack: "recommended: amplification at most 1.2".
func (b Bound) Text(stack string) string {
	text := stack + ": " + b.Metric
	if b.Fault {
		text += " over the fault"
	}
	var limits []string
	for _, l := range []struct {
		words string
		node  *source.Node
	}{{"at least", b.least}, {"at most", b.most}} {
		if l.node != nil {
			limits = append(limits, l.words+" "+l.node.Raw())
		}
	}
	return text + " " + strings.Join(limits, " and ")
}

// Format writes a value of the metric.
func (b Bound) Format(value float64) string {
	switch {
	case math.IsNaN(value):
		return "none"
	case math.IsInf(value, 1):
		return "never"
	case b.isTime:
		return time.Duration(math.Round(value * 1e9)).Round(100 * time.Microsecond).String()
	default:
		return strconv.FormatFloat(value, 'g', 4, 64)
	}
}
