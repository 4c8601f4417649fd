package stoic_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// recommended is the stack of the README, with the layers that matter to a test
// replaced or left out by the caller.
func recommended() []stoic.Policy {
	return []stoic.Policy{
		stoic.Observe(hooks.Nop{}),
		deadline.New(2 * time.Second),
		budget.New(),
		retry.New(),
		breaker.New("payments"),
		ratelimit.New(ratelimit.Per(100, time.Second), 20),
		deadline.New(500 * time.Millisecond),
	}
}

// opaqueLayer is a third-party policy that does not describe itself.
type opaqueLayer struct{}

func (opaqueLayer) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

func passThrough(next stoic.Func) stoic.Func { return next }

func all(error) bool { return true }

func notRejected(err error) bool { return !errors.Is(err, stoic.ErrRejected) }

func TestVet(t *testing.T) {
	const second = time.Second
	per := ratelimit.Per(100, time.Second)
	// Each row has a stack that has the finding, with its whole text, and one that comes
	// close and has not.
	tests := []struct {
		code  stoic.Code
		bad   []stoic.Policy
		want  string
		close []stoic.Policy
	}{
		{
			code:  stoic.CodeBreakerOutsideRetry,
			bad:   []stoic.Policy{breaker.New("b", breaker.ConsecutiveFailures(10)), retry.New(retry.MaxAttempts(5))},
			want:  `info breaker-outside-retry: layer 1 (breaker "b"): a failure counts once per call, after up to 5 attempts; in a total outage it opens after 10 failures in a row, which are up to 50 attempts (10 in a row); it refuses for 5s, and then 1 probe of up to 5 attempts. Fix: put the breaker inside the retry, unless the whole call is what is healthy or not.`,
			close: []stoic.Policy{retry.New(retry.MaxAttempts(5)), breaker.New("b", breaker.ConsecutiveFailures(10))},
		},
		{
			code:  stoic.CodeBreakerOutsideRetry,
			bad:   []stoic.Policy{breaker.New("b", breaker.FailureRate(0.5, 50, 10*second)), retry.New(retry.MaxAttempts(5))},
			want:  `info breaker-outside-retry: layer 1 (breaker "b"): a failure counts once per call, after up to 5 attempts; in a total outage it opens after 50 failures in a row within 10s, which are up to 250 attempts (50 % of at least 50 in 10s); a rate of 0.5 is reached only when attempts fail at 0.5^(1/5) = 0.871; it refuses for 5s, and then 1 probe of up to 5 attempts. Fix: put the breaker inside the retry, unless the whole call is what is healthy or not.`,
			close: []stoic.Policy{breaker.New("b", breaker.FailureRate(0.5, 50, 10*second))},
		},
		{
			code:  stoic.CodeBreakerWindowSmall,
			bad:   []stoic.Policy{retry.New(), breaker.New("b", breaker.FailureRate(0.5, 20, 10*second))},
			want:  `warn breaker-window-small: layer 2 (breaker "b"): of 20 calls, 10 or more fail by chance with probability 4.8 % when 30 % of them fail. Fix: judge at least 50 calls.`,
			close: []stoic.Policy{retry.New(), breaker.New("b", breaker.FailureRate(0.5, 50, 10*second))},
		},
		{
			code:  stoic.CodeBreakerWindowSmall,
			bad:   []stoic.Policy{retry.New(), breaker.New("b", breaker.FailureRateOfLast(0.5, 98))},
			want:  `warn breaker-window-small: layer 2 (breaker "b"): of 49 calls, 25 or more fail by chance with probability 0.17 % when 30 % of them fail. Fix: keep at least the last 99 calls: it judges from half of them on.`,
			close: []stoic.Policy{retry.New(), breaker.New("b", breaker.FailureRateOfLast(0.5, 99))},
		},
		{
			code:  stoic.CodeBreakerWindowSmall,
			bad:   []stoic.Policy{retry.New(), breaker.New("b", breaker.ConsecutiveFailures(5))},
			want:  `warn breaker-window-small: layer 2 (breaker "b"): 5 failures in a row happen by chance once in 586 calls when 30 % of them fail. Fix: ask for at least 10 failures in a row, or use a rate.`,
			close: []stoic.Policy{retry.New(), breaker.New("b", breaker.ConsecutiveFailures(10))},
		},
		{
			code:  stoic.CodeDeadlinePerAttemptOnly,
			bad:   []stoic.Policy{retry.New(retry.NoJitter(second, second)), deadline.New(second)},
			want:  `warn deadline-per-attempt-only: layer 1 (retry): no deadline ends the whole call; at worst it takes 5s. Fix: put a deadline outside the retry.`,
			close: []stoic.Policy{deadline.New(10 * second), retry.New(retry.NoJitter(second, second)), deadline.New(second)},
		},
		{
			code:  stoic.CodeDeadlinePerAttemptOnly,
			bad:   []stoic.Policy{retry.New()},
			want:  `warn deadline-per-attempt-only: layer 1 (retry): no deadline ends the whole call; a call may take for ever. Fix: put a deadline outside the retry.`,
			close: []stoic.Policy{deadline.New(second), retry.New()},
		},
		{
			code:  stoic.CodeDeadlineTotalOnly,
			bad:   []stoic.Policy{deadline.New(2 * second), retry.New()},
			want:  `warn deadline-total-only: layer 2 (retry): no deadline ends an attempt: one that hangs takes the whole 2s, and is never retried. Fix: put a deadline inside the retry, innermost.`,
			close: []stoic.Policy{deadline.New(2 * second), retry.New(retry.MaxAttempts(1))},
		},
		{
			code:  stoic.CodeAttemptNotBelowTotal,
			bad:   []stoic.Policy{deadline.New(2 * second), retry.New(), deadline.New(2 * second)},
			want:  `warn attempt-not-below-total: layer 1 (deadline), layer 3 (deadline): an attempt may take 2s of the 2s for the whole call: a second one can never run in full. Fix: give an attempt less than 667ms.`,
			close: []stoic.Policy{deadline.New(2 * second), retry.New(), deadline.New(2*second - 1)},
		},
		{
			code:  stoic.CodeBackoffExceedsDeadline,
			bad:   []stoic.Policy{deadline.New(3 * second), retry.New(retry.MaxAttempts(5), retry.NoJitter(second, 10*second)), deadline.New(time.Millisecond)},
			want:  `warn backoff-exceeds-deadline: layer 2 (retry): the waits alone can pass the deadline of 3s: attempts 3 to 5 may not happen even if each one before fails at once. Fix: make fewer attempts, wait less, or allow more time.`,
			close: []stoic.Policy{deadline.New(15*second + 1), retry.New(retry.MaxAttempts(5), retry.NoJitter(second, 10*second)), deadline.New(time.Millisecond)},
		},
		{
			code:  stoic.CodeRetryWithoutBudget,
			bad:   []stoic.Policy{retry.New(retry.MaxAttempts(4))},
			want:  `warn retry-without-budget: layer 1 (retry): in a total outage it sends 4 times the load. Fix: put a budget around it, shared by all stacks of this client to this dependency.`,
			close: []stoic.Policy{budget.New(), retry.New(retry.MaxAttempts(4))},
		},
		{
			code:  stoic.CodeRetryWithoutBudget,
			bad:   []stoic.Policy{retry.New(retry.Unlimited())},
			want:  `warn retry-without-budget: layer 1 (retry): in a total outage it sends more load without a limit. Fix: put a budget around it, shared by all stacks of this client to this dependency.`,
			close: []stoic.Policy{retry.New(retry.MaxAttempts(1))},
		},
		{
			code:  stoic.CodeRetryWithoutJitter,
			bad:   []stoic.Policy{retry.New(retry.Constant(second))},
			want:  `warn retry-without-jitter: layer 1 (retry): clients that fail together wait the same time and come back together. Fix: use FullJitter.`,
			close: []stoic.Policy{retry.New(retry.EqualJitter(second, second))},
		},
		{
			code:  stoic.CodeNestedRetry,
			bad:   []stoic.Policy{retry.New(retry.MaxAttempts(4)), retry.New()},
			want:  `warn nested-retry: layer 1 (retry), layer 2 (retry): 2 retries in one stack make up to 6 attempts. Fix: keep the outermost retry only.`,
			close: []stoic.Policy{retry.New(retry.MaxAttempts(4))},
		},
		{
			code:  stoic.CodeNestedRetry,
			bad:   []stoic.Policy{stoic.MustNew("outer", retry.New(retry.MaxAttempts(4))), stoic.MustNew("inner", retry.New(retry.AllowNested()))},
			want:  `warn nested-retry: layer 1 (retry of outer), layer 2 (retry of inner): 2 retries in one stack make up to 12 attempts. Fix: keep the outermost retry only.`,
			close: []stoic.Policy{stoic.MustNew("outer", retry.New(retry.MaxAttempts(4)))},
		},
		{
			code:  stoic.CodeRetryOfRejections,
			bad:   []stoic.Policy{retry.New(retry.If(all)), breaker.New("b")},
			want:  `warn retry-of-rejections: layer 1 (retry), layer 2 (breaker "b"): it retries the refusals of the layer inside it: the loop waits and asks again, and calls nothing. Fix: do not retry errors that match ErrRejected.`,
			close: []stoic.Policy{retry.New(retry.If(notRejected)), breaker.New("b")},
		},
		{
			code:  stoic.CodeRetryOfRejections,
			bad:   []stoic.Policy{retry.New(retry.If(func(err error) bool { return !errors.Is(err, breaker.ErrOpen) })), breaker.New("b"), ratelimit.New(per, 1)},
			want:  `warn retry-of-rejections: layer 1 (retry), layer 3 (ratelimit): it retries the refusals of the layer inside it: the loop waits and asks again, and calls nothing. Fix: do not retry errors that match ErrRejected.`,
			close: []stoic.Policy{breaker.New("b"), retry.New(retry.If(all))},
		},
		{
			code:  stoic.CodeLimiterOutsideRetry,
			bad:   []stoic.Policy{ratelimit.New(per, 1), retry.New()},
			want:  `info limiter-outside-retry: layer 1 (ratelimit): a call takes one token whatever its retries: the dependency may see 3 times the limit. Fix: put the limiter inside the retry, if it stands for the quota of the dependency.`,
			close: []stoic.Policy{retry.New(), ratelimit.New(per, 1)},
		},
		{
			code:  stoic.CodeLimiterWaitInsideAttempt,
			bad:   []stoic.Policy{retry.New(), deadline.New(second), ratelimit.New(per, 1, ratelimit.Wait(300*time.Millisecond))},
			want:  `info limiter-wait-inside-deadline: layer 2 (deadline), layer 3 (ratelimit): up to 300ms of waiting for a token comes out of the 1s of an attempt. Fix: put the deadline inside the limiter.`,
			close: []stoic.Policy{retry.New(), deadline.New(second), ratelimit.New(per, 1, ratelimit.Reject())},
		},
		{
			code:  stoic.CodeBreakerOutsideLimiter,
			bad:   []stoic.Policy{breaker.New("b"), retry.New(), ratelimit.New(per, 1)},
			want:  `info breaker-outside-limiter: layer 1 (breaker "b"), layer 3 (ratelimit): a call that the limiter refuses counts as nothing for the breaker: it stays closed however many there are. Fix: nothing; ignore this code if it is meant.`,
			close: []stoic.Policy{retry.New(), breaker.New("b"), ratelimit.New(per, 1)},
		},
		{
			code:  stoic.CodeBreakerWindowSmall, // 7 of 25 are 0.28, though 0.28 · 25 is above 7 in float64
			bad:   []stoic.Policy{retry.New(), breaker.New("b", breaker.FailureRate(0.28, 25, second))},
			want:  `warn breaker-window-small: layer 2 (breaker "b"): of 25 calls, 7 or more fail by chance with probability 66 % when 30 % of them fail. Fix: judge at least 50 calls.`,
			close: []stoic.Policy{breaker.New("b", breaker.FailureRate(0.28, 25, second))},
		},
		{
			code:  stoic.CodeOpaqueLayer,
			bad:   []stoic.Policy{opaqueLayer{}},
			want:  `info opaque-layer: layer 1 (stoic_test.opaqueLayer): it does not say all that it may do, so the numbers of this stack are lower bounds. Fix: let the layer implement Describer, or ignore this code.`,
			close: []stoic.Policy{stoic.Benign(all)},
		},
		{
			code:  stoic.CodeOpaqueLayer,
			bad:   []stoic.Policy{retry.New(retry.MaxAttempts(67), retry.WithBackoff(linear{}))},
			want:  `info opaque-layer: layer 1 (retry): it does not say all that it may do, so the numbers of this stack are lower bounds. Fix: use a backoff of package retry, or give yours a method Ceiling and at most 66 attempts; or ignore this code.`,
			close: []stoic.Policy{retry.New(retry.MaxAttempts(66), retry.WithBackoff(linear{}))},
		},
		{
			code:  stoic.CodeOpaqueLayer,
			bad:   []stoic.Policy{stoic.Middleware("log", passThrough)},
			want:  `info opaque-layer: layer 1 (middleware "log"): it does not say all that it may do, so the numbers of this stack are lower bounds. Fix: let the layer implement Describer, or ignore this code.`,
			close: []stoic.Policy{stoic.Observe(hooks.Nop{})},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.code), func(t *testing.T) {
			got := found(stoic.MustNew("p", tt.bad...), tt.code)
			if got != tt.want {
				t.Errorf("the bad stack:\n got %s\nwant %s", got, tt.want)
			}
			if got := found(stoic.MustNew("p", tt.close...), tt.code); got != "" {
				t.Errorf("the stack that is close has it too: %s", got)
			}
			if fs := stoic.MustNew("p", tt.bad...).Vet(tt.code); found(stoic.MustNew("p", tt.bad...), tt.code) == "" || strings.Contains(fs.String(), " "+string(tt.code)+":") {
				t.Errorf("an ignored code is reported: %s", fs)
			}
		})
	}
}

// found is the finding of a code as text, "" if there is none.
func found(p *stoic.Pipeline, code stoic.Code) string {
	var all []string
	for _, f := range p.Vet() {
		if f.Code == code {
			all = append(all, f.String())
		}
	}
	return strings.Join(all, "\n")
}

// The rows of level error are found by New, with their codes.
func TestNewRefusesFindingsOfLevelError(t *testing.T) {
	shared := breaker.New("b")
	tests := []struct {
		code  stoic.Code
		bad   []stoic.Policy
		want  string
		close []stoic.Policy
	}{
		{
			code:  stoic.CodeBudgetWithoutRetry,
			bad:   []stoic.Policy{retry.New(), budget.New()},
			want:  `p: layer 2 (budget): no retry inside it draws on it, so it limits nothing. Fix: put it around a retry, or remove it.`,
			close: []stoic.Policy{budget.New(), retry.New()},
		},
		{
			code:  stoic.CodeDuplicateLayer,
			bad:   []stoic.Policy{shared, retry.New(), shared},
			want:  `p: layer 3 (breaker "b"): it has the same state as layer 1, so one call would count twice. Fix: remove one of the two, or make a second value.`,
			close: []stoic.Policy{shared, retry.New(), breaker.New("b")},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.code), func(t *testing.T) {
			_, err := stoic.New("p", tt.bad...)
			invalid, ok := errors.AsType[*stoic.InvalidError](err)
			if !ok || invalid.Code != tt.code || err.Error() != tt.want {
				t.Errorf("New: got %v, code %v\nwant %s", err, invalid, tt.want)
			}
			if _, err := stoic.New("p", tt.close...); err != nil {
				t.Errorf("the stack that is close is refused: %v", err)
			}
		})
	}
}

func TestVetRecommendedHasNoFinding(t *testing.T) {
	if findings := stoic.MustNew("payments", recommended()...).Vet(); len(findings) > 0 {
		t.Fatal(findings)
	}
}

func TestVetWorstFirst(t *testing.T) {
	p := stoic.MustNew("p", breaker.New("b"), ratelimit.New(1, 1), retry.New(retry.NoJitter(1, 1)), retry.New())
	level := stoic.LevelError
	for _, f := range p.Vet() {
		if f.Level > level {
			t.Errorf("%s comes after %s", f, level)
		}
		level = f.Level
	}
}

func TestFindingsPrintOneToALine(t *testing.T) {
	fs := stoic.MustNew("p", retry.New()).Vet()
	if got, want := len(strings.Split(strings.TrimSpace(fs.String()), "\n")), len(fs); got != want || want == 0 {
		t.Errorf("%d findings on %d lines:\n%s", want, got, fs)
	}
	text, err := json.Marshal(fs[0])
	want := `{"code":"deadline-per-attempt-only","level":"warn","layers":[1],"where":"layer 1 (retry)","reason":"no deadline ends the whole call; a call may take for ever.","fix":"put a deadline outside the retry."}`
	if err != nil || string(text) != want {
		t.Errorf("JSON:\n got %s, %v\nwant %s", text, err, want)
	}
}

// docs/ordering.md lists every code with its level.
func TestDocsListTheCodes(t *testing.T) {
	doc, err := os.ReadFile("docs/ordering.md")
	if err != nil {
		t.Fatal(err)
	}
	for level, codes := range map[stoic.Level][]stoic.Code{
		stoic.LevelError: {stoic.CodeBudgetWithoutRetry, stoic.CodeDuplicateLayer},
		stoic.LevelWarn: {
			stoic.CodeBreakerWindowSmall, stoic.CodeDeadlinePerAttemptOnly, stoic.CodeDeadlineTotalOnly, stoic.CodeAttemptNotBelowTotal,
			stoic.CodeBackoffExceedsDeadline, stoic.CodeRetryWithoutBudget, stoic.CodeRetryWithoutJitter, stoic.CodeNestedRetry, stoic.CodeRetryOfRejections,
		},
		stoic.LevelInfo: {
			stoic.CodeBreakerOutsideRetry, stoic.CodeLimiterOutsideRetry, stoic.CodeLimiterWaitInsideAttempt, stoic.CodeBreakerOutsideLimiter, stoic.CodeOpaqueLayer,
		},
	} {
		for _, code := range codes {
			if row := "| `" + string(code) + "` | " + level.String() + " |"; !strings.Contains(string(doc), row) {
				t.Errorf("docs/ordering.md has no row that begins %s", row)
			}
		}
	}
}
