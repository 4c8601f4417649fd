//go:build !race

package cli_test

import (
	"os"
	"strings"
	"testing"
)

// The comparison without arguments prints what the document shows, its bounds hold, and it
// writes the page. It lives through three minutes six times, which takes too long under
// the race detector.
func TestDefaultComparison(t *testing.T) {
	text := docs(t)
	inFolder(t)
	got := command(t, "lab", "compare")
	if got.status != 0 || !strings.HasSuffix(got.stderr, "wrote report.html\n") || strings.Count(got.stdout, "\nok    ") != 2 {
		t.Errorf("got %+v", got)
	}
	_, rest, _ := strings.Cut(got.stdout, "\n\nrequests that start")
	table, _, _ := strings.Cut(rest, "\n\n")
	if len(table) < 500 || !strings.Contains(text, "requests that start"+table+"\n") {
		t.Errorf("docs/cli.md has another table than\n%s", got.stdout)
	}
	if _, err := os.Stat("report.html"); err != nil {
		t.Error(err)
	}
}
