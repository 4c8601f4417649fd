package labrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/report"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/lab"
)

// Report is what came out, to be shown.
func Report(f *labfile.File, outcomes []Outcome) (*report.Report, error) {
	r := &report.Report{
		Title: f.Name, About: f.About, Facts: facts(f), Length: f.Scenario.Duration, Step: f.Scenario.Window,
		Checks: Checks(f, outcomes),
	}
	if r.Step == 0 {
		r.Step = lab.DefaultWindow
	}
	for _, fault := range f.Scenario.Faults {
		r.Faults = append(r.Faults, report.Span{Name: fault.Kind.String(), From: fault.From, To: fault.To})
	}
	steps := int((r.Length + r.Step - 1) / r.Step)
	for _, o := range outcomes {
		layers, err := layers(o.Stack)
		if err != nil {
			return nil, err
		}
		row := report.Row{
			Name: o.Stack.Name, Run: o.numbers(false), Layers: layers, Series: o.series(steps),
			Recovery: duration(o.Value("recovery", false)), Peak: o.Value("peak_10ms", false), Open: o.Value("open_share", false),
		}
		if len(r.Faults) > 0 {
			during := o.numbers(true)
			row.Fault = &during
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

func (o Outcome) numbers(fault bool) report.Numbers {
	return report.Numbers{
		Amplification: o.Value("amplification", fault),
		Success:       o.Value("success", fault),
		Rejected:      o.Value("rejected_share", fault),
		GoodP50:       duration(o.Value("good_p50", fault)),
		GoodP99:       duration(o.Value("good_p99", fault)),
		FailedP99:     duration(o.Value("failed_p99", fault)),
	}
}

// duration is a number of seconds.
func duration(s float64) time.Duration {
	switch {
	case math.IsNaN(s):
		return report.None
	case math.IsInf(s, 1):
		return report.Never
	default:
		return time.Duration(math.Round(s * float64(time.Second)))
	}
}

// series are averages over the seeds. A run that is over has no load any more.
func (o Outcome) series(steps int) report.Series {
	var out report.Series
	for i := range steps {
		at := Outcome{Stack: o.Stack}
		for _, r := range o.Results {
			var point lab.Summary
			if i < len(r.Series) {
				point = r.Series[i].Summary
			}
			at.Results = append(at.Results, &lab.Result{Summary: point})
		}
		out.Load = append(out.Load, at.Value("load", false))
		out.Success = append(out.Success, at.Value("success", false))
		out.GoodP99 = append(out.GoodP99, duration(at.Value("good_p99", false)))
		out.FailedP99 = append(out.FailedP99, duration(at.Value("failed_p99", false)))
	}
	return out
}

// layers say what a stack is, a line for each layer.
func layers(s *stackfile.Stack) ([]string, error) {
	p, err := s.New()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, l := range p.Explain().Layers {
		lines = append(lines, describe(l))
	}
	return lines, nil
}

func describe(l stoic.LayerExplanation) string {
	text := l.Kind
	if l.Name != "" {
		text += " " + l.Name
	}
	var params []string
	for _, p := range l.Params {
		if p.Value != false {
			params = append(params, fmt.Sprintf("%s %v", p.Name, p.Value))
		}
	}
	return text + ": " + strings.Join(params, ", ")
}

// facts say what was modelled.
func facts(f *labfile.File) []report.Fact {
	sc := f.Scenario
	server := sc.Server.String()
	if sc.Server.Hop != (lab.Dist{}) {
		server += fmt.Sprintf(", %s on the network each way", sc.Server.Hop)
	}
	list := []report.Fact{{Name: "clients", Value: clients(sc.Clients)}, {Name: "server", Value: server}}
	for _, fault := range sc.Faults {
		list = append(list, report.Fact{Name: "fault", Value: faultText(fault)})
	}
	seeds := make([]string, len(f.Seeds))
	for i, s := range f.Seeds {
		seeds[i] = strconv.FormatUint(s, 10)
	}
	run := fmt.Sprintf("%s of virtual time, seed %s", short(sc.Duration), strings.Join(seeds, ", "))
	if len(seeds) > 1 {
		run += " (averages; the recovery is the longest)"
	}
	return append(list, report.Fact{Name: "run", Value: run})
}

func clients(c lab.Clients) string {
	n := max(1, c.Processes)
	text := fmt.Sprintf("%d processes", n)
	switch {
	case n == 1:
		text = "1 process"
	case c.Shared:
		text += " that share one stack"
	default:
		text += " with a stack each"
	}
	switch {
	case c.Loop > 0:
		text += fmt.Sprintf(", %d users that wait for each answer, thinking %s", c.Loop, c.Think)
	case c.Burst > 0:
		text += fmt.Sprintf(", %d requests at once", c.Burst)
	case len(c.Load) > 0:
		text += ", a rate that changes"
	default:
		text += fmt.Sprintf(", %v requests a second", c.Rate)
	}
	if c.Even {
		text += ", evenly spaced"
	}
	return text
}

func faultText(f lab.Fault) string {
	text := fmt.Sprintf("%s from %s to %s", strings.ReplaceAll(f.Kind.String(), "-", " "), short(f.From), short(f.To))
	if f.Share > 0 && f.Share < 1 {
		text += fmt.Sprintf(", %v %% of the calls", 100*f.Share)
	}
	if f.Speed > 0 {
		text += fmt.Sprintf(", %v %% of the speed", 100*f.Speed)
	}
	if f.Ramp > 0 {
		text += ", growing for " + short(f.Ramp)
	}
	return text
}

// short is 3m instead of 3m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Checks are the bounds of a file, for each stack that they are about.
func Checks(f *labfile.File, outcomes []Outcome) []report.Check {
	var checks []report.Check
	for _, b := range f.Bounds {
		for _, o := range outcomes {
			if b.About(o.Stack.Name) {
				value := o.Value(b.Metric, b.Fault)
				checks = append(checks, report.Check{Text: b.Text(o.Stack.Name), Got: b.Format(value), OK: b.Holds(value)})
			}
		}
	}
	return checks
}
