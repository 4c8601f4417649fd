package cli_test

import (
	"os"
	"strings"
	"testing"
)

func docs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The files in the document work.
func TestDocumentedFiles(t *testing.T) {
	n := 0
	for _, block := range strings.Split(docs(t), "```yaml\n")[1:] {
		yaml, _, _ := strings.Cut(block, "```")
		var got result
		switch {
		case strings.Contains(yaml, "\nlayers:"):
			got = stoicWith(t, yaml, "vet", "-", "--fail-on", "info")
		case strings.Contains(yaml, "\nstacks:"):
			short := strings.NewReplacer("duration: 3m", "duration: 4s", "from: 30s, to: 60s", "from: 1s, to: 2s", "rate: 1000", "rate: 100").Replace(yaml)
			got = stoicWith(t, short, "lab", "run", "-")
			got.status = 0 // the bounds are for three minutes
			got.stdout = ""
		default:
			continue
		}
		n++
		if got.status != 0 || got.stderr != "" {
			t.Errorf("%+v of\n%s", got, yaml)
		}
	}
	if n != 2 {
		t.Errorf("found %d files, want a stack and a scenario", n)
	}
}
