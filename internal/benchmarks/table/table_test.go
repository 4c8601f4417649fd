package table

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
)

func quick() measure.Config { return measure.Config{Rounds: 2, Slice: 200 * time.Microsecond} }

// Every scenario can be measured and is printed, with every contender that has it.
func TestAllIsMeasuredAndPrinted(t *testing.T) {
	var progress, text, raw, page bytes.Buffer
	sections, err := Measure(quick(), peers.Scenarios(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(Text(&text, sections), Raw(&raw, sections), Markdown(&page, ThisMachine(), quick(), sections))
	if err != nil {
		t.Fatal(err)
	}
	for i, sc := range peers.Scenarios() {
		for _, out := range []*bytes.Buffer{&progress, &text} {
			if !strings.Contains(out.String(), sc.Name+"\n") {
				t.Errorf("%q is missing", sc.Name)
			}
		}
		if !strings.Contains(page.String(), "### "+strings.ToUpper(sc.Name[:1])+sc.Name[1:]+"\n") {
			t.Errorf("%q is not on the page", sc.Name)
		}
		if first := sections[i].Rows[0].Contender; first != peers.Stoic {
			t.Errorf("%s is first", first)
		}
	}
	for _, c := range peers.All() {
		if !strings.Contains(text.String(), c.Name) || !strings.Contains(page.String(), "| "+c.Name+" |") {
			t.Errorf("%q is missing", c.Name)
		}
		for _, path := range c.Modules {
			if !strings.Contains(page.String(), "| "+strings.TrimPrefix(path, "github.com/")+" | ") {
				t.Errorf("the page has no version of %s", path)
			}
		}
	}
	if got := strings.Count(raw.String(), "BenchmarkPeers/full_stack/stoic-1 1 "); got != quick().Rounds {
		t.Errorf("%d lines of a benchmark, want %d", got, quick().Rounds)
	}
}

// The ratio is to stoic, in the same round and with as many goroutines.
func TestRatiosAreToStoic(t *testing.T) {
	sections, err := Measure(quick(), peers.Scenarios()[:1], io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	rows := sections[0].Rows
	for _, row := range rows {
		for j := range 2 {
			for round, got := range row.Ratio[j] {
				if want := row.Nanos[j][round] / rows[0].Nanos[j][round]; got != want {
					t.Errorf("%s: ratio %v, want %v", row.Contender, got, want)
				}
			}
		}
	}
}

func TestMarkdownHasTheNumbers(t *testing.T) {
	sections := []Section{{Scenario: peers.Scenario{Name: "row"}, Rows: []Row{
		{Contender: peers.Stoic, Allocs: 2, Nanos: both(100, 50), Ratio: both(1, 1)},
		{Contender: peers.ByHand, Allocs: 11, Nanos: both(250, 1234), Ratio: both(2.5, 24.68)},
	}}}
	var page bytes.Buffer
	m := Machine{CPU: "Model T", Cores: 3, GOMAXPROCS: 2, OS: "plan9/arm", Go: "go9", Date: "2031-02-03", Modules: []Module{
		{Path: "github.com/sony/gobreaker/v2", Version: "v2.0.0"},
	}}
	if err := Markdown(&page, m, measure.Default(), sections); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Model T, 3 cores, GOMAXPROCS 2, plan9/arm", "2031-02-03", "| go9 |",
		"| sony/gobreaker/v2 | v2.0.0 |", "| golang.org/x/time | unknown |",
		"| row | 2.50 |  |",
		"| by hand | 250 | 0 % | 2.50 | 1234 | 0 % | 24.68 | 11 |",
		"slices of 20ms", "30 rounds", "retry of 3 attempts",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "%!") {
		t.Error("a format is wrong")
	}
}

func both(one, two float64) [2]measure.Sample {
	many := func(x float64) measure.Sample { return measure.Sample{x, x, x, x, x, x, x, x, x} }
	return [2]measure.Sample{many(one), many(two)}
}
