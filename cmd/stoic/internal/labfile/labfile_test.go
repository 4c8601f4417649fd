package labfile_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic/cmd/stoic/internal/labfile"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/scenarios"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
	"github.com/stoic-go/stoic/lab"
)

func load(t *testing.T, text string) *labfile.File {
	t.Helper()
	f, err := source.Parse("lab.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := labfile.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file makes the scenario that the same values make in Go.
func TestFileIsTheScenarioInGo(t *testing.T) {
	const server = "server: {service: 1ms}\n"
	one := lab.Server{Service: lab.Fixed(time.Millisecond)}
	tests := []struct {
		name, yaml string
		want       lab.Scenario
	}{
		{"the least", "clients: {rate: 2.5}\n" + server, lab.Scenario{Clients: lab.Clients{Rate: 2.5}, Server: one}},
		{"everything about the server", `clients: {rate: 1}
drain: 5s
window: 100ms
recovery: {window: 3s, success: 0.9}
server:
  workers: 3
  service: {log_normal: {median: 10ms, p99: 1s}}
  hop: {uniform: {low: 1ms, high: 2ms}}
  queue: 7
  full: ignore
  reject_cost: 0.5
  drop: too_late
  cut_abandoned: true
`, lab.Scenario{
			Clients: lab.Clients{Rate: 1}, Drain: 5 * time.Second, Window: 100 * time.Millisecond,
			Recovery: lab.Recovery{Window: 3 * time.Second, Success: 0.9},
			Server: lab.Server{
				Workers: 3, Service: lab.LogNormal(10*time.Millisecond, time.Second), Hop: lab.Uniform(time.Millisecond, 2*time.Millisecond),
				Queue: 7, Full: lab.IgnoreFull, RejectCost: 0.5, Drop: lab.DropTooLate, CutAbandoned: true,
			},
		}},
		{"no queue", "clients: {rate: 1}\nserver: {service: {erlang: {k: 3, mean: 1s}}, workers: 1, queue: 0, full: reject, drop: expired}\n", lab.Scenario{
			Clients: lab.Clients{Rate: 1},
			Server:  lab.Server{Service: lab.Erlang(3, time.Second), Workers: 1, Queue: lab.NoQueue, Drop: lab.DropExpired},
		}},
		{"a server that slows down", "clients: {rate: 1}\nserver: {service: {normal: {mean: 1s, sd: 1ms}}, slowdown: 10ms}\n", lab.Scenario{
			Clients: lab.Clients{Rate: 1}, Server: lab.Server{Service: lab.Normal(time.Second, time.Millisecond), Slowdown: 10 * time.Millisecond},
		}},
		{"two kinds of calls", "clients: {rate: 1}\nserver: {service: {mix: {share: 0.1, rare: 1s, usual: {exp: 1ms}}}}\n", lab.Scenario{
			Clients: lab.Clients{Rate: 1}, Server: lab.Server{Service: lab.Mix(0.1, lab.Fixed(time.Second), lab.Exp(time.Millisecond))},
		}},
		{"a load", "clients: {processes: 4, shared: true, even: true, load: [{at: 0s, rate: 1}, {at: 1m, rate: 20}]}\n" + server, lab.Scenario{
			Clients: lab.Clients{Processes: 4, Shared: true, Even: true, Load: []lab.LoadPoint{{Rate: 1}, {At: time.Minute, Rate: 20}}}, Server: one,
		}},
		{"a burst", "clients: {burst: 9}\n" + server, lab.Scenario{Clients: lab.Clients{Burst: 9}, Server: one}},
		{"a loop", "clients: {loop: {users: 3, think: {exp: 1s}, requests: 5}}\n" + server, lab.Scenario{
			Clients: lab.Clients{Loop: 3, Think: lab.Exp(time.Second), Requests: 5}, Server: one,
		}},
		{"faults", "clients: {rate: 1}\n" + server + `faults:
  - fail_fast: {from: 0s, to: 1s, share: 0.5, latency: 2ms, ramp: 1s}
  - black_hole: {from: 1s, to: 2s, share: 0.25}
  - brown_out: {from: 2s, to: 3s, speed: 0.75}
  - hold: {from: 3s, to: 4s}
`, lab.Scenario{Clients: lab.Clients{Rate: 1}, Server: one, Faults: []lab.Fault{
			{Kind: lab.FailFast, To: time.Second, Share: 0.5, Latency: 2 * time.Millisecond, Ramp: time.Second},
			{Kind: lab.BlackHole, From: time.Second, To: 2 * time.Second, Share: 0.25},
			{Kind: lab.BrownOut, From: 2 * time.Second, To: 3 * time.Second, Speed: 0.75},
			{Kind: lab.Hold, From: 3 * time.Second, To: 4 * time.Second},
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Name, tt.want.Duration = "x", time.Minute
			if got := load(t, "name: x\nduration: 1m\n"+tt.yaml).Scenario; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// Every field of what the lab models can be said in a file.
func TestEveryFieldIsInTheSchema(t *testing.T) {
	inGo := map[string]string{ // not in a file, or under another name
		"Scenario.Seed": "seeds", "Scenario.Op": "a function", "Scenario.Wait": "only deadlines end attempts of these policies",
		"Scenario.Progress": "a function", "Scenario.Stall": "of the machine", "Recovery.From": "the end of the last fault",
		"Clients.Think": "loop.think", "Clients.Requests": "loop.requests", "Fault.Kind": "the name of the fault",
	}
	var doc struct {
		Properties map[string]struct {
			Properties map[string]any
			Items      struct {
				Properties map[string]struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal(schema.Scenario, &doc); err != nil {
		t.Fatal(err)
	}
	known := map[string]map[string]any{
		"Scenario": {}, "Clients": doc.Properties["clients"].Properties,
		"Server": doc.Properties["server"].Properties, "Recovery": doc.Properties["recovery"].Properties, "Fault": {},
	}
	for name := range doc.Properties {
		known["Scenario"][name] = true
	}
	for _, kind := range doc.Properties["faults"].Items.Properties {
		for name := range kind.Properties {
			known["Fault"][name] = true
		}
	}
	for _, v := range []any{lab.Scenario{}, lab.Clients{}, lab.Server{}, lab.Recovery{}, lab.Fault{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name := reflect.TypeOf(v).Name() + "." + field.Name
			if !field.IsExported() || inGo[name] != "" {
				continue
			}
			if known[reflect.TypeOf(v).Name()][snake(field.Name)] == nil {
				t.Errorf("%s: there is no %s in the schema", name, snake(field.Name))
			}
		}
	}
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

func TestSeedsAndStacks(t *testing.T) {
	const rest = "name: x\nduration: 1m\nclients: {rate: 1}\nserver: {service: 1ms}\n"
	if got := load(t, rest).Seeds; !slices.Equal(got, []uint64{1}) {
		t.Errorf("got seeds %v", got)
	}
	f := load(t, rest+"seeds: [3, 0, 4294967295]\nstacks: [{name: a, layers: []}, {name: b, layers: [retry: {}]}]\n")
	if !slices.Equal(f.Seeds, []uint64{3, 0, 4294967295}) || len(f.Stacks) != 2 || f.Stacks[1].Name != "b" {
		t.Errorf("got %+v", f)
	}
}

// The scenarios that the command brings along have the six stacks that are compared.
func TestScenarios(t *testing.T) {
	want := []string{"no retry", "bare retry", "retry with budget", "breaker outside", "breaker inside", "recommended"}
	if !slices.Contains(scenarios.Names(), scenarios.Default) {
		t.Errorf("there is no %s in %q", scenarios.Default, scenarios.Names())
	}
	for _, name := range scenarios.Names() {
		data, _ := scenarios.Read(name)
		f := load(t, string(data))
		var got []string
		for _, s := range f.Stacks {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) || f.Name != name || f.About == "" || len(f.Bounds) == 0 {
			t.Errorf("%s: got %q, stacks %q and %d bounds", name, f.Name, got, len(f.Bounds))
		}
	}
}
