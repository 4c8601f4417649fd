package main

import (
	"fmt"
	"io"
	"time"
)

// collect is how long the printer waits for repeats before it prints.
const collect = 1500 * time.Millisecond

// printer writes a line for each thing that happens, and one line with a count for
// what happens often in a short time. Its owner holds a lock around it.
type printer struct {
	w     io.Writer
	begin time.Time
	lines []*line // collected and not printed yet, the oldest first
}

type line struct {
	at          time.Duration // since the beginning, the first time it happened
	layer, what string
	times       int
	least, most time.Duration // the waits, for a retry
}

// headline prints a phase of the script.
func (p *printer) headline(what string) {
	p.flush()
	fmt.Fprintf(p.w, "%5.1fs  ------ SERVER %s ------\n", time.Since(p.begin).Seconds(), what)
}

// note prints something that must not be collapsed.
func (p *printer) note(layer, what string) {
	p.flush()
	fmt.Fprintf(p.w, "%5.1fs  %-9s        %s\n", time.Since(p.begin).Seconds(), layer, what)
}

// add collects something that may happen often, with the wait that belongs to it.
func (p *printer) add(layer, what string, delay time.Duration) {
	now := time.Since(p.begin)
	if len(p.lines) > 0 && now-p.lines[0].at >= collect {
		p.flush()
	}
	for _, l := range p.lines {
		if l.layer == layer && l.what == what {
			l.times++
			l.least, l.most = min(l.least, delay), max(l.most, delay)
			return
		}
	}
	p.lines = append(p.lines, &line{at: now, layer: layer, what: what, times: 1, least: delay, most: delay})
}

// flush prints what was collected.
func (p *printer) flush() {
	for _, l := range p.lines {
		fmt.Fprintf(p.w, "%5.1fs  %-9s %5s  %s%s\n", l.at.Seconds(), l.layer, fmt.Sprintf("×%d", l.times), l.what, l.waits())
	}
	p.lines = nil
}

func (l *line) waits() string {
	switch {
	case l.most == 0:
		return ""
	case l.least == l.most:
		return " after " + round(l.most)
	default:
		return fmt.Sprintf(" after %s to %s", round(l.least), round(l.most))
	}
}

func round(d time.Duration) string { return d.Round(time.Millisecond).String() }
