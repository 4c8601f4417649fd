package otelhooks_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
)

// docRow is a row of a table of docs/telemetry.md: its cells by the words of the header.
type docRow map[string]string

// docTable returns the rows of the table in a section whose header has these columns, by
// the text of the first cell without its backticks.
func docTable(t *testing.T, section string, columns ...string) map[string]docRow {
	t.Helper()
	text, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]docRow)
	var header []string
	heading := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimLeft(h, "# ")
		}
		if !strings.HasPrefix(line, "|") {
			header = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case header == nil:
			header = cells
		case strings.HasPrefix(cells[0], "---"), heading != section, !slices.Equal(header, columns):
		default:
			row := make(docRow)
			for i, h := range header {
				row[h] = cells[i]
			}
			name := strings.Trim(cells[0], "`")
			if rows[name] != nil {
				t.Errorf("%s is in the table of %q twice", name, section)
			}
			if cells[0] != "`"+name+"`" {
				t.Errorf("%s in the table of %q is not in backticks", cells[0], section)
			}
			rows[name] = row
		}
	}
	if len(rows) == 0 {
		t.Fatalf("docs/telemetry.md has no table of %q below %q", columns, section)
	}
	return rows
}

// quoted are the words in backticks of a cell.
func quoted(cell string) []string {
	var words []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}

// emitted is what a hook emits in a run of everything.
type emitted struct {
	instruments map[string]string              // the kind and the unit of each
	onMetric    map[string][]string            // the keys on each metric
	types       map[string]attribute.Type      // of each key, on whatever it is
	onEvents    map[string]map[string]struct{} // the keys of each span event
}

func emit(t *testing.T) emitted {
	t.Helper()
	e := emitted{
		make(map[string]string), make(map[string][]string), make(map[string]attribute.Type), make(map[string]map[string]struct{}),
	}
	note := func(where string, kv attribute.KeyValue) {
		if was, ok := e.types[string(kv.Key)]; ok && was != kv.Value.Type() {
			t.Errorf("%s is a %v on %s, and a %v elsewhere", kv.Key, kv.Value.Type(), where, was)
		}
		e.types[string(kv.Key)] = kv.Value.Type()
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		everything(t, f)
		for name, m := range f.metrics() {
			e.instruments[name] = instrumentKind(t, m) + " `" + m.Unit + "`"
			keys := make(map[string]struct{})
			for _, set := range labelSets(t, m) {
				for _, kv := range set.ToSlice() {
					note(name, kv)
					keys[string(kv.Key)] = struct{}{}
				}
			}
			e.onMetric[name] = slices.Sorted(maps.Keys(keys))
		}
		for _, s := range f.spans.Ended() {
			for _, kv := range s.Attributes() {
				note("a span", kv)
			}
			for _, event := range s.Events() {
				keys := make(map[string]struct{})
				for _, kv := range event.Attributes {
					note(event.Name, kv)
					keys[string(kv.Key)] = struct{}{}
				}
				e.onEvents[event.Name] = keys
			}
		}
	})
	return e
}

func instrumentKind(t *testing.T, m metricdata.Metrics) string {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64], metricdata.Histogram[int64]:
		return "histogram"
	case metricdata.Gauge[float64]:
		return "gauge"
	case metricdata.Sum[int64]:
		if data.IsMonotonic {
			return "counter"
		}
		return "updowncounter"
	default:
		t.Fatalf("%s is a %T", m.Name, data)
		return ""
	}
}

// wantKeys compares two lists of names.
func wantKeys(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: the code has\n     %q\nand docs/telemetry.md\n     %q", what, got, want)
	}
}

func TestNamesOfMetricsAreDocumented(t *testing.T) {
	e := emit(t)
	docs := docTable(t, "Metrics", "name", "instrument", "unit", "in Prometheus", "meaning")
	wantKeys(t, "metrics", slices.Collect(maps.Keys(e.instruments)), slices.Collect(maps.Keys(docs)))
	for name, got := range e.instruments {
		if want := docs[name]["instrument"] + " " + docs[name]["unit"]; got != want {
			t.Errorf("%s is a %s, and in docs/telemetry.md a %s", name, got, want)
		}
	}
	series := docTable(t, "How many series", "name", "attributes", "sets of attributes")
	wantKeys(t, "metrics of which the series are counted", slices.Collect(maps.Keys(e.instruments)), slices.Collect(maps.Keys(series)))
	for name, keys := range e.onMetric {
		wantKeys(t, "attributes of "+name, keys, quoted(series[name]["attributes"]))
	}
}

func TestNamesOfAttributesAreDocumented(t *testing.T) {
	e := emit(t)
	docs := docTable(t, "Attributes", "name", "type", "on", "meaning")
	wantKeys(t, "attributes", slices.Collect(maps.Keys(e.types)), slices.Collect(maps.Keys(docs)))
	types := map[attribute.Type]string{
		attribute.STRING: "string", attribute.INT64: "int", attribute.FLOAT64: "double", attribute.BOOL: "bool",
	}
	for key, got := range e.types {
		if want, _, _ := strings.Cut(docs[key]["type"], ","); types[got] != want {
			t.Errorf("%s is a %s, and in docs/telemetry.md a %s", key, types[got], want)
		}
	}
	events := docTable(t, "Spans", "span event", "attributes", "on")
	wantKeys(t, "events", slices.Collect(maps.Keys(e.onEvents)), slices.Collect(maps.Keys(events)))
	for name, keys := range e.onEvents {
		wantKeys(t, "attributes of "+name, slices.Collect(maps.Keys(keys)), quoted(events[name]["attributes"]))
	}
	wantKeys(t, "stop reasons", []string{
		hooks.StopMaxAttempts, hooks.StopNotRetryable, hooks.StopNonIdempotent, hooks.StopBudget,
		hooks.StopDeadline, hooks.StopCanceled, hooks.StopRejected, hooks.StopSleep,
	}, quoted(docs["stoic.retry.stop_reason"]["meaning"]))
}

// The same values are in the package's documentation and in docs/telemetry.md.
func TestNamesOfErrorTypesAreDocumented(t *testing.T) {
	docs := docTable(t, "error.type", "value", "the failure")
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "stoic's own values are\n//\n")
	list, _, ok := strings.Cut(rest, "\n//\n")
	if !ok {
		t.Fatal("doc.go has no list of the values of error.type")
	}
	var own []string
	for line := range strings.Lines(list) {
		names, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "//")), "  ")
		for name := range strings.SplitSeq(names, ",") {
			own = append(own, strings.TrimSpace(name))
		}
	}
	wantKeys(t, "values of error.type", own, slices.Collect(maps.Keys(docs)))
}

// The rules of OpenTelemetry for names: dots between, small letters and _ inside; no unit,
// and no _total, which exporters add.
func TestNamesAreWellFormed(t *testing.T) {
	e := emit(t)
	form := regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`)
	suffix := regexp.MustCompile(`[._](total|count|s|ms|seconds|milliseconds|ratio|percent)$`)
	names := slices.Collect(maps.Keys(e.instruments))
	names = slices.AppendSeq(names, maps.Keys(e.types))
	names = slices.AppendSeq(names, maps.Keys(e.onEvents))
	if len(names) < 20 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range names {
		if !form.MatchString(name) || suffix.MatchString(name) {
			t.Errorf("%s is not well formed", name)
		}
		if name != "error.type" && !strings.HasPrefix(name, "stoic.") {
			t.Errorf("%s is not in our namespace", name)
		}
	}
}

// The list of metrics in the package's documentation is the same again.
func TestNamesInThePackageDocumentation(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^//\t(stoic\.\S+) +(histogram|counter|updowncounter|gauge), (\S+)`)
	got := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2] + " `" + m[3] + "`"
	}
	if want := emit(t).instruments; !maps.Equal(got, want) {
		t.Errorf("doc.go has\n     %q\nwant %q", got, want)
	}
}
