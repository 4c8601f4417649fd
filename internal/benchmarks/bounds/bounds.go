// Package bounds measures what stoic promises about its cost, and says what holds.
package bounds

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stoic-go/stoic/internal/benchmarks/measure"
)

// A Bound is one promise and what was measured.
type Bound struct {
	What  string
	Got   float64
	Limit float64
	Below bool // the limit itself is too much
	Free  bool // nothing is promised: it is measured for comparison
	Unit  string
}

// OK reports whether it holds.
func (b Bound) OK() bool {
	if b.Free {
		return true
	}
	if b.Below {
		return b.Got < b.Limit
	}
	return b.Got <= b.Limit
}

// Measure measures all, and writes to progress which group is next.
func Measure(cfg measure.Config, progress io.Writer) ([]Bound, error) {
	return measureAll(cfg, 10_000_000, progress)
}

// measureAll makes so many calls to see whether the memory grows.
func measureAll(cfg measure.Config, calls int, progress io.Writer) ([]Bound, error) {
	groups := []struct {
		name string
		run  func(measure.Config) ([]Bound, error)
	}{
		{"full stack", fullStack},
		{"parts", parts},
		{"one failure", oneFailure},
		{"growth with the goroutines", growth},
		{"windows", windows},
		{"memory", func(measure.Config) ([]Bound, error) { return memory(calls), nil }},
	}
	var all []Bound
	for i, g := range groups {
		if _, err := fmt.Fprintf(progress, "%d/%d %s\n", i+1, len(groups), g.name); err != nil {
			return nil, err
		}
		found, err := g.run(cfg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Text writes a line for each bound.
func Text(w io.Writer, all []Bound) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, bound := range all {
		if bound.Free {
			fmt.Fprintf(tw, "\t%s\t%.2f %s\t\n", bound.What, bound.Got, bound.Unit)
			continue
		}
		verdict, sign := "ok", "≤"
		if !bound.OK() {
			verdict = "NOT"
		}
		if bound.Below {
			sign = "<"
		}
		fmt.Fprintf(tw, "%s\t%s\t%.2f %s\t%s %.2f\n", verdict, bound.What, bound.Got, bound.Unit, sign, bound.Limit)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Missed counts those that do not hold.
func Missed(all []Bound) int {
	n := 0
	for _, b := range all {
		if !b.OK() {
			n++
		}
	}
	return n
}

// Promised counts those with a limit.
func Promised(all []Bound) int {
	n := 0
	for _, b := range all {
		if !b.Free {
			n++
		}
	}
	return n
}
