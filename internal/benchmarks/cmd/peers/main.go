// Peers compares stoic with what one would use instead, and prints a table.
//
//	go run ./cmd/peers                         every scenario (some minutes)
//	go run ./cmd/peers -scenario 'full stack'  those whose name matches
//	go run ./cmd/peers -write FILE             and write the page of the documentation
//	go run ./cmd/peers -raw FILE               and every round, for benchstat
//	go run ./cmd/peers -check                  what stoic promises; exit code 1 if not kept
//	go run ./cmd/peers -curves                 the cost of a call with 1 to 64 goroutines
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/stoic-go/stoic/internal/benchmarks/bounds"
	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
	"github.com/stoic-go/stoic/internal/benchmarks/table"
)

type options struct {
	cfg           measure.Config
	scenario      string
	page, raw     string
	check, curves bool
}

var errMissed = errors.New("not all that is promised holds")

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case o.check:
		return check(o, out, progress)
	case o.curves:
		return curves(o, out)
	default:
		return compare(o, out, progress)
	}
}

func parse(args []string, usage io.Writer) (options, error) {
	o := options{cfg: measure.Default()}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&o.cfg.Rounds, "rounds", o.cfg.Rounds, "rounds of slices; 30 or more for a result")
	f.DurationVar(&o.cfg.Slice, "slice", o.cfg.Slice, "length of a slice")
	f.StringVar(&o.scenario, "scenario", "", "`regexp` of the scenarios")
	f.StringVar(&o.page, "write", "", "`file` of the page to write")
	f.StringVar(&o.raw, "raw", "", "`file` for every round, in the format of go test -bench")
	f.BoolVar(&o.check, "check", false, "check what stoic promises")
	f.BoolVar(&o.curves, "curves", false, "print the cost with more and more goroutines")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	case o.cfg.Rounds < 1:
		return o, fmt.Errorf("-rounds %d: must be at least 1", o.cfg.Rounds)
	case o.cfg.Slice <= 0:
		return o, fmt.Errorf("-slice %v: must be positive", o.cfg.Slice)
	case o.page != "" && o.scenario != "":
		return o, errors.New("-write needs every scenario")
	}
	return o, nil
}

func compare(o options, out, progress io.Writer) error {
	scenarios, err := choose(o.scenario)
	if err != nil {
		return err
	}
	sections, err := table.Measure(o.cfg, scenarios, progress)
	if err != nil {
		return err
	}
	if err := table.Text(out, sections); err != nil {
		return err
	}
	if o.raw != "" {
		if err := write(o.raw, func(w io.Writer) error { return table.Raw(w, sections) }); err != nil {
			return err
		}
	}
	if o.page == "" {
		return nil
	}
	return write(o.page, func(w io.Writer) error { return table.Markdown(w, table.ThisMachine(), o.cfg, sections) })
}

func choose(expr string) ([]peers.Scenario, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	var chosen []peers.Scenario
	for _, sc := range peers.Scenarios() {
		if re.MatchString(sc.Name) {
			chosen = append(chosen, sc)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario matches %q", expr)
	}
	return chosen, nil
}

// write replaces the file only when all of it is there.
func write(name string, content func(io.Writer) error) error {
	var b strings.Builder
	if err := content(&b); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

func check(o options, out, progress io.Writer) error {
	all, err := bounds.Measure(o.cfg, progress)
	if err != nil {
		return err
	}
	if err := bounds.Text(out, all); err != nil {
		return err
	}
	if n := bounds.Missed(all); n > 0 {
		return fmt.Errorf("%w: %d of %d missed", errMissed, n, bounds.Promised(all))
	}
	return nil
}

func curves(o options, out io.Writer) error {
	all, err := bounds.Curves(o.cfg)
	if err != nil {
		return err
	}
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	for i, c := range all {
		if i == 0 {
			fmt.Fprint(tw, "ns (growth)\t")
			for _, n := range c.Goroutines {
				fmt.Fprintf(tw, "%d\t", n)
			}
			fmt.Fprintln(tw)
		}
		fmt.Fprintf(tw, "%s\t", c.Name)
		for j := range c.Goroutines {
			fmt.Fprintf(tw, "%.0f (%.2f)\t", c.Nanos[j].Summary().Center, c.Growth[j].Summary().Center)
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = io.WriteString(out, b.String())
	return err
}
