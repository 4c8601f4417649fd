// Package table measures every scenario and prints what came out.
package table

import (
	"fmt"
	"io"
	"runtime"

	"github.com/stoic-go/stoic/internal/benchmarks/measure"
	"github.com/stoic-go/stoic/internal/benchmarks/peers"
)

// A Row is a contender in a scenario. Index 0 is one goroutine, 1 as many as there are
// processors.
type Row struct {
	Contender string
	Allocs    float64
	Nanos     [2]measure.Sample
	Ratio     [2]measure.Sample // to stoic
}

// A Section is a scenario; its first row is stoic's.
type Section struct {
	Scenario peers.Scenario
	Rows     []Row
}

// Goroutines are those of the two columns.
func Goroutines() [2]int { return [2]int{1, max(2, runtime.GOMAXPROCS(0))} }

// Measure measures the scenarios, and writes to progress which one is next.
func Measure(cfg measure.Config, scenarios []peers.Scenario, progress io.Writer) ([]Section, error) {
	var sections []Section
	for i, sc := range scenarios {
		if _, err := fmt.Fprintf(progress, "%d/%d %s\n", i+1, len(scenarios), sc.Name); err != nil {
			return nil, err
		}
		section, err := measureOne(cfg, sc)
		if err != nil {
			return nil, err
		}
		sections = append(sections, section)
	}
	return sections, nil
}

func measureOne(cfg measure.Config, sc peers.Scenario) (Section, error) {
	section := Section{Scenario: sc}
	var subjects []measure.Subject
	for _, c := range peers.All() {
		run := sc.Build(c)
		if run == nil {
			continue
		}
		for _, n := range Goroutines() {
			subjects = append(subjects, sc.Subject(c.Name, run, n))
		}
		allocs, err := measure.Allocs(subjects[len(subjects)-1])
		if err != nil {
			return section, err
		}
		section.Rows = append(section.Rows, Row{Contender: c.Name, Allocs: allocs})
	}
	samples, err := measure.Paired(cfg, subjects)
	if err != nil {
		return section, err
	}
	for i := range section.Rows {
		for j := range 2 {
			section.Rows[i].Nanos[j] = samples[2*i+j]
			section.Rows[i].Ratio[j] = samples[2*i+j].Over(samples[j])
		}
	}
	return section, nil
}
