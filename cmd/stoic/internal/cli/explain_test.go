package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

const recommended = `name: payments
layers:
  - deadline: 2s
  - budget: {}
  - retry: {}
  - breaker: {name: payments}
  - ratelimit: {limit: 100/s, burst: 20}
  - deadline: 500ms
`

func inGo() *stoic.Pipeline {
	return stoic.MustNew("payments", deadline.New(2*time.Second), budget.New(), retry.New(), breaker.New("payments"),
		ratelimit.New(100, 20), deadline.New(500*time.Millisecond))
}

func TestExplain(t *testing.T) {
	inFolder(t)
	write(t, "stack.yaml", recommended)
	want, err := json.MarshalIndent(inGo().Explain(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"text", []string{"explain", "stack.yaml"}, inGo().Explain().String()},
		{"mermaid", []string{"explain", "stack.yaml", "--mermaid"}, inGo().Explain().Mermaid()},
		{"json", []string{"explain", "--json", "stack.yaml"}, unescaped(string(want)) + "\n"},
		{"standard input", []string{"explain", "-"}, inGo().Explain().String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := stoicWith(t, recommended, tt.args...)
			if want := (result{stdout: tt.want}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// unescaped takes back what package json does for the sake of HTML.
func unescaped(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

func TestVet(t *testing.T) {
	const bare = "name: payments\nlayers:\n  - deadline: 2s\n  - retry:\n      max_attempts: 2\n  - deadline: 1s\n"
	const outside = "name: payments\nlayers:\n  - breaker: {name: db}\n  - deadline: 3s\n  - budget:\n  - retry:\n  - deadline: 1s\n"
	for _, tt := range []struct {
		name, yaml string
		args       []string
		status     int
		want       string // a part of the output; empty: none at all
	}{
		{"nothing to find", recommended, nil, 0, ""},
		{"a warning", bare, nil, 1, "stack.yaml:4:5: warn retry-without-budget: layer 2 (retry): "},
		{"a warning that is ignored", bare, []string{"--ignore", "retry-without-budget"}, 0, ""},
		{"two are ignored", bare, []string{"--ignore=opaque-layer,retry-without-budget"}, 0, ""},
		{"a warning that does not count", bare, []string{"--fail-on", "never"}, 0, "warn retry-without-budget"},
		{"only something to know", outside, nil, 0, "stack.yaml:3:5: info breaker-outside-retry: "},
		{"something to know that counts", outside, []string{"--fail-on=info"}, 1, "info breaker-outside-retry"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inFolder(t)
			write(t, "stack.yaml", tt.yaml)
			got := command(t, append([]string{"vet", "stack.yaml"}, tt.args...)...)
			if got.status != tt.status || got.stderr != "" || !strings.Contains(got.stdout, tt.want) || (tt.want == "") != (got.stdout == "") {
				t.Errorf("got %+v, want status %d and %q", got, tt.status, tt.want)
			}
		})
	}
}

func TestVetJSON(t *testing.T) {
	got := stoicWith(t, "name: payments\nlayers:\n  - deadline: 2s\n  - retry: {max_attempts: 2}\n  - deadline: 1s\n", "vet", "-", "--json")
	var findings []struct {
		File, Code, Level string
		Line, Column      int
		Layers            []int
	}
	if err := json.Unmarshal([]byte(got.stdout), &findings); err != nil {
		t.Fatal(err)
	}
	if got.status != 1 || len(findings) != 1 {
		t.Fatalf("got %+v", got)
	}
	if f := findings[0]; f.File != "stdin" || f.Line != 4 || f.Column != 5 || f.Code != "retry-without-budget" || f.Level != "warn" || f.Layers[0] != 2 {
		t.Errorf("got %+v", f)
	}
	if got := stoicWith(t, recommended, "vet", "-", "--json"); got != (result{stdout: "[]\n"}) {
		t.Errorf("got %+v, want an empty list", got)
	}
}

func TestSchema(t *testing.T) {
	for _, name := range []string{"stack", "scenario"} {
		want, err := os.ReadFile("../../schema/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if got := command(t, "schema", name); got != (result{stdout: string(want)}) {
			t.Errorf("got %+v", got)
		}
	}
}

// What is wrong with a command line is one line, exit status 2, and nothing on stdout.
func TestBadCommandLine(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"explode"}, `unknown command "explode" for "stoic"`},
		{[]string{"explain"}, `accepts 1 arg(s), received 0`},
		{[]string{"explain", "a", "b"}, `accepts 1 arg(s), received 2`},
		{[]string{"explain", "--yaml", "a"}, `unknown flag: --yaml`},
		{[]string{"explain", "--json", "--mermaid", "-"}, `--json and --mermaid exclude each other`},
		{[]string{"explain", "none.yaml"}, `open none.yaml: no such file or directory`},
		{[]string{"explain", "."}, `read .: is a directory`},
		{[]string{"vet", "-", "--ignore", "nested-retries"}, `--ignore: got "nested-retries", expected one of attempt-not-below-total, backoff-exceeds-deadline, ` +
			`breaker-outside-limiter, breaker-outside-retry, breaker-window-small, deadline-per-attempt-only, deadline-total-only, limiter-outside-retry, ` +
			`limiter-wait-inside-deadline, nested-retry, opaque-layer, retry-of-rejections, retry-without-budget, retry-without-jitter`},
		{[]string{"vet", "-", "--fail-on", "error"}, `--fail-on: got "error", expected info, warn or never`},
		{[]string{"schema", "lab"}, `schema: got "lab", expected stack or scenario`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			inFolder(t)
			if got, want := stoicWith(t, recommended, tt.args...), (result{status: 2, stderr: tt.want + "\n"}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}
