package source_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
)

// FuzzParse holds that no file makes the command panic, and that every error says which
// file it is about, in one line for each mistake.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"name: p\nlayers:\n  - retry: {max_attempts: 3}\n", "a: &x 1\nb: *x\n", "? [a]\n: b\n", "- - - a\n", "a: |\n  b\n", "!!map {a: b}",
		"---\n...\n---\n", "a: 'b", "{a: [b, {c: d}]}", "a: 1e999", "a: 0o7", "<<: {a: b}", "%YAML 1.2\n---\na: b\n", "\ufeffa: b\n", "name: p\nlayers: [deadline: 1s]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := source.Parse("f.yaml", []byte(text))
		if err == nil {
			_, err = stackfile.Load(file)
		}
		if err == nil {
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "f.yaml:") {
				t.Errorf("got %q, want the name of the file in each line", err)
			}
		}
	})
}

func TestTooLargeAndTooDeep(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"size", strings.Repeat("#", source.MaxSize+1), "f.yaml: is larger than 256 KiB"},
		{"brackets", "a: " + strings.Repeat("[", 100_000), "f.yaml: is nested too deep, expected at most 40 levels"},
		{"blocks", strings.Repeat("- ", 50) + "a", "f.yaml:1:83: " + strings.Repeat("[0]", 41) + ": is nested too deep, expected at most 40 levels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := source.Parse("f.yaml", []byte(tt.text))
			if _, ok := errors.AsType[*source.Error](err); !ok || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Every value that the schemas know says what is expected there, and what it is for.
func TestSchemasSayWhatIsExpected(t *testing.T) {
	for name, text := range map[string][]byte{"stack": schema.Stack, "scenario": schema.Scenario} {
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		n := 0
		walk(doc, "", func(path string, part map[string]any) {
			n++
			_, hasRef := part["$ref"]
			if title, _ := part["title"].(string); title == "" && !hasRef {
				t.Errorf("%s%s has no title", name, path)
			}
			if part["type"] == "object" && part["additionalProperties"] != false {
				t.Errorf("%s%s takes unknown names", name, path)
			}
			if part["format"] == "go-duration" && part["pattern"] != source.DurationPattern {
				t.Errorf("%s%s: got pattern %v", name, path, part["pattern"])
			}
		})
		if n < 30 {
			t.Errorf("%s: found %d parts only", name, n)
		}
	}
}

// walk calls f for each property and each item of a schema.
func walk(v any, path string, f func(path string, part map[string]any)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, group := range []string{"properties", "$defs"} {
		parts, _ := m[group].(map[string]any)
		for name, part := range parts {
			f(path+"."+name, part.(map[string]any))
			walk(part, path+"."+name, f)
		}
	}
	if items, ok := m["items"].(map[string]any); ok {
		f(path+"[]", items)
		walk(items, path+"[]", f)
	}
}

// Of several mistakes it is always the first in the file, whatever order they are found in.
func TestFirstMistakeIsReported(t *testing.T) {
	const want = `f.yaml:3:30: layers[0].breaker.name: got 1, expected a name: a text that is not empty`
	for range 50 {
		file, err := source.Parse("f.yaml", []byte("name: p\nlayers:\n- breaker: {probes: 2, name: 1, open_for: 3, probe_timeout: 4, slow_call: 5, consecutive_failures: 0}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stackfile.Load(file); err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
}
