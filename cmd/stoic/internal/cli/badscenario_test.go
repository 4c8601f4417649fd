package cli_test

import (
	"strings"
	"testing"
)

// base is a scenario without a mistake.
const base = `name: small
duration: 6s
clients: {processes: 5, rate: 100}
server: {workers: 20, service: {exp: 20ms}}
faults:
  - black_hole: {from: 2s, to: 4s}
stacks:
  - name: bare
    layers: [retry: {}]
assert:
  - {stack: bare, metric: success, at_least: 0.5}
`

// Every kind of mistake in a scenario gives one clear error that says where it is and
// what was expected, and exit status 2; nothing is written.
func TestBadScenario(t *testing.T) {
	tests := []struct {
		name   string
		change []string // what becomes what
		want   string
	}{
		{"an unknown name", []string{"faults:", "fault:"}, "small.yaml:5:1: unknown name \"fault\", did you mean \"faults\"?"},
		{"an unknown fault", []string{"black_hole", "blackhole"}, "small.yaml:6:5: faults[0]: unknown name \"blackhole\", did you mean \"black_hole\"?"},
		{"an unknown distribution", []string{"{exp: 20ms}", "{poisson: 20ms}"}, "small.yaml:4:33: server.service: unknown name \"poisson\", expected one of erlang, exp, log_normal, mix, normal, uniform"},
		{"no duration", []string{"duration: 6s\n", ""}, "small.yaml:1:1: \"duration\" is missing, expected a duration with a unit, like 500ms, 2s or 1m30s"},
		{"a duration without a unit", []string{"duration: 6s", "duration: 6"}, "small.yaml:2:11: duration: got 6, expected a duration with a unit, like 500ms, 2s or 1m30s"},
		{"no time at all", []string{"duration: 6s", "duration: 0s"}, "small.yaml:2:11: duration: got 0s: must be above 0 and at most 10000h0m0s"},
		{"a service time without a unit", []string{"{exp: 20ms}", "20"}, "small.yaml:4:32: server.service: got 20, expected a time like 50ms, or one of exp, uniform, normal, log_normal, erlang and mix"},
		{"a mean of nothing", []string{"{exp: 20ms}", "{exp: 0s}"}, "small.yaml:4:32: server.service: got exp 0s: the mean must be positive"},
		{"two distributions", []string{"{exp: 20ms}", "{exp: 20ms, uniform: {low: 1ms, high: 2ms}}"}, "small.yaml:4:32: server.service: got \"exp\" and \"uniform\", expected a time like 50ms, or one of exp, uniform, normal, log_normal, erlang and mix"},
		{"low above high", []string{"{exp: 20ms}", "{uniform: {low: 2ms, high: 1ms}}"}, "small.yaml:4:32: server.service: got uniform 2ms to 1ms: must not be negative, and low not above high"},
		{"a wrong part of a mixture", []string{"{exp: 20ms}", "{mix: {share: 0.1, rare: {erlang: {k: 2, mean: 0s}}, usual: 1ms}}"}, "small.yaml:4:57: server.service.mix.rare: got erlang 2 of 0s: the mean must be positive, and k from 1 to 10000"},
		{"a fault that ends before it begins", []string{"to: 4s", "to: 1s"}, "small.yaml:6:32: faults[0].black_hole.to: got 1s, expected a time after from, which is 2s"},
		{"a share in percent", []string{"to: 4s", "to: 4s, share: 30"}, "small.yaml:6:43: faults[0].black_hole.share: got 30, expected a share above 0 and at most 1"},
		{"a speed for a black hole", []string{"to: 4s", "to: 4s, speed: 0.2"}, "small.yaml:6:36: faults[0].black_hole: unknown name \"speed\", expected one of from, ramp, share, to"},
		{"no speed for a brown-out", []string{"black_hole", "brown_out"}, "small.yaml:6:16: faults[0].brown_out: \"speed\" is missing, expected a number above 0 and below 1"},
		{"a ramp longer than the fault", []string{"to: 4s", "to: 4s, ramp: 3s"}, "small.yaml:6:42: faults[0].black_hole.ramp: got 3s: must be from 0 to the length of the fault"},
		{"a rate and a loop", []string{"rate: 100", "rate: 100, loop: {users: 3}"}, "small.yaml:3:42: clients.loop: rate is there too, expected one of rate, load, burst and loop"},
		{"nothing that says when", []string{"processes: 5, rate: 100", "processes: 5"}, "small.yaml:3:10: clients: nothing says when requests start, expected one of rate, load, burst and loop"},
		{"a rate of nothing", []string{"rate: 100", "rate: 0"}, "small.yaml:3:31: clients.rate: got 0, expected a number of requests a second, above 0"},
		{"points out of order", []string{"rate: 100", "load: [{at: 1s, rate: 1}, {at: 0s, rate: 2}]"}, "small.yaml:3:56: clients.load[1].at: got 0s: must not be before the point before it, nor after 10000h0m0s"},
		{"even for a loop", []string{"rate: 100", "loop: {users: 3}, even: true"}, "small.yaml:3:49: clients.even: even is for rate and load, not for loop"},
		{"too much to think", []string{"rate: 100", "loop: {users: 3, think: {exp: 100000h}}"}, "small.yaml:3:49: clients.loop.think: got exp 100000h0m0s: the mean must be positive; at most 10000h0m0s"},
		{"a queue without workers", []string{"workers: 20, ", "queue: 20, "}, "small.yaml:4:17: server.queue: got 20: needs workers"},
		{"a cost of refusals without a queue", []string{"workers: 20", "workers: 20, reject_cost: 0.1"}, "small.yaml:4:36: server.reject_cost: got 0.1: needs a limited queue"},
		{"a word that is none of those allowed", []string{"workers: 20", "workers: 20, drop: late"}, "small.yaml:4:29: server.drop: got \"late\", expected none, expired or too_late"},
		{"too many windows", []string{"duration: 6s", "duration: 100h\nwindow: 1s"}, "small.yaml:3:9: window: got 1s: duration and drain are 100h1m0s, and a run keeps at most 20000 windows"},
		{"a window of nothing", []string{"duration: 6s", "duration: 6s\nwindow: 0s"}, "small.yaml:3:9: window: got \"0s\", expected a duration above 0"},
		{"a wrong stack", []string{"retry: {}", "retry: {max_attempts: 0}"}, "small.yaml:9:36: stacks[0].layers[0].retry.max_attempts: got 0, expected a whole number of at least 1 (the first call counts), or unlimited"},
		{"an order that cannot work", []string{"[retry: {}]", "[budget: {}]"}, "small.yaml:9:14: stacks[0].layers[0].budget: no retry inside it draws on it, so it limits nothing. Fix: put it around a retry, or remove it."},
		{"two stacks of one name", []string{"stacks:\n", "stacks:\n  - {name: bare, layers: []}\n"}, "small.yaml:9:11: stacks[1].name: there are two stacks with the name \"bare\""},
		{"an empty list of stacks", []string{"stacks:\n  - name: bare\n    layers: [retry: {}]\n", "stacks: []\n"}, "small.yaml:7:9: stacks: the list is empty, expected a list of at least one stack"},
		{"a bound on another stack", []string{"{stack: bare", "{stack: bear"}, "small.yaml:11:13: assert[0].stack: there is no stack with the name \"bear\""},
		{"an unknown metric", []string{"metric: success", "metric: succes"}, "small.yaml:11:27: assert[0].metric: got \"succes\", expected amplification, success, goodput, good_p50, good_p99, failed_p50, failed_p99, recovery, peak_10ms, open_share or rejected_share"},
		{"no bound", []string{"at_least: 0.5", "over: run"}, "small.yaml:11:5: assert[0]: \"at_least\" or \"at_most\" is missing"},
		{"a time for a number", []string{"at_least: 0.5", "at_least: 5s"}, "small.yaml:11:46: assert[0].at_least: got \"5s\", expected a number for success"},
		{"a number for a time", []string{"success, at_least: 0.5", "good_p99, at_most: 2"}, "small.yaml:11:46: assert[0].at_most: got 2, expected a duration with a unit, like 500ms, 2s or 1m30s, for good_p99"},
		{"a bound on a fault that there is not", []string{"faults:\n  - black_hole: {from: 2s, to: 4s}\n", "", "{stack: bare, metric: success", "{stack: bare, over: fault, metric: success"}, "small.yaml:9:25: assert[0].over: there are no faults"},
		{"a recovery of nothing", []string{"faults:\n  - black_hole: {from: 2s, to: 4s}\n", "", "success, at_least: 0.5", "recovery, at_most: 2s"}, "small.yaml:9:27: assert[0].metric: there are no faults to recover from"},
		{"a seed twice", []string{"duration: 6s", "duration: 6s\nseeds: [1, 2, 1]"}, "small.yaml:3:15: seeds[2]: 1 stands twice"},
		{"a negative seed", []string{"duration: 6s", "duration: 6s\nseeds: [-1]"}, "small.yaml:3:9: seeds[0]: got -1, expected a whole number from 0 to 4294967295"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFolder(t)
			text := base
			for i := 0; i < len(tt.change); i += 2 {
				if !strings.Contains(text, tt.change[i]) {
					t.Fatalf("there is no %q to change", tt.change[i])
				}
				text = strings.Replace(text, tt.change[i], tt.change[i+1], 1)
			}
			write(t, "small.yaml", text)
			for _, verb := range []string{"run", "compare"} {
				if got, want := command(t, "lab", verb, "small.yaml"), (result{status: 2, stderr: tt.want + "\n"}); got != want {
					t.Errorf("%s: got  %+v\nwant %+v", verb, got, want)
				}
			}
			if all := files(t); len(all) != 1 {
				t.Errorf("files afterwards: %q", all)
			}
		})
	}
}

// The scenario that the mistakes are made in has none.
func TestBaseScenarioIsFine(t *testing.T) {
	inFolder(t)
	write(t, "small.yaml", base)
	if got := command(t, "lab", "run", "small.yaml"); got.status != 0 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}
