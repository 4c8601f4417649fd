// Package telemetry_test runs real stacks, scrapes the Prometheus exporter behind their hook,
// and asks what docs/telemetry.md and docs/grafana.json say that one can ask.
package telemetry_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
)

// run is one run of the stacks, scraped before and after it was measured.
type run struct {
	before, after map[string]scrape // by format
	spent         func(kind hooks.OpKind, pipeline string) float64
}

func play(t *testing.T, opts ...otelhooks.Option) run {
	t.Helper()
	e := newExporter(t, opts...)
	w := newWorld(t, e.hook)
	r := run{before: make(map[string]scrape), after: make(map[string]scrape)}
	w.warmUp()
	for _, format := range formats() {
		r.before[format] = e.scrape(format)
	}
	w.truth.take()
	w.measured()
	for _, format := range formats() {
		r.after[format] = e.scrape(format)
	}
	r.spent = w.truth.take()
	return r
}

func formats() []string { return []string{plainText, openMetrics} }

// scrapes are those of a run with all metrics, in the plain format.
func scrapes(t *testing.T) (before, after scrape) {
	t.Helper()
	r := play(t, otelhooks.WithDetailedMetrics())
	return r.before[plainText], r.after[plainText]
}

// TestFiveQuestions evaluates the queries of the docs, and compares the answers with what the
// stacks did.
func TestFiveQuestions(t *testing.T) {
	t.Parallel()
	r := play(t, otelhooks.WithDetailedMetrics())
	none := math.NaN()
	share := func(kind hooks.OpKind, pipeline string) float64 {
		return r.spent(kind, pipeline) / r.spent(hooks.KindCall, pipeline)
	}
	waits := func(n int, pipeline string) float64 {
		return float64(n) * backoff.Seconds() / r.spent(hooks.KindCall, pipeline)
	}
	want := map[string][]map[string]float64{
		"Do retries pay?": {
			// Saved of those that were sent again: 4 of 5, 0 of 1, 2 of 3, 0 of 0, and 0 of 1 where
			// nothing has succeeded yet.
			{"payments": 0.8, "search": 0, "mail": 2.0 / 3, "quota": none, "legacy": 0},
		},
		"How much extra load do they make?": {
			// Attempts of the calls that were sent: 17 of 10, 4 of 2, 8 of 5, 1 and a call that was
			// canceled before it was sent, 4 of 2.
			{"payments": 0.7, "search": 1, "mail": 0.6, "quota": 0, "legacy": 1},
		},
		"How much latency is backoff?": {
			{"payments": waits(7, "payments"), "search": waits(3, "search"), "mail": waits(3, "mail"), "legacy": waits(2, "legacy")},
			{
				"payments": 1 - share(hooks.KindAttempt, "payments"), "search": 1 - share(hooks.KindAttempt, "search"),
				"mail": 1 - share(hooks.KindAttempt, "mail"), "quota": 1 - share(hooks.KindAttempt, "quota"),
				"legacy": 1 - share(hooks.KindAttempt, "legacy"),
			},
		},
		"Which breaker is open?": {
			{
				"open payments": 0, "open search": 1, "open mail": 0, "open quota": 0, "open legacy": 0,
				"half_open payments": 0, "half_open search": 0, "half_open mail": 0, "half_open quota": 0, "half_open legacy": 0,
			},
		},
		"Is the budget spent?": {
			// 10 of 14 allowed, 4 of 9, 4 of 4, none, 4 of 4.
			{"payments budget": 10.0 / 14, "search budget": 4.0 / 9, "mail budget": 1, "quota budget": 0, "legacy budget": 1},
			{"mail": 3 / (window - time.Millisecond).Seconds()},
		},
	}
	for name, store := range map[string]func(scrape) scrape{
		"Prometheus 3":         func(s scrape) scrape { return s },
		"Prometheus 2":         scrape.withPrometheus2,
		"labels of the target": func(s scrape) scrape { return s.ofProcess(1) },
	} {
		for _, format := range formats() {
			for _, q := range questions(t) {
				if len(q.queries) != len(want[q.title]) {
					t.Fatalf("%s: %d queries, want %d", q.title, len(q.queries), len(want[q.title]))
				}
				for i, query := range q.queries {
					got := byLabels(evaluate(t, query, store(r.before[format]), store(r.after[format])))
					compare(t, name+", "+format+": "+query, got, want[q.title][i])
				}
			}
		}
	}
}

// compare allows for what float64 loses, and for no more.
func compare(t *testing.T, query string, got, want map[string]float64) {
	t.Helper()
	names := maps.Clone(got)
	maps.Copy(names, want)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		g, found := got[name]
		w, wanted := want[name]
		same := math.Abs(g-w) < 1e-9 || math.IsNaN(g) && math.IsNaN(w)
		if found != wanted || !same {
			t.Errorf("%s\n%s: got %v (%t), want %v (%t)", query, name, g, found, w, wanted)
		}
	}
}

// TestTwoProcesses adds up breakers, takes the fullest budget, and leaves ratios as they are.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	before, after := scrapes(t)
	one := func(s scrape) scrape { return s.ofProcess(1) }
	two := func(s scrape) scrape { return s.ofProcess(1).with(s.ofProcess(2)) }
	for _, q := range questions(t) {
		for i, query := range q.queries {
			want := byLabels(evaluate(t, query, one(before), one(after)))
			if q.title == "Which breaker is open?" || strings.Contains(query, "_total") { // a number, not a ratio
				for name := range want {
					want[name] *= 2
				}
			}
			compare(t, q.title, byLabels(evaluate(t, q.queries[i], two(before), two(after))), want)
		}
	}
}

// TestRetriesPayNeedsTheBoundOfOne has no answer, and not a wrong one, without that bucket.
func TestRetriesPayNeedsTheBoundOfOne(t *testing.T) {
	t.Parallel()
	before, after := scrapes(t)
	query := questions(t)[0].queries[0]
	if got := evaluate(t, query, before, after); len(got) == 0 {
		t.Fatalf("no value with the bound, of\n%s", query)
	}
	if got := evaluate(t, query, before.withoutBound("1.0").withoutBound("1"), after.withoutBound("1.0").withoutBound("1")); len(got) > 0 {
		t.Errorf("got %v without the bound, want no value, of\n%s", got, query)
	}
}

// TestQueriesReadWhatExists finds each metric, label and value of a query in the scrape.
func TestQueriesReadWhatExists(t *testing.T) {
	t.Parallel()
	_, after := scrapes(t)
	var queries []string
	for _, s := range docs(t) {
		queries = append(queries, s.queries...)
	}
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			queries = append(queries, target.atWindow())
		}
	}
	if len(queries) != 7+6 {
		t.Errorf("got %d queries in docs and dashboard, want 7 and 6", len(queries))
	}
	own := errorTypes(t)
	for _, query := range queries {
		for _, u := range uses(t, query) {
			series := after.having(u.metric)
			if len(series) == 0 {
				t.Errorf("no metric %s in the scrape, but in\n%s", u.metric, query)
			}
			for _, l := range u.labels {
				if !slices.ContainsFunc(series, func(s labels.Labels) bool { return s.Has(l) }) {
					t.Errorf("%s has no label %s in the scrape, but in\n%s", u.metric, l, query)
				}
			}
			if !slices.ContainsFunc(series, func(s labels.Labels) bool { return matchAll(u.matchers, s) }) {
				t.Errorf("nothing in the scrape is selected by %v in\n%s", u.matchers, query)
			}
			for _, m := range u.matchers {
				if m.Name != "error_type" || m.Type != labels.MatchNotRegexp {
					continue
				}
				for value := range strings.SplitSeq(m.Value, "|") {
					if !own[value] {
						t.Errorf("%s is no error.type, but in\n%s", value, query)
					}
				}
			}
		}
	}
}

// TestDocsNameWhatIsThere compares the tables of metrics with the scrape, in both directions:
// names in Prometheus, kinds, attributes, and which are there by default.
func TestDocsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	_, after := scrapes(t)
	byDefault := play(t).after[plainText]
	kinds := map[string]model.MetricType{
		"histogram": model.MetricTypeHistogram, "counter": model.MetricTypeCounter,
		"updowncounter": model.MetricTypeGauge, "gauge": model.MetricTypeGauge,
	}
	attributes := make(map[string]string)
	for _, row := range sectionOf(t, "How many series").tables[0] {
		attributes[row["name"]] = row["attributes"]
	}
	rows := sectionOf(t, "Metrics").tables[0]
	documented := make(map[string]bool)
	for i, row := range rows {
		name, inPrometheus := row["name"], row["in Prometheus"]
		documented[inPrometheus] = true
		if got, want := after.families[inPrometheus], kinds[row["instrument"]]; got != want {
			t.Errorf("%s is %q in the scrape, want %q", inPrometheus, got, want)
		}
		if got, want := labelsOf(after, inPrometheus), escaped(attributes[name]); !slices.Equal(got, want) {
			t.Errorf("%s has labels %v, want %v", inPrometheus, got, want)
		}
		if _, got := byDefault.families[inPrometheus]; got != (i < len(rows)-4) {
			t.Errorf("%s by default: %t", inPrometheus, got)
		}
	}
	if len(rows) != 9 || len(attributes) != len(rows) {
		t.Errorf("got %d metrics and attributes of %d, want 9", len(rows), len(attributes))
	}
	for name := range after.families {
		if strings.HasPrefix(name, "stoic") && !documented[name] {
			t.Errorf("%s is in the scrape and not in the docs", name)
		}
	}
}

// TestSeriesOfOneSet counts what one set of attributes is in Prometheus.
func TestSeriesOfOneSet(t *testing.T) {
	t.Parallel()
	_, after := scrapes(t)
	text := sectionOf(t, "How many series").text
	got := make(map[string]int)
	for _, s := range after.samples {
		if s.labels.Get("stoic_pipeline_name") == "payments" && !s.labels.Has("error_type") {
			for _, family := range []string{"stoic_call_duration_seconds", "stoic_call_attempts"} {
				if strings.HasPrefix(s.labels.Get(model.MetricNameLabel), family+"_") {
					got[family]++
				}
			}
		}
	}
	want := fmt.Sprintf("a set of a duration is %d series, and one of attempts %d.", got["stoic_call_duration_seconds"], got["stoic_call_attempts"])
	if !strings.Contains(text, want) {
		t.Errorf("the docs do not say that %s", want)
	}
}

// labelsOf are the labels of a metric, but those that the exporter adds to every series.
func labelsOf(s scrape, family string) []string {
	names := make(map[string]bool)
	for _, suffix := range []string{"", "_count"} {
		for _, l := range s.having(family + suffix) {
			l.Range(func(l labels.Label) {
				if l.Name != model.MetricNameLabel && !strings.HasPrefix(l.Name, "otel_scope_") {
					names[l.Name] = true
				}
			})
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// escaped are the labels of a list of attributes.
func escaped(attributes string) []string {
	names := strings.Split(strings.ReplaceAll(attributes, ".", "_"), ", ")
	slices.Sort(names)
	return names
}

// TestNamesInTextExist finds every word that looks like a name in Prometheus in the scrape:
// also those in the text between the queries.
func TestNamesInTextExist(t *testing.T) {
	t.Parallel()
	_, after := scrapes(t)
	known := make(map[string]bool)
	for name := range after.families {
		known[name] = true
	}
	for _, s := range after.samples {
		s.labels.Range(func(l labels.Label) { known[l.Name] = true })
		known[s.labels.Get(model.MetricNameLabel)] = true
	}
	word := regexp.MustCompile(`\bstoic_\w+|\berror_type\b`)
	for _, file := range []string{docsFile, dashboardFile} {
		for _, name := range word.FindAllString(read(t, file), -1) {
			if !known[name] {
				t.Errorf("%s is in %s and not in the scrape", name, file)
			}
		}
	}
}

// TestQuestionsSayWhatTheyNeed has WithDetailedMetrics in the text of each question whose
// first query needs it, and in no other.
func TestQuestionsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	byDefault := play(t).after[plainText]
	for _, q := range questions(t) {
		needs := false
		for _, u := range uses(t, q.queries[0]) {
			needs = needs || len(byDefault.having(u.metric)) == 0
		}
		if says := strings.Contains(beforeFence(q.text), "WithDetailedMetrics"); says != needs {
			t.Errorf("%s: needs WithDetailedMetrics %t, says so %t", q.title, needs, says)
		}
		for _, query := range q.queries[1:] {
			for _, u := range uses(t, query) {
				if len(byDefault.having(u.metric)) == 0 {
					t.Errorf("%s: %s is not in the default metrics", q.title, u.metric)
				}
			}
		}
	}
}
