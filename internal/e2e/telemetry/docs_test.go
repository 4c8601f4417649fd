package telemetry_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The files under test are in another module, where go test does not see that they changed: use
// -count=1 or -shuffle=on, as make test does.
const (
	docsFile      = "../../../docs/telemetry.md"
	dashboardFile = "../../../docs/grafana.json"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is a part of docs/telemetry.md from one heading to the next.
type section struct {
	title   string
	level   int
	text    string
	tables  []table
	queries []string
}

// table is the rows of one table, without backticks, by the names of the columns.
type table []map[string]string

// docs reads docs/telemetry.md.
func docs(t *testing.T) []section {
	t.Helper()
	text := read(t, docsFile)
	heading := regexp.MustCompile(`(?m)^(#+) (.*)$`)
	var sections []section
	found := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		s := section{title: text[at[4]:at[5]], level: at[3] - at[2], text: text[at[1]:end]}
		s.tables, s.queries = tablesIn(s.text), queriesIn(s.text)
		sections = append(sections, s)
	}
	return sections
}

// sectionOf returns the section with that title.
func sectionOf(t *testing.T, title string) section {
	t.Helper()
	for _, s := range docs(t) {
		if s.title == title {
			return s
		}
	}
	t.Fatalf("no section %q in %s", title, docsFile)
	return section{}
}

// questions are the sections below "Five questions".
func questions(t *testing.T) []section {
	t.Helper()
	var found []section
	below := false
	for _, s := range docs(t) {
		switch {
		case s.level <= 2:
			below = s.title == "Five questions"
		case below:
			found = append(found, s)
		}
	}
	return found
}

func queriesIn(text string) []string {
	var queries []string
	for _, m := range regexp.MustCompile("(?s)```promql\n(.*?)\n```").FindAllStringSubmatch(text, -1) {
		queries = append(queries, m[1])
	}
	return queries
}

func tablesIn(text string) []table {
	var tables []table
	var header []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			header = nil
		case header == nil:
			header = cells(line)
			tables = append(tables, nil)
		case strings.HasPrefix(line, "|---"):
		default:
			row := make(map[string]string)
			for i, cell := range cells(line) {
				row[header[i]] = cell
			}
			tables[len(tables)-1] = append(tables[len(tables)-1], row)
		}
	}
	return tables
}

func cells(line string) []string {
	var found []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		found = append(found, strings.ReplaceAll(strings.TrimSpace(cell), "`", ""))
	}
	return found
}

// errorTypes are stoic's own values of error.type.
func errorTypes(t *testing.T) map[string]bool {
	t.Helper()
	values := make(map[string]bool)
	for _, row := range sectionOf(t, "error.type").tables[0] {
		values[row["value"]] = true
	}
	return values
}
