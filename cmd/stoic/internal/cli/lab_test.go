package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoic-go/stoic/cmd/stoic/scenarios"
)

// small is an outage that takes milliseconds to live through.
const small = `name: small
about: A server that refuses every request for two seconds.
duration: 6s
clients: {processes: 5, rate: 100}
server: {workers: 20, service: {exp: 20ms}, hop: 1ms}
faults:
  - fail_fast: {from: 2s, to: 4s}
stacks:
  - name: bare
    layers:
      - retry: {max_attempts: 4, full_jitter: {base: 10ms, max: 1s}}
      - deadline: 200ms
  - name: careful
    layers:
      - deadline: 1s
      - budget: {}
      - retry: {}
      - breaker: {name: db, consecutive_failures: 5, open_for: 500ms}
      - deadline: 200ms
`

const boundsThatHold = `
assert:
  - {stack: careful, metric: amplification, over: fault, at_most: 1}
  - {stack: bare, metric: amplification, over: fault, at_least: 2, at_most: 4}
  - {metric: recovery, at_most: 2s}
  - {metric: good_p99, at_least: 1ms}
  - {metric: failed_p99, at_most: 10s}
`

func TestLabList(t *testing.T) {
	got := command(t, "lab", "list")
	lines := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	if got.status != 0 || got.stderr != "" || len(lines) != len(scenarios.Names()) {
		t.Fatalf("got %+v", got)
	}
	for i, name := range scenarios.Names() {
		if !strings.HasPrefix(lines[i], name+" ") || !strings.HasSuffix(lines[i], ".") {
			t.Errorf("got %q, want %s and what it is", lines[i], name)
		}
	}
}

// What show prints is a scenario file.
func TestLabShow(t *testing.T) {
	for _, name := range scenarios.Names() {
		shown := command(t, "lab", "show", name)
		if shown.status != 0 || !strings.Contains(shown.stdout, "\nname: "+name+"\n") {
			t.Fatalf("got %+v", shown)
		}
		broken := strings.Replace(shown.stdout, "duration: 3m", "duration: 3", 1)
		got := stoicWith(t, broken, "lab", "run", "-")
		if want := "stdin:5:11: duration: got 3, expected a duration with a unit, like 500ms, 2s or 1m30s\n"; got.status != 2 || got.stderr != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}

func TestLabRunPrintsATable(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", small+boundsThatHold)
	got := command(t, "lab", "run", "small.yaml")
	if got.status != 0 || got.stderr != "" {
		t.Fatalf("got %+v", got)
	}
	for _, want := range []string{
		"small\nA server that refuses every request for two seconds.\n",
		"clients  5 processes with a stack each, 100 requests a second\n",
		"server   20 workers, exp 20ms, fixed 1ms on the network each way\n",
		"fault    fail fast from 2s to 4s\n",
		"run      6s of virtual time, seed 1\n",
		"requests that start during the fault\n  stack    amplification  success  rejected  good p50  good p99  failed p99  recovery\n  bare  ",
		"the whole run\n  stack    amplification  success  rejected  good p50  good p99  failed p99  peak/10ms  breaker open\n  bare  ",
		"\nok    careful: amplification over the fault at most 1: got 0.",
		"\nok    bare: amplification over the fault at least 2 and at most 4: got 3.",
		"\nok    bare: recovery at most 2s: got ",
		"\nok    careful: recovery at most 2s: got ",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if all := files(t); len(all) != 1 {
		t.Errorf("files afterwards: %q", all)
	}
}

// A bound that does not hold is exit status 1, and the page is written all the same.
func TestLabBoundFails(t *testing.T) {
	for _, tt := range []struct{ bound, want string }{
		{"{stack: bare, metric: amplification, over: fault, at_most: 1.2}", "FAIL  bare: amplification over the fault at most 1.2: got 3."},
		{"{stack: careful, metric: success, at_least: 0.999}", "FAIL  careful: success at least 0.999: got 0."},
		{"{stack: careful, metric: good_p99, at_most: 1ms}", "FAIL  careful: good_p99 at most 1ms: got "},
		{"{stack: bare, metric: recovery, at_least: 1h}", "FAIL  bare: recovery at least 1h: got "},
		{"{metric: peak_10ms, at_most: 0}", "FAIL  careful: peak_10ms at most 0: got "},
		{"{stack: careful, metric: good_p50, over: fault, at_least: 1h}", "FAIL  careful: good_p50 over the fault at least 1h: got "},
	} {
		t.Run(tt.bound, func(t *testing.T) {
			inFolder(t)
			write(t, "small.yaml", small+"assert:\n  - "+tt.bound+"\n")
			got := command(t, "lab", "compare", "small.yaml")
			if got.status != 1 || got.stderr != "wrote report.html\n" || !strings.Contains(got.stdout, tt.want) {
				t.Errorf("got %+v, want status 1 and %q", got, tt.want)
			}
			if _, err := os.Stat("report.html"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A bound on the latency of failures holds when there are none.
func TestLabBoundOnNothing(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", strings.Replace(small, "faults:\n  - fail_fast: {from: 2s, to: 4s}\n", "", 1)+"assert: [{stack: bare, metric: failed_p99, at_most: 1ms}]\n")
	got := command(t, "lab", "run", "small.yaml")
	if got.status != 0 || !strings.Contains(got.stdout, "\nok    bare: failed_p99 at most 1ms: got none\n") {
		t.Errorf("got %+v", got)
	}
}

// Clients that are never served again have not recovered, however late the bound.
func TestLabNeverRecovers(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", strings.Replace(small, "to: 4s", "to: 6s", 1)+"assert: [{stack: bare, metric: recovery, at_most: 1000h}]\n")
	got := command(t, "lab", "run", "small.yaml")
	if got.status != 1 || !strings.Contains(got.stdout, "FAIL  bare: recovery at most 1000h: got never\n") {
		t.Errorf("got %+v", got)
	}
}

// The same file gives the same bytes: table, JSON and page, at one processor and at two.
func TestLabIsRepeatable(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", small+boundsThatHold)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var first [3]string
	for i := range 4 {
		runtime.GOMAXPROCS(1 + i%2)
		var got [3]string
		got[0] = command(t, "lab", "compare", "small.yaml", "--seed", "3,4").stdout
		got[1] = command(t, "lab", "run", "small.yaml", "--seed", "3", "--seed=4", "--json", "--series").stdout
		page, err := os.ReadFile("report.html")
		if err != nil {
			t.Fatal(err)
		}
		got[2] = string(page)
		if i == 0 {
			first = got
		}
		if got != first {
			t.Errorf("run %d differs from the first", i)
		}
	}
	if other := command(t, "lab", "run", "small.yaml", "--seed", "5").stdout; strings.Contains(first[0], other) {
		t.Error("another seed gave the same")
	}
}

// labJSON is a part of what --json prints.
type labJSON struct {
	Scenario string
	Stacks   []struct {
		Stack   string
		Results []struct {
			Seed          uint64
			Requests      uint64
			Amplification float64
			Ties          uint64
			Fault         *struct{ Amplification float64 }
			Series        []struct{ Load float64 }
		}
	}
	Assert []struct {
		Text, Got string
		OK        bool
	}
	OK bool
}

func TestLabJSON(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", small+"assert: [{stack: bare, metric: amplification, at_most: 1}, {stack: bare, metric: success, at_least: 0.1}]\n")
	for _, series := range []bool{false, true} {
		got := command(t, "lab", "run", "small.yaml", "--json", "--seed", "7,8", fmt.Sprintf("--series=%v", series))
		var doc labJSON
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
			t.Fatal(err)
		}
		if got.status != 1 || doc.Scenario != "small" || len(doc.Stacks) != 2 || doc.OK || len(doc.Assert) != 2 || doc.Assert[0].OK || !doc.Assert[1].OK {
			t.Fatalf("got %d %+v", got.status, doc)
		}
		for _, s := range doc.Stacks {
			for i, r := range s.Results {
				if r.Seed != uint64(7+i) || r.Requests < 400 || r.Fault == nil || r.Ties != 0 || (len(r.Series) > 0) != series {
					t.Errorf("got %+v", r)
				}
			}
		}
		if bare, careful := doc.Stacks[0].Results[0], doc.Stacks[1].Results[0]; bare.Fault.Amplification <= 2*careful.Fault.Amplification {
			t.Errorf("got %v for bare and %v for careful", bare.Fault.Amplification, careful.Fault.Amplification)
		}
	}
}

// --stack tries stacks of files instead of those of the scenario.
func TestLabStack(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", small)
	write(t, "mine.yaml", "name: mine\nlayers: [deadline: 100ms]\n")
	write(t, "other.yaml", "name: other\nlayers: [retry: {constant: 0s}, deadline: 100ms]\n")
	got := command(t, "lab", "run", "small.yaml", "--stack", "mine.yaml", "--stack", "other.yaml")
	if got.status != 0 || !strings.Contains(got.stdout, "\n  mine ") || !strings.Contains(got.stdout, "\n  other ") || strings.Contains(got.stdout, "bare") {
		t.Errorf("got %+v", got)
	}
}

// compare writes its page where it is told to, as a whole, over an older one.
func TestLabOut(t *testing.T) {
	dir := inFolder(t)
	write(t, "small.yaml", small)
	write(t, "page.html", "an older page")
	got := command(t, "lab", "compare", "small.yaml", "--out", filepath.Join(dir, "page.html"))
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	if got.status != 0 || got.stderr != "wrote "+filepath.Join(dir, "page.html")+"\n" || !strings.HasSuffix(string(page), "</html>\n") {
		t.Errorf("got %+v and a page of %d bytes", got, len(page))
	}
	if all := files(t); len(all) != 2 {
		t.Errorf("files afterwards: %q", all)
	}
}

// A bad command line for the lab: one line, exit status 2, nothing printed or written.
func TestLabBadCommandLine(t *testing.T) {
	stackless, _, _ := strings.Cut(small, "stacks:")
	known := strings.Join(scenarios.Names(), ", ")
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"run", "blackout"}, `there is no scenario "blackout", expected a file or one of ` + known},
		{[]string{"compare", "blackout"}, `there is no scenario "blackout", expected a file or one of ` + known},
		{[]string{"show", "blackout"}, `there is no scenario "blackout", expected a file or one of ` + known},
		{[]string{"run", "./none.yaml"}, `open ./none.yaml: no such file or directory`},
		{[]string{"run"}, `accepts 1 arg(s), received 0`},
		{[]string{"run", "small.yaml", "--seed", "-1"}, `invalid argument "-1" for "--seed" flag: strconv.ParseUint: parsing "-1": invalid syntax`},
		{[]string{"run", "small.yaml", "--series"}, `--series is for --json`},
		{[]string{"run", "small.yaml", "--stack", "none.yaml"}, `open none.yaml: no such file or directory`},
		{[]string{"run", "small.yaml", "--stack", "mine.yaml,mine.yaml"}, `--stack mine.yaml: there are two stacks with the name "mine"`},
		{[]string{"run", "small.yaml", "--stack", "wrong.yaml"}, `wrong.yaml:2:20: layers[0].deadline: got 1, expected a duration with a unit, like 500ms, 2s or 1m30s`},
		{[]string{"run", "nostacks.yaml"}, `nostacks.yaml: "stacks" is missing, expected a list of at least one stack, or --stack`},
		{[]string{"compare", "small.yaml", "--out", "none/report.html"}, `--out: stat none: no such file or directory`},
		{[]string{"compare", "small.yaml", "--out", "small.yaml/report.html"}, `--out: small.yaml is not a folder`},
		{[]string{"compare", "small.yaml", "--out", "."}, `--out: . is a folder, expected a file`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			inFolder(t)
			write(t, "small.yaml", small)
			write(t, "mine.yaml", "name: mine\nlayers: []\n")
			write(t, "wrong.yaml", "name: mine\nlayers: [deadline: 1]\n")
			write(t, "nostacks.yaml", stackless)
			before := files(t)
			got := command(t, append([]string{"lab"}, tt.args...)...)
			if want := (result{status: 2, stderr: tt.want + "\n"}); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if after := files(t); len(after) != len(before) {
				t.Errorf("files afterwards: %q", after)
			}
		})
	}
}
