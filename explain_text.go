package stoic

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// textWidth is how wide a sentence may be on a terminal, without its indent.
const textWidth = 92

// wrap breaks text between words and indents each line.
func wrap(b *strings.Builder, indent, text string) {
	width := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
			b.WriteString(indent)
		case width+1+n > textWidth:
			b.WriteString("\n" + indent)
			width = 0
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
	fmt.Fprintf(&b, "%s: %s, outermost first\n", e.Pipeline, plural(len(e.Layers), "layer"))
	for _, l := range e.Layers {
		fmt.Fprintf(&b, "%3d %s\n", l.Number, l.heading())
		wrap(&b, "    ", l.Sentence)
	}
	atLeast := ""
	if e.LowerBounds {
		atLeast = " (lower bounds: a layer does not say all that it may do)"
	}
	fmt.Fprintf(&b, "worst case of one call%s\n", atLeast)
	e.Worst.print(&b)
	fmt.Fprintf(&b, "load per call in a total outage, before a breaker opens%s\n", atLeast)
	e.Outage.print(&b)
	return b.String()
}

func (l LayerExplanation) heading() string {
	text := l.Kind
	if l.Name != "" {
		text += fmt.Sprintf(" %q", l.Name)
	}
	if l.Within != "" {
		text += " of " + l.Within
	}
	return text
}

func (w WorstCase) print(b *strings.Builder) {
	fmt.Fprintf(b, "    attempts  %s\n", countText(w.Attempts))
	fmt.Fprintf(b, "    time      %s; without the deadlines, %s\n", timeText(w.Time), w.withoutDeadlines())
	if w.TimeHinted != w.Time {
		fmt.Fprintf(b, "    hints     %s, if every error asks for the longest wait that is heeded\n", timeText(w.TimeHinted))
	}
	for _, t := range w.TooLate {
		fmt.Fprintf(b, "    too late  %s\n", t)
	}
}

func (w WorstCase) withoutDeadlines() string {
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
	which := fmt.Sprintf("attempts %d to %d", t.From, t.To)
	switch t.To {
	case t.From:
		which = fmt.Sprintf("attempt %d", t.From)
	case Unlimited:
		which = fmt.Sprintf("attempt %d and all after it", t.From)
	}
	when := "if each one before takes all its time"
	if t.FailingAtOnce {
		when = "even if each one before fails at once, when the waits are at their ceilings"
	}
	return fmt.Sprintf("%s of layer %d: the deadline of %s comes first %s", which, t.Layer, t.Deadline, when)
}

func (o Outage) print(b *strings.Builder) {
	without := loadText(o.WithoutBudget)
	if o.Formula == "1" {
		fmt.Fprintf(b, "    %s: nothing is retried\n", without)
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
	return fmt.Sprint(n)
}

func timeText(d time.Duration) string {
	if d == Forever {
		return "without a limit"
	}
	return d.String()
}

func loadText(f float64) string {
	if math.IsInf(f, 1) {
		return "without a limit"
	}
	return fmt.Sprintf("%.4g", f)
}

// Mermaid draws the stack as a Mermaid flowchart, which GitHub renders in a code block
// marked mermaid.
func (e Explanation) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	fmt.Fprintf(&b, "    call([%s])\n", mermaidText("call to "+e.Pipeline))
	above := "call"
	for _, l := range e.Layers {
		id := fmt.Sprintf("l%d", l.Number)
		fmt.Fprintf(&b, "    %s[%s]\n", id, mermaidText(l.heading()+"\n"+l.Sentence))
		fmt.Fprintf(&b, "    %s --> %s\n", above, id)
		if l.Kind == KindRetry {
			fmt.Fprintf(&b, "    %s -. again .-> %s\n", id, id)
		}
		above = id
	}
	fmt.Fprintf(&b, "    operation([operation])\n    %s --> operation\n", above)
	return b.String()
}

// mermaidText quotes a label. Mermaid reads entities in it, and <br/> as a line break.
func mermaidText(s string) string {
	r := strings.NewReplacer(`&`, "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", ";", "#59;", "\n", "<br/>")
	return `"` + r.Replace(s) + `"`
}
