package labrun

import (
	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/lab"
)

// Document is what came out, for programs.
type Document struct {
	Scenario string          `json:"scenario"`
	About    string          `json:"about,omitempty"`
	Stacks   []StackResults  `json:"stacks"`
	Assert   []DocumentCheck `json:"assert"`
	OK       bool            `json:"ok"` // all bounds hold
}

// StackResults are the results of one stack, one for each seed.
type StackResults struct {
	Stack   string        `json:"stack"`
	Results []*lab.Result `json:"results"`
}

// DocumentCheck is a bound, and whether it holds.
type DocumentCheck struct {
	Text string `json:"text"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// JSON makes a Document, with the numbers over time or without.
func JSON(f *labfile.File, outcomes []Outcome, series bool) Document {
	d := Document{Scenario: f.Name, About: f.About, Assert: []DocumentCheck{}, OK: true}
	for _, o := range outcomes {
		s := StackResults{Stack: o.Stack.Name}
		for _, r := range o.Results {
			if !series {
				short := *r
				short.Series = nil
				r = &short
			}
			s.Results = append(s.Results, r)
		}
		d.Stacks = append(d.Stacks, s)
	}
	for _, c := range Checks(f, outcomes) {
		d.Assert = append(d.Assert, DocumentCheck(c))
		d.OK = d.OK && c.OK
	}
	return d
}
