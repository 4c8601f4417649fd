package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stoic-go/stoic/cmd/stoic/internal/cli"
)

// result is what a command line did.
type result struct {
	status         int
	stdout, stderr string
}

func stoicWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	status := cli.Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return result{status, out.String(), errs.String()}
}

func command(t *testing.T, args ...string) result {
	t.Helper()
	return stoicWith(t, "", args...)
}

// inFolder makes an empty folder the current one, so that what a command writes is seen.
func inFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files are the names in the current folder.
func files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".") // hidden ones too
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
