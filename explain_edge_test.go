package stoic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// linear grows without a ceiling, and says so.
type linear struct{}

func (linear) Delay(n int, _ time.Duration, _ func() float64) time.Duration {
	return time.Duration(n) * time.Millisecond
}

func (l linear) Ceiling(n int) time.Duration { return l.Delay(n, 0, nil) }

// A backoff of the user's whose ceilings are not all listed makes the numbers lower
// bounds; the same backoff within the list does not.
func TestLongBackoffOfTheUserIsOpaque(t *testing.T) {
	for attempts, want := range map[int]bool{66: false, 67: true} {
		p := stoic.MustNew("p", retry.New(retry.MaxAttempts(attempts), retry.WithBackoff(linear{})))
		if got := p.Explain().LowerBounds; got != want {
			t.Errorf("%d attempts: lower bounds are %t, want %t", attempts, got, want)
		}
	}
	if got, want := stoic.MustNew("p", retry.New(retry.MaxAttempts(66), retry.WithBackoff(linear{}))).Explain().Worst.Waits, 2080*time.Millisecond; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
}

func TestMaxWaitIsTheSumOfTheWaits(t *testing.T) {
	const s = time.Second
	tests := []struct {
		d    stoic.Description
		want time.Duration
	}{
		{stoic.Description{}, 0},
		{stoic.Description{Waits: []time.Duration{s}}, s},
		{stoic.Description{Waits: []time.Duration{s}, MaxRuns: 3}, 3 * s},
		{stoic.Description{Waits: []time.Duration{0, s, 2 * s}, MaxRuns: 2}, s},
		{stoic.Description{Waits: []time.Duration{0, s, 2 * s}, MaxRuns: 5}, 7 * s},
		{stoic.Description{Waits: []time.Duration{0, s}, MaxRuns: stoic.Unlimited}, stoic.Forever},
		{stoic.Description{Waits: []time.Duration{0, 0}, MaxRuns: stoic.Unlimited}, 0},
		{stoic.Description{Waits: []time.Duration{stoic.Forever, s}, MaxRuns: 2}, stoic.Forever},
		{retry.New(retry.NoJitter(s, 4*s), retry.MaxAttempts(6)).Describe(), (1 + 2 + 4 + 4 + 4) * s},
		{ratelimit.New(1, 1, ratelimit.Wait(s)).Describe(), s},
	}
	for _, tt := range tests {
		if got := tt.d.MaxWait(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.d, got, tt.want)
		}
	}
}

// A retry that makes one attempt is none: nothing is inside or outside it.
func TestRetryOfOneAttemptIsNone(t *testing.T) {
	p := stoic.MustNew("p",
		breaker.New("b", breaker.ConsecutiveFailures(3)), ratelimit.New(100, 1), retry.New(retry.MaxAttempts(1)), deadline.New(time.Second))
	if findings := p.Vet(); len(findings) > 0 {
		t.Error(findings)
	}
	e := p.Explain()
	if got := e.Layers[0].Sentence; !strings.HasPrefix(got, "Sees every call: in a total outage it opens after 3 calls (3 in a row)") {
		t.Error(got)
	}
	if strings.Contains(e.Mermaid(), "again") {
		t.Error("the diagram draws a retry")
	}
}

func TestLimiterWithoutALimitLimitsNothing(t *testing.T) {
	p := stoic.MustNew("p",
		deadline.New(time.Second), budget.New(), ratelimit.New(rate.Inf, 0, ratelimit.Wait(time.Hour)),
		retry.New(retry.If(all)), ratelimit.New(rate.Inf, 0, ratelimit.Wait(time.Hour)), deadline.New(100*time.Millisecond))
	if findings := p.Vet(); len(findings) > 0 {
		t.Error(findings)
	}
	e := p.Explain()
	if e.Worst.Waits != 300*time.Millisecond || e.Layers[2].Sentence != "Limits nothing." {
		t.Errorf("waits %s, sentence %q", e.Worst.Waits, e.Layers[2].Sentence)
	}
}

// A polling loop ends by its deadline, and that is no finding.
func TestVetLeavesPollingLoopsAlone(t *testing.T) {
	p := stoic.MustNew("poll",
		deadline.New(time.Minute), budget.New(), retry.New(retry.Unlimited(), retry.FullJitter(time.Second, 5*time.Second)), deadline.New(2*time.Second))
	if findings := p.Vet(); len(findings) > 0 {
		t.Error(findings)
	}
	if len(p.Explain().Worst.TooLate) != 1 {
		t.Error("Explain does not say when it ends")
	}
}

func TestVetLeavesStacksWithoutRetryAlone(t *testing.T) {
	p := stoic.MustNew("db", deadline.New(time.Second), breaker.New("db"), ratelimit.New(100, 10))
	if findings := p.Vet(); len(findings) > 0 {
		t.Error(findings)
	}
}

func TestSentenceOfABreakerWhoseRefusalsAreRetried(t *testing.T) {
	p := stoic.MustNew("p", retry.New(retry.If(all)), breaker.New("b"))
	if got := p.Explain().Layers[1].Sentence; !strings.HasPrefix(got, "Sees every attempt; a retry outside tries its refusals again: ") {
		t.Error(got)
	}
}

func TestBudgetSentences(t *testing.T) {
	b := budget.New()
	tests := []struct {
		budget stoic.Policy
		want   string
	}{
		{b, "Grants a retry for each 10 requests, and 1 a second whatever the requests, over 10s."},
		{b.WithdrawOnly(), "Draws on a budget that counts its requests elsewhere, and grants a retry for each 10 requests, and 1 a second whatever the requests, over 10s."},
		{budget.New(budget.Ratio(1), budget.MinPerSecond(0)), "Grants a retry for each request, over 10s."},
		{budget.New(budget.Ratio(0)), "Grants no share of the requests as retries, and 1 a second whatever the requests, over 10s."},
		{budget.New(budget.Ratio(0), budget.MinPerSecond(0.05)), "Grants no retry at all."},
		{silentBudget{}, "Does not say what it does; what it adds is not in the numbers."},
	}
	for _, tt := range tests {
		if got := stoic.MustNew("p", tt.budget, retry.New()).Explain().Layers[0].Sentence; got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// What a caller does to an explanation does not reach the pipeline.
func TestExplanationIsACopy(t *testing.T) {
	p := stoic.MustNew("p", recommended()...)
	want := p.Explain().String()
	for _, l := range p.Explain().Layers {
		for i := range l.Params {
			l.Params[i] = stoic.Param{Name: "gone"}
		}
	}
	if got := p.Explain().String(); got != want {
		t.Errorf("it changed to\n%s", got)
	}
}

func TestNumbersThatJSONDoesNotHave(t *testing.T) {
	for _, f := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if _, err := json.Marshal(stoic.Param{Name: "x", Value: f}); err != nil {
			t.Error(err)
		}
	}
}

// A name that would break a line is quoted.
func TestNamesAreQuotedWhereTheyMust(t *testing.T) {
	p := stoic.MustNew("a\nb", stoic.MustNew("c\td", retry.New()))
	text := p.Explain().String()
	if !strings.HasPrefix(text, `"a\nb": 1 layer`) || !strings.Contains(text, `retry of "c\td"`) {
		t.Error(text)
	}
}

// sharing hands out its own slices.
type sharing struct {
	opaqueLayer

	d stoic.Description
}

func (s *sharing) Describe() stoic.Description { return s.d }

// What a layer does to its description after New does not reach the pipeline.
func TestDescriptionIsACopy(t *testing.T) {
	l := &sharing{d: stoic.Description{
		Kind: "mine", Params: []stoic.Param{{Name: "size", Value: 1}}, Waits: []time.Duration{time.Second},
	}}
	p := stoic.MustNew("p", l)
	l.d.Params[0], l.d.Waits[0] = stoic.Param{Name: "gone"}, time.Hour
	e := p.Explain()
	if e.Layers[0].Params[0].Name != "size" || e.Worst.Waits != time.Second {
		t.Errorf("it changed to %+v", e)
	}
}
