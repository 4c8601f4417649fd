package stoic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// textWidth is how wide a sentence may be on a terminal, without its indent.
const textWidth = 92

// wrap breaks text between words. The first line and the further ones have indents of one
// width.
func wrap(b *strings.Builder, first, further, text string) {
	indent, width := first, len(first)-len("    ")
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
			b.WriteString(indent)
		case width+1+n > textWidth:
			indent = further
			b.WriteString("\n" + indent)
			width = len(indent) - len("    ")
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	b.WriteString("\n")
}

// String prints the explanation for a terminal.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, outermost first\n", printable(e.Pipeline), plural(len(e.Layers), "layer"))
	for _, l := range e.Layers {
		fmt.Fprintf(&b, "%3d %s\n", l.Number, l.heading())
		wrap(&b, "    ", "    ", l.Sentence)
	}
	atLeast := ""
	if e.LowerBounds {
		atLeast = " (lower bounds: a layer does not say all that it may do)"
	}
	fmt.Fprintf(&b, "worst case of one call%s\n", atLeast)
	e.Worst.print(&b)
	fmt.Fprintf(&b, "load per call in a total outage, before a breaker opens or a limit refuses%s\n", atLeast)
	e.Outage.print(&b)
	return b.String()
}

func (l LayerExplanation) heading() string {
	text := l.Kind
	if l.Name != "" {
		text += fmt.Sprintf(" %q", l.Name)
	}
	if l.Within != "" {
		text += " of " + printable(l.Within)
	}
	return text
}

func (w WorstCase) print(b *strings.Builder) {
	fmt.Fprintf(b, "    attempts  %s\n", countText(w.Attempts))
	fmt.Fprintf(b, "    time      %s; without the deadlines, %s\n", timeText(w.Time), w.withoutDeadlines())
	if w.TimeHinted != w.Time {
		fmt.Fprintf(b, "    hints     %s, if errors ask for longer waits (RetryAfter)\n", timeText(w.TimeHinted))
	}
	for _, t := range w.TooLate {
		wrap(b, "    too late  ", "              ", t.String())
	}
}

func (w WorstCase) withoutDeadlines() string {
	if w.Attempts == Unlimited || w.Waits == Forever {
		return "without a limit"
	}
	text := countText(w.Attempts) + " × the operation"
	if w.Attempts == 1 {
		text = "the operation"
	}
	if w.Waits > 0 {
		text += " and " + timeText(w.Waits) + " of waiting"
	}
	return text
}

// String says which attempts cannot happen, and why.
func (t TooLate) String() string {
	return fmt.Sprintf("%s of layer %d: %s", t.which(), t.Layer, t.why())
}

func (t TooLate) which() string {
	switch t.To {
	case t.From:
		return fmt.Sprintf("attempt %d", t.From)
	case Unlimited:
		return fmt.Sprintf("attempt %d and all further ones", t.From)
	default:
		return fmt.Sprintf("attempts %d to %d", t.From, t.To)
	}
}

func (t TooLate) why() string {
	when := "if each one before takes all its time"
	if t.FailingAtOnce {
		when = "even if each one before fails at once, when the waits are at their ceilings"
	}
	return fmt.Sprintf("the deadline of %s comes first %s", t.Deadline, when)
}

func (o Outage) print(b *strings.Builder) {
	without := loadText(o.WithoutBudget)
	switch {
	case o.Formula == "1":
		b.WriteString("    1: nothing is retried\n")
		return
	case !o.Budgeted:
		fmt.Fprintf(b, "    %s: no budget limits it\n", without)
		return
	}
	at := make([]string, len(o.At))
	for i, l := range o.At {
		at[i] = fmt.Sprintf("%s at %g calls/s", loadText(l.Load), l.Rate)
	}
	atMost := ""
	if o.AtMost {
		atMost = "at most "
	}
	fmt.Fprintf(b, "    %s without a budget; %s%s at r calls a second\n", without, atMost, o.Formula)
	fmt.Fprintf(b, "    %s\n", strings.Join(at, ", "))
}

func countText(n int) string {
	if n == Unlimited {
		return "without a limit"
	}
	return strconv.Itoa(n)
}

func timeText(d time.Duration) string {
	if d == Forever {
		return "without a limit"
	}
	return d.String()
}

func loadText(f float64) string {
	if math.IsInf(f, 1) {
		return "unlimited"
	}
	return fmt.Sprintf("%.4g", f)
}

// Mermaid draws the stack as a Mermaid flowchart, which GitHub renders in a code block
// marked mermaid.
func (e Explanation) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	above := "l0" // call and end, say, are words of Mermaid's
	fmt.Fprintf(&b, "    %s([%s])\n", above, mermaidText("call to "+e.Pipeline))
	for _, l := range e.Layers {
		id := fmt.Sprintf("l%d", l.Number)
		fmt.Fprintf(&b, "    %s[%s]\n", id, mermaidText(l.heading()+"\n"+l.Sentence))
		fmt.Fprintf(&b, "    %s --> %s\n", above, id)
		if l.Repeats {
			fmt.Fprintf(&b, "    %s -. again .-> %s\n", id, id)
		}
		above = id
	}
	fmt.Fprintf(&b, "    fn([operation])\n    %s --> fn\n", above)
	return b.String()
}

// mermaidText quotes a label. Mermaid reads entities in it, and <br/> as a line break.
func mermaidText(s string) string {
	r := strings.NewReplacer(`&`, "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", ";", "#59;", "\n", "<br/>")
	return `"` + r.Replace(s) + `"`
}
