package stackfile_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/cmd/stoic/internal/source"
	"github.com/stoic-go/stoic/cmd/stoic/internal/stackfile"
	"github.com/stoic-go/stoic/cmd/stoic/schema"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
	"golang.org/x/time/rate"
)

// A file makes the stack that the same options make in Go.
func TestFileIsTheStackInGo(t *testing.T) {
	inner := func(layers ...stoic.Policy) []stoic.Policy { return layers }
	tests := []struct {
		name, yaml string
		layers     []stoic.Policy
	}{
		{"no layers", "[]", inner()},
		{"defaults", `
  - budget:
  - retry: {}
  - breaker: {name: db}
`, inner(budget.New(), retry.New(), breaker.New("db"))},
		{"deadline", "[deadline: 1m30.5s]", inner(deadline.New(90500 * time.Millisecond))},
		{"budget", `
  - budget: {ratio: 0.25, min_per_second: 0, window: 30s}
  - retry:
`, inner(budget.New(budget.Ratio(0.25), budget.MinPerSecond(0), budget.Window(30*time.Second)), retry.New())},
		{"retry", `
  - retry:
      max_attempts: 5
      equal_jitter: {base: 50ms, max: 2s}
      max_retry_after: 1m
      allow_nested: true
`, inner(retry.New(retry.MaxAttempts(5), retry.EqualJitter(50*time.Millisecond, 2*time.Second), retry.MaxRetryAfter(time.Minute), retry.AllowNested()))},
		{"retry without a limit", "[retry: {max_attempts: unlimited}]", inner(retry.New(retry.Unlimited()))},
		{"allow_nested: false", "[retry: {allow_nested: false, if: default}]", inner(retry.New())},
		{"full jitter", "[retry: {full_jitter: {base: 1ms, max: 1s}}]", inner(retry.New(retry.FullJitter(time.Millisecond, time.Second)))},
		{"decorrelated jitter", "[retry: {decorrelated_jitter: {base: 1ms, max: 1s}}]", inner(retry.New(retry.DecorrelatedJitter(time.Millisecond, time.Second)))},
		{"no jitter", "[retry: {no_jitter: {base: 1ms, max: 1s}}]", inner(retry.New(retry.NoJitter(time.Millisecond, time.Second)))},
		{"constant", "[retry: {constant: 0s}]", inner(retry.New(retry.Constant(0)))},
		{"breaker by rate", `
  - breaker:
      name: db
      failure_rate: {ratio: 1, min_calls: 20, window: 1s}
      open_for: 3s
      probes: 2
      probe_timeout: 4s
      slow_call: 900ms
`, inner(breaker.New("db", breaker.FailureRate(1, 20, time.Second), breaker.OpenFor(3*time.Second), breaker.Probes(2),
			breaker.ProbeTimeout(4*time.Second), breaker.SlowCall(900*time.Millisecond)))},
		{"breaker by the last calls", `
  - breaker: {name: db, failure_rate_of_last: {ratio: 0.5, calls: 100}, consecutive_failures: 7}
`, inner(breaker.New("db", breaker.FailureRateOfLast(0.5, 100), breaker.ConsecutiveFailures(7)))},
		{"limit a second", "[ratelimit: {limit: 100/s, burst: 20}]", inner(ratelimit.New(100, 20))},
		{"limit a minute, waiting", "[ratelimit: {limit: 30/m, burst: 1, wait: 2s}]", inner(ratelimit.New(0.5, 1, ratelimit.Wait(2*time.Second)))},
		{"limit an hour", "[ratelimit: {limit: 900.0/h, burst: 1}]", inner(ratelimit.New(0.25, 1))},
		{"no limit", "[ratelimit: {limit: unlimited}]", inner(ratelimit.New(rate.Inf, 0))},
		{"nested", `
  - deadline: 2s
  - stack:
      name: client
      layers:
        - retry:
        - stack: {name: db, layers: [deadline: 500ms]}
`, inner(deadline.New(2*time.Second), stoic.MustNew("client", retry.New(), stoic.MustNew("db", deadline.New(500*time.Millisecond))))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := load(t, "name: payments\nlayers: "+tt.yaml)
			got, want := explained(t, p), explained(t, stoic.MustNew("payments", tt.layers...))
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got, want := p.Vet().String(), stoic.MustNew("payments", tt.layers...).Vet().String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// if: any retries what a breaker refuses.
func TestIfAny(t *testing.T) {
	for word, want := range map[string]bool{"any": true, "default": false} {
		p := load(t, "name: payments\nlayers: [retry: {if: "+word+"}, breaker: {name: db}]")
		got := slices.ContainsFunc(p.Vet(), func(f stoic.Finding) bool { return f.Code == stoic.CodeRetryOfRejections })
		if got != want {
			t.Errorf("%s: got %v, want %v", word, got, want)
		}
	}
}

// Each pipeline of a stack has a state of its own.
func TestNewMakesNewState(t *testing.T) {
	s, err := stackfile.Load(parse(t, "name: payments\nlayers: [breaker: {name: db}]"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stoic.New("both", first, second); err != nil {
		t.Errorf("got %v, want two breakers", err) // one breaker twice would be a duplicate
	}
}

// Layer finds the lines of layers, also of nested ones.
func TestLayerIsWhereItStands(t *testing.T) {
	s, err := stackfile.Load(parse(t, `name: payments
layers:
  - deadline: 2s
  - stack:
      name: inner
      layers:
        - retry:
            constant: 1s
  - stack: {name: empty, layers: []}
  - deadline: 1s
`))
	if err != nil {
		t.Fatal(err)
	}
	for number, line := range map[int]int{0: 1, 1: 3, 2: 7, 3: 10, 4: 1} {
		if got := s.Layer(number).Line; got != line {
			t.Errorf("layer %d: got line %d, want %d", number, got, line)
		}
	}
}

// Every option of the policies can be said in a file, but for functions.
func TestEveryOptionIsInTheSchema(t *testing.T) {
	functions := []string{"retry.Sleep", "retry.Rand", "retry.WithBackoff", "breaker.Judge"}
	said := map[string]string{ // in other words
		"retry.Unlimited": "max_attempts: unlimited", "ratelimit.Reject": "no wait",
	}
	var doc struct {
		Defs struct {
			Layer struct {
				Properties map[string]struct{ Properties map[string]any }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(schema.Stack, &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, pkg := range []string{"retry", "budget", "breaker", "ratelimit", "deadline"} {
		for _, name := range options(t, filepath.Join("..", "..", "..", "..", pkg)) {
			seen++
			if slices.Contains(functions, pkg+"."+name) || said[pkg+"."+name] != "" {
				continue
			}
			if _, ok := doc.Defs.Layer.Properties[pkg].Properties[snake(name)]; !ok {
				t.Errorf("%s.%s: there is no %s in the schema", pkg, name, snake(name))
			}
		}
	}
	if seen < 20 {
		t.Errorf("found %d options only", seen)
	}
}

// options are the exported functions of a package that return an Option.
func options(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal(fs.ErrNotExist)
	}
	var names []string
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil || strings.HasSuffix(path, "_test.go") {
				continue
			}
			if result, ok := fn.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "Option" {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func parse(t *testing.T, yaml string) *source.File {
	t.Helper()
	f, err := source.Parse("stack.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t *testing.T, yaml string) *stoic.Pipeline {
	t.Helper()
	s, err := stackfile.Load(parse(t, yaml))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func explained(t *testing.T, p *stoic.Pipeline) string {
	t.Helper()
	text, err := json.MarshalIndent(p.Explain(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
