package cli_test

import "testing"

// Every kind of mistake in a stack gives one clear error that says where it is and what
// was expected, and exit status 2; nothing is written.
func TestBadStack(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{
			"an unknown option", "name: payments\nlayers:\n  - retry: {max_attempt: 3}\n",
			"stack.yaml:3:13: layers[0].retry: unknown name \"max_attempt\", did you mean \"max_attempts\"?",
		},
		{
			"an unknown layer", "name: payments\nlayers:\n  - bulkhead: {slots: 3}\n",
			"stack.yaml:3:5: layers[0]: unknown name \"bulkhead\", expected one of breaker, budget, deadline, ratelimit, retry, stack",
		},
		{
			"an unknown name at the top", "name: p\nlayer:\n  - retry: {}\nlayers: []\n",
			"stack.yaml:2:1: unknown name \"layer\", did you mean \"layers\"?",
		},
		{
			"a duration that is a number", "name: payments\nlayers:\n  - deadline: 5\n",
			"stack.yaml:3:15: layers[0].deadline: got 5, expected a duration with a unit, like 500ms, 2s or 1m30s",
		},
		{
			"a duration without a unit", "name: payments\nlayers:\n  - deadline: \"5\"\n",
			"stack.yaml:3:15: layers[0].deadline: got \"5\", expected a duration with a unit, like 500ms, 2s or 1m30s",
		},
		{
			"a unit that Go does not know", "name: payments\nlayers:\n  - breaker:\n      name: db\n      open_for: 5 seconds\n",
			"stack.yaml:5:17: layers[0].breaker.open_for: got \"5 seconds\", expected a duration with a unit, like 500ms, 2s or 1m30s",
		},
		{
			"a text for a number", "name: payments\nlayers:\n  - retry:\n      max_attempts: three\n",
			"stack.yaml:4:21: layers[0].retry.max_attempts: got \"three\", expected a whole number of at least 1 (the first call counts), or unlimited",
		},
		{
			"a fraction for a whole number", "name: payments\nlayers:\n  - retry:\n      max_attempts: 2.5\n",
			"stack.yaml:4:21: layers[0].retry.max_attempts: got 2.5, expected a whole number of at least 1 (the first call counts), or unlimited",
		},
		{
			"a number below the least", "name: payments\nlayers:\n  - retry:\n      max_attempts: 0\n",
			"stack.yaml:4:21: layers[0].retry.max_attempts: got 0, expected a whole number of at least 1 (the first call counts), or unlimited",
		},
		{
			"a percentage for a share", "name: payments\nlayers:\n  - budget: {ratio: 10}\n  - retry:\n",
			"stack.yaml:3:21: layers[0].budget.ratio: got 10, expected a number from 0 to 1",
		},
		{
			"a misspelt name that is missing then", "nam: p\nlayers: []\n",
			"stack.yaml:1:1: unknown name \"nam\", did you mean \"name\"?",
		},
		{
			"two mistakes: the first is reported", "name: p\nlayers:\n  - budget: {window: 1, ratio: 2}\n  - breaker: {name: 3}\n",
			"stack.yaml:3:22: layers[0].budget.window: got 1, expected a duration with a unit, like 500ms, 2s or 1m30s, from 10ms to 24h",
		},
		{
			"two mistakes in another order", "layers:\n  - breaker: {probes: 0, name: db}\n  - budget: {ratio: 2}\nname: 5\n",
			"stack.yaml:2:23: layers[0].breaker.probes: got 0, expected a whole number of at least 1",
		},
		{
			"no name", "layers:\n  - retry:\n",
			"stack.yaml:1:1: \"name\" is missing, expected a name: a text that is not empty",
		},
		{
			"an option without one of its values", "name: payments\nlayers:\n  - breaker:\n      name: db\n      failure_rate: {ratio: 0.5, window: 10s}\n",
			"stack.yaml:5:21: layers[0].breaker.failure_rate: \"min_calls\" is missing, expected a whole number of at least 1",
		},
		{
			"a number for a mapping", "name: payments\nlayers:\n  - retry: 3\n",
			"stack.yaml:3:12: layers[0].retry: got 3, expected a mapping with the options of a retry",
		},
		{
			"a mapping for a list", "name: p\nlayers:\n  retry: {}\n  deadline: 2s\n",
			"stack.yaml:3:3: layers: got a mapping, expected a list of 0 to 100 layers, outermost first",
		},
		{
			"two layers in one item", "name: payments\nlayers:\n  - retry: {}\n    deadline: 2s\n",
			"stack.yaml:3:5: layers[0]: got \"retry\" and \"deadline\", expected one layer: deadline, budget, retry, breaker, ratelimit or stack",
		},
		{
			"a name that stands twice", "name: payments\nlayers:\n  - retry:\n      max_attempts: 3\n      max_attempts: 4\n",
			"stack.yaml:5:7: this name stands twice: mapping key \"max_attempts\" already defined at [4:7]",
		},
		{
			"a base above the max", "name: payments\nlayers:\n  - retry:\n      full_jitter: {base: 2s, max: 1s}\n",
			"stack.yaml:4:20: layers[0].retry.full_jitter: got 2s, 1s: base must not be negative, nor above max",
		},
		{
			"an order that cannot work", "name: payments\nlayers:\n  - deadline: 2s\n  - budget: {}\n",
			"stack.yaml:4:5: layers[1].budget: no retry inside it draws on it, so it limits nothing. Fix: put it around a retry, or remove it.",
		},
		{
			"two backoffs", "name: payments\nlayers:\n  - retry:\n      full_jitter: {base: 100ms, max: 1s}\n      constant: 1s\n",
			"stack.yaml:5:17: layers[0].retry.constant: full_jitter is there too, expected one backoff",
		},
		{
			"an alias", "name: payments\nlayers:\n  - deadline: &d 2s\n  - deadline: *d\n",
			"stack.yaml:3:15: layers[0].deadline: anchors and aliases (& and *) are not supported; write the value out",
		},
		{
			"a tag", "name: payments\nlayers:\n  - deadline: !!str 2s\n",
			"stack.yaml:3:15: layers[0].deadline: tags (!!str) are not supported; write the plain value",
		},
		{
			"a tab", "name: p\nlayers:\n\t- retry:\n",
			"stack.yaml:3:1: is not YAML: found character '\t' that cannot start any token",
		},
		{
			"a bracket that is not closed", "name: payments\nlayers:\n  - retry: {max_attempts: 3\n",
			"stack.yaml:3:12: is not YAML: could not find flow mapping end token '}'",
		},
		{
			"two documents", "name: p\nlayers: []\n---\nname: q\nlayers: []\n",
			"stack.yaml:3:1: expected one document, not several divided by ---",
		},
		{
			"an empty file", "",
			"stack.yaml:1:1: the file is empty, expected a mapping",
		},
		{
			"a list at the top", "- retry: {}\n",
			"stack.yaml:1:1: got a list, expected a mapping with a name and layers",
		},
		{
			"yes for true", "name: payments\nlayers:\n  - retry: {allow_nested: yes}\n",
			"stack.yaml:3:27: layers[0].retry.allow_nested: got \"yes\", expected true or false",
		},
		{
			"a limit without a unit", "name: payments\nlayers:\n  - ratelimit: {limit: 100, burst: 20}\n",
			"stack.yaml:3:24: layers[0].ratelimit.limit: got 100, expected a number of calls and a unit, like 100/s, 6000/m or 10/h, or unlimited",
		},
		{
			"a limit of nothing", "name: payments\nlayers:\n  - ratelimit: {limit: 0/s, burst: 20}\n",
			"stack.yaml:3:24: layers[0].ratelimit.limit: got \"0/s\", expected a number of calls above 0; for no limit write unlimited",
		},
		{
			"no burst", "name: payments\nlayers:\n  - ratelimit:\n      limit: 100/s\n",
			"stack.yaml:4:7: layers[0].ratelimit: \"burst\" is missing, expected a whole number of at least 1",
		},
		{
			"a deadline of nothing", "name: payments\nlayers:\n  - deadline: 0s\n",
			"stack.yaml:3:15: layers[0].deadline: got 0s: must be positive; leave the layer out for no limit",
		},
		{
			"a negative duration", "name: payments\nlayers:\n  - deadline: -5s\n",
			"stack.yaml:3:15: layers[0].deadline: got \"-5s\", expected a duration with a unit, like 500ms, 2s or 1m30s",
		},
		{
			"infinity", "name: payments\nlayers:\n  - budget: {ratio: .inf}\n",
			"stack.yaml:3:21: layers[0].budget.ratio: got .inf, expected a finite number",
		},
		{
			"a duration that is too long", "name: payments\nlayers:\n  - deadline: 99999999999h\n",
			"stack.yaml:3:15: layers[0].deadline: got \"99999999999h\", which is too long, expected a duration with a unit, like 500ms, 2s or 1m30s",
		},
		{
			"two mistakes in a nested stack", "name: payments\nlayers:\n  - retry: {}\n  - stack:\n      name: inner\n      layers:\n        - budget: {}\n        - breaker: {name: db, failure_rate: {ratio: 0.5, min_calls: 50, window: 1ms}}\n",
			"stack.yaml:7:11: layers[1].stack.layers[0].budget: no retry inside it draws on it, so it limits nothing. Fix: put it around a retry, or remove it.\n" +
				"stack.yaml:8:45: layers[1].stack.layers[1].breaker.failure_rate: got 0.5, 50, 1ms: ratio must be above 0 and at most 1, minCalls at least 1, window from 10ms to 24h",
		},
		{
			"an empty name", "name: \"\"\nlayers: []\n",
			"stack.yaml:1:7: name: got \"\", expected a name: a text that is not empty",
		},
		{
			"a word that is none of those allowed", "name: payments\nlayers:\n  - retry: {if: always}\n",
			"stack.yaml:3:17: layers[0].retry.if: got \"always\", expected default or any",
		},
		{
			"a window that is too short", "name: payments\nlayers:\n  - budget: {window: 1ms}\n  - retry:\n",
			"stack.yaml:3:22: layers[0].budget.window: got 1ms: must be from 10ms to 24h",
		},
		{
			"no options where some are needed", "name: payments\nlayers:\n  - breaker:\n",
			"stack.yaml:3:5: layers[0].breaker: got nothing, expected a mapping with a name and the options of a breaker",
		},
		{
			"a number as a name", "1: x\n",
			"stack.yaml:1:1: got 1 as a name, expected a text",
		},
		{
			"an item without a layer", "name: payments\nlayers:\n  - {}\n",
			"stack.yaml:3:5: layers[0]: got nothing, expected one layer: deadline, budget, retry, breaker, ratelimit or stack",
		},
		{
			"a text for a layer", "name: payments\nlayers:\n  - retry\n",
			"stack.yaml:3:5: layers[0]: got \"retry\", expected one layer: deadline, budget, retry, breaker, ratelimit or stack",
		},
		{
			"bytes that are no text", "name: p\nlayers: []\nx: \xff\xfe\n",
			"stack.yaml: is not a text in UTF-8",
		},
		{
			"a number that is too large", "name: payments\nlayers:\n  - retry: {max_attempts: 99999999999999999999999}\n",
			"stack.yaml:3:27: layers[0].retry.max_attempts: got \"99999999999999999999999\", expected a whole number of at least 1 (the first call counts), or unlimited",
		},
		{
			"a merge key", "name: payments\nlayers:\n  - retry: {<<: {max_attempts: 3}}\n",
			"stack.yaml:3:13: layers[0].retry: got << as a name, expected a text",
		},
	}
	for _, verb := range []string{"explain", "vet"} {
		for _, tt := range tests {
			t.Run(verb+"/"+tt.name, func(t *testing.T) {
				inFolder(t)
				write(t, "stack.yaml", tt.yaml)
				got := command(t, verb, "stack.yaml")
				if want := (result{status: 2, stderr: tt.want + "\n"}); got != want {
					t.Errorf("got  %+v\nwant %+v", got, want)
				}
				if all := files(t); len(all) != 1 {
					t.Errorf("files afterwards: %q", all)
				}
			})
		}
	}
}
