package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/report"
)

// sample has a gap, a time without an end, numbers that there are none of, and texts that
// HTML gives a meaning to.
func sample() *report.Report {
	row := func(name string, factor float64) report.Row {
		r := report.Row{
			Name: name, Recovery: report.Never, Peak: 27.4, Open: 0.125, Layers: []string{"deadline: limit 2s"},
			Run: report.Numbers{
				Amplification: factor, Success: 0.5, Rejected: 0, GoodP50: 52300 * time.Microsecond, GoodP99: 1234 * time.Millisecond, FailedP99: report.None,
			},
		}
		for i := range 10 {
			r.Load = append(r.Load, 100*factor*float64(i))
			r.Success = append(r.Success, 0.1*float64(i))
			r.GoodP99 = append(r.GoodP99, time.Duration(i+1)*100*time.Millisecond)
			r.FailedP99 = append(r.FailedP99, report.None)
		}
		r.Success[4], r.GoodP99[4] = math.NaN(), report.None
		fault := r.Run
		fault.Success, fault.GoodP50 = math.NaN(), report.None
		r.Fault = &fault
		return r
	}
	return &report.Report{
		Title: `<b>"A" & B</b>`, About: "About <it>.", Length: 10 * time.Second, Step: time.Second,
		Faults: []report.Span{{Name: "black hole", From: 2 * time.Second, To: 20 * time.Second}},
		Facts:  []report.Fact{{Name: "server", Value: "1 worker"}},
		Rows:   []report.Row{row("x & <y>", 0.25), row("z", 4.9)},
		Checks: []report.Check{{Text: "z: success at least 0.9", Got: "0.5"}, {Text: "z: success at most 0.9", Got: "0.5", OK: true}},
	}
}

func TestTable(t *testing.T) {
	const want = `<b>"A" & B</b>
About <it>.

  server  1 worker

requests that start during the fault
  stack    amplification  success  rejected  good p50  good p99  failed p99  recovery
  x & <y>          0.250        –     0.0 %         –     1.23s           –     never
  z                 4.90        –     0.0 %         –     1.23s           –     never

the whole run
  stack    amplification  success  rejected  good p50  good p99  failed p99  peak/10ms  breaker open
  x & <y>          0.250   50.0 %     0.0 %    52.3ms     1.23s           –         27        12.5 %
  z                 4.90   50.0 %     0.0 %    52.3ms     1.23s           –         27        12.5 %

FAIL  z: success at least 0.9: got 0.5
ok    z: success at most 0.9: got 0.5
`
	var b strings.Builder
	if err := sample().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if got := sample().Failed(); got != 1 {
		t.Errorf("%d failed, want 1", got)
	}
}

// Without faults there is nothing to recover from, and one table.
func TestTableWithoutFaults(t *testing.T) {
	r := sample()
	r.Faults = nil
	for i := range r.Rows {
		r.Rows[i].Fault = nil
	}
	var b strings.Builder
	if err := errors.Join(r.WriteTable(&b), r.WritePage(&b)); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"during the fault", "recovery", "shaded"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("there is %q in\n%s", not, b.String())
		}
	}
}

// The page has no script, no address of another page, and nothing of the texts in it is
// taken for HTML.
func TestPageNeedsNothing(t *testing.T) {
	var b strings.Builder
	if err := sample().WritePage(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, not := range []string{"<script", "http://www.example", "src=", "@import", "url(", "<y>", "<b>", "<it>", "javascript:"} {
		if strings.Contains(page, not) {
			t.Errorf("there is %q in the page", not)
		}
	}
	if n := strings.Count(page, "href="); n != 1 || !strings.Contains(page, `href="data:,"`) {
		t.Errorf("%d links, want the empty icon only", n)
	}
	for _, want := range []string{"x &amp; &lt;y&gt;", "About &lt;it&gt;.", `id="chart-load"`, "z: success at least 0.9: got 0.5", `<li class="failed">`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

// Each chart is XML of its own, with the names of the stacks, and without NaN, which no
// browser draws.
func TestSVG(t *testing.T) {
	for _, id := range []string{"load", "success", "latency", "failed-latency"} {
		svg, err := sample().SVG(id)
		if err != nil {
			t.Fatal(err)
		}
		texts := textsOf(t, svg)
		for _, want := range []string{"x & <y>", "z", "virtual time in s"} {
			if !strings.Contains(texts, "\n"+want+"\n") {
				t.Errorf("%s: no %q in %q", id, want, texts)
			}
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: numbers that are none", id)
		}
	}
	if _, err := sample().SVG("cost"); err == nil || err.Error() != `report: there is no chart "cost"` {
		t.Errorf("got %v", err)
	}
}

// textsOf reads the whole picture as XML and returns its texts, a line each.
func textsOf(t *testing.T, svg []byte) string {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	texts := "\n"
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			texts += strings.TrimSpace(string(c)) + "\n"
		}
	}
}

// A gap parts a line in two.
func TestGapPartsTheLine(t *testing.T) {
	whole := sample()
	for i := range whole.Rows {
		whole.Rows[i].Success[4] = 0.4
	}
	with, err := sample().SVG("success")
	if err != nil {
		t.Fatal(err)
	}
	without, err := whole.SVG("success")
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(with, []byte("<path")) - bytes.Count(without, []byte("<path")); got != 2 {
		t.Errorf("%d more pieces, want one for each stack", got)
	}
}

// A value between two gaps is seen: as a dash.
func TestLonePointIsADash(t *testing.T) {
	paths := func(keep int) int {
		r := sample()
		for i := range r.Rows {
			for j := range r.Rows[i].Success {
				if j != keep {
					r.Rows[i].Success[j] = math.NaN()
				}
			}
		}
		svg, err := r.SVG("success")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(svg, []byte("<path"))
	}
	if got := paths(5) - paths(-1); got != 2 {
		t.Errorf("%d dashes, want one for each stack", got)
	}
}

// Nothing at all can be drawn too: no rows, a run of no length, zeros only.
func TestEdges(t *testing.T) {
	empty := &report.Report{Title: "empty", Length: time.Second, Step: time.Second}
	zeros := sample()
	for i := range zeros.Rows {
		zeros.Rows[i].Load = make([]float64, 10)
		zeros.Rows[i].Name = strings.Repeat("long ", 40)
	}
	many := sample()
	for range 20 {
		many.Rows = append(many.Rows, many.Rows[0])
	}
	for _, r := range []*report.Report{empty, zeros, many} {
		var b strings.Builder
		if err := errors.Join(r.WriteTable(&b), r.WritePage(&b)); err != nil {
			t.Error(err)
		}
	}
}
