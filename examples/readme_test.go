package examples_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/retry"
)

const root = ".."

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestREADME_CodeIsThatOfCompiledFiles compares every Go block with the marked part of
// the file that the comment above it names.
func TestREADME_CodeIsThatOfCompiledFiles(t *testing.T) {
	readme := readFile(t, "README.md")
	blocks := regexp.MustCompile("(?s)<!-- from (\\S+) -->\n```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if got, want := len(blocks), strings.Count(readme, "```go\n"); got != want || got == 0 {
		t.Errorf("%d of %d Go blocks name the file that they are from", got, want)
	}
	for _, block := range blocks {
		file, got := block[1], block[2]
		_, rest, begins := strings.Cut(readFile(t, file), "// README: begin\n\n")
		want, _, ends := strings.Cut(rest, "\n// README: end\n")
		if !begins || !ends {
			t.Errorf("%s: no markers", file)
			continue
		}
		if got != want {
			t.Errorf("the block differs from %s:\n%s", file, want)
		}
		if n := strings.Count(got, "\n"); file == "examples/stack/main.go" && n > 25 {
			t.Errorf("the stack has %d lines, want at most 25", n)
		}
	}
}

// TestREADME_DefaultsAreThoseOfTheCode holds the table of policies in both directions.
func TestREADME_DefaultsAreThoseOfTheCode(t *testing.T) {
	want := map[string]string{
		"retry MaxAttempts(n)":           strconv.Itoa(retry.DefaultMaxAttempts),
		"retry FullJitter(base, max)":    fmt.Sprintf("%v, %v", retry.DefaultBase, retry.DefaultMax),
		"retry MaxRetryAfter(d)":         fmt.Sprint(retry.DefaultMaxRetryAfter),
		"retry If(f)":                    "all but rejections and canceled callers",
		"budget Ratio(r)":                fmt.Sprint(budget.DefaultRatio),
		"budget MinPerSecond(m)":         fmt.Sprint(budget.DefaultMinPerSecond),
		"budget Window(d)":               fmt.Sprint(budget.DefaultWindow),
		"breaker OpenFor(d)":             fmt.Sprint(breaker.DefaultOpenFor),
		"breaker Probes(n)":              strconv.Itoa(breaker.DefaultProbes),
		"breaker ProbeTimeout(d)":        fmt.Sprint(breaker.DefaultProbeTimeout),
		"breaker SlowCall(d)":            "off",
		"ratelimit New(limit, burst)":    "no default",
		"ratelimit Reject(), Wait(d)":    "Reject()",
		"deadline New(d)":                "no default",
		"breaker ConsecutiveFailures(n)": strconv.Itoa(breaker.DefaultConsecutiveFailures),
		"breaker FailureRate(ratio, calls, window)": fmt.Sprintf("%v, %v, %v",
			breaker.DefaultFailureRate, breaker.DefaultMinCalls, breaker.DefaultWindow),
	}
	for _, row := range rows(readFile(t, "README.md"), "| Policy | Option | Default |") {
		option := strings.Trim(row[0], "`") + " " + strings.Trim(row[1], "`")
		got, ok := want[option]
		if !ok {
			t.Errorf("the test does not know %q", option)
		}
		if row[2] != got {
			t.Errorf("%s: the README says %q, the code %q", option, row[2], got)
		}
		delete(want, option)
	}
	for option := range want {
		t.Errorf("%s is not in the README", option)
	}
}

// rows returns the cells of the table that begins with header. An empty first cell is
// that of the row above.
func rows(text, header string) [][]string {
	var all [][]string
	_, table, _ := strings.Cut(text, header)
	for i, l := range strings.Split(table, "\n") {
		if i < 2 {
			continue // the rest of the header, and the rule
		}
		if !strings.HasPrefix(l, "|") {
			break
		}
		cells := strings.Split(strings.Trim(l, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "" && len(all) > 0 {
			cells[0] = all[len(all)-1][0]
		}
		all = append(all, cells)
	}
	return all
}

// TestREADME_NamesTestsThatExist keeps the README from relying on tests that are gone.
func TestREADME_NamesTestsThatExist(t *testing.T) {
	var tests strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b(Test|Benchmark)[A-Z]\w+`).FindAllString(readFile(t, "README.md"), -1)
	if len(names) == 0 {
		t.Error("the README names no test")
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestREADME_LinksLeadSomewhere covers links inside the repository, and headings.
func TestREADME_LinksLeadSomewhere(t *testing.T) {
	readme := readFile(t, "README.md")
	anchors := make(map[string]bool)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readme, -1) {
		anchors[anchor(heading[1])] = true
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(readme, -1) {
		path, fragment, _ := strings.Cut(link[1], "#")
		switch {
		case strings.Contains(path, "://"):
		case path == "" && !anchors[fragment]:
			t.Errorf("no heading for #%s", fragment)
		case path != "":
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Error(err)
			}
		}
	}
}

// anchor is how GitHub links to a heading.
func anchor(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
	return regexp.MustCompile(`[^a-z0-9_-]`).ReplaceAllString(heading, "")
}
