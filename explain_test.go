package stoic_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

var update = flag.Bool("update", false, "write the golden files of Explain")

// hedge is a third-party layer that describes itself.
type hedge struct{}

func (hedge) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

func (hedge) Describe() stoic.Description {
	return stoic.Description{
		Kind: "hedge", Name: "search", MaxRuns: 2,
		Params:  []stoic.Param{{Name: "after", Value: 50 * time.Millisecond}},
		Waits:   []time.Duration{0, 50 * time.Millisecond},
		Refusal: &stoic.Rejection{Policy: "hedge"},
	}
}

func explained() map[string]*stoic.Pipeline {
	limiter := func() stoic.Policy {
		return ratelimit.New(ratelimit.Per(100, time.Second), 20, ratelimit.Wait(200*time.Millisecond))
	}
	return map[string]*stoic.Pipeline{
		"empty":       stoic.MustNew("empty"),
		"recommended": stoic.MustNew("payments", recommended()...),
		"outside": stoic.MustNew("payments",
			breaker.New("payments"), limiter(), deadline.New(2*time.Second),
			budget.New(budget.Ratio(0)), retry.New(retry.MaxAttempts(5)), stoic.Benign(all)),
		"nested": stoic.MustNew("orders",
			retry.New(retry.MaxAttempts(4)),
			breaker.New("orders", breaker.FailureRateOfLast(0.4, 100), breaker.Probes(3)),
			stoic.MustNew("search", budget.New(budget.MinPerSecond(0)), retry.New(retry.Constant(time.Second), retry.AllowNested()), deadline.New(time.Second)),
			deadline.New(2*time.Second)),
		"opaque": stoic.MustNew("legacy",
			deadline.New(time.Second), opaqueLayer{}, stoic.Middleware("log", passThrough),
			stoic.PolicyFunc("auth", func(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }),
			retry.New(retry.Unlimited(), retry.WithBackoff(retry.BackoffFunc(func(int, time.Duration, func() float64) time.Duration { return 0 }))),
			hedge{}),
	}
}

// The explanations of a few stacks, as text, JSON and Mermaid, are in testdata/explain;
// go test -run Golden -update writes them anew.
func TestExplainGolden(t *testing.T) {
	for name, p := range explained() {
		e := p.Explain()
		data, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string]string{"txt": e.String(), "json": string(data) + "\n", "mmd": e.Mermaid()} {
			t.Run(name+"."+ext, func(t *testing.T) {
				file := filepath.Join("testdata", "explain", name+"."+ext)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s differs:\n%s\nwant:\n%s", file, got, want)
				}
			})
		}
	}
}

func TestExplainRecommendedFitsATerminal(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(explained()["recommended"].Explain().String()), "\n")
	if len(lines) >= 30 {
		t.Errorf("%d lines, want fewer than 30", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
}

func TestExplainOpaqueIsLowerBound(t *testing.T) {
	for name, p := range explained() {
		e := p.Explain()
		opaque := name == "opaque"
		if e.LowerBounds != opaque {
			t.Errorf("%s: LowerBounds is %t", name, e.LowerBounds)
		}
		if got := strings.Contains(e.String(), "lower bounds"); got != opaque {
			t.Errorf("%s: the text says lower bounds: %t", name, got)
		}
	}
	layers := explained()["opaque"].Explain().Layers
	for i, want := range []bool{false, true, true, true, true, false} {
		if layers[i].Opaque != want {
			t.Errorf("layer %d (%s): opaque is %t, want %t", i+1, layers[i].Kind, layers[i].Opaque, want)
		}
	}
}

// A third-party layer that describes itself takes part in the numbers.
func TestExplainThirdPartyTakesPart(t *testing.T) {
	p := stoic.MustNew("p", retry.New(retry.MaxAttempts(3), retry.Constant(time.Second)), hedge{}, deadline.New(time.Second))
	worst := p.Explain().Worst
	if worst.Attempts != 6 || worst.Time != 3*(2*time.Second+50*time.Millisecond)+2*time.Second {
		t.Errorf("worst case %d attempts in %s, want 6 in 8.15s", worst.Attempts, worst.Time)
	}
	if got := found(stoic.MustNew("p", retry.New(retry.If(all)), hedge{}), stoic.CodeRetryOfRejections); got == "" {
		t.Error("its refusals are not found to be retried")
	}
}

// In JSON, what has no limit is null, and durations are text.
func TestExplainJSON(t *testing.T) {
	var got struct {
		Worst struct {
			Attempts *int    `json:"attempts"`
			Time     *string `json:"time"`
			Waits    *string `json:"waits"`
		} `json:"worst_case"`
		Outage struct {
			WithoutBudget *float64 `json:"without_budget"`
		} `json:"total_outage"`
	}
	p := stoic.MustNew("p", retry.New(retry.Unlimited()), deadline.New(time.Second))
	data, err := json.Marshal(p.Explain())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Worst.Attempts != nil || got.Worst.Time != nil || got.Worst.Waits != nil || got.Outage.WithoutBudget != nil {
		t.Errorf("a stack without limits has some in JSON: %s", data)
	}
	data, err = json.Marshal(stoic.Param{Name: "base", Value: 1500 * time.Millisecond})
	if want := `{"name":"base","value":"1.5s"}`; err != nil || string(data) != want {
		t.Errorf("Param: got %s, %v, want %s", data, err, want)
	}
}

// Mermaid reads ", ;, # and < in labels as syntax: they are written as entities.
func TestExplainMermaidQuotes(t *testing.T) {
	p := stoic.MustNew(`a "b" <c>; #d`)
	want := "flowchart TD\n    l0([\"call to a #quot;b#quot; #lt;c#gt;#59; #35;d\"])\n    fn([operation])\n    l0 --> fn\n"
	if got := p.Explain().Mermaid(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Explaining costs nothing at call time: what it needs is in the pipeline once, and a
// Next stays three words.
func TestNextIsThreeWords(t *testing.T) {
	if got, want := unsafe.Sizeof(stoic.Next{}), 3*unsafe.Sizeof(uintptr(0)); got != want {
		t.Errorf("a Next has %d bytes, want %d", got, want)
	}
}
