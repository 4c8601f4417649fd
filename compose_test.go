package stoic_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

// The composition matrix: what two policies do together in each order, and all of
// them in the recommended one. A row is a stack of the layers below, a cell is what
// it does with one of the operations below: one trace for each call in a row.
//
//	call( 1( run )failed retry#1+100ms
//	@100ms 2( run2 )ok )ok => nil
//
// call( and 1( are the start of a call and of an attempt, )failed and )ok their
// ends. run2 is the operation, entered with stoic.Attempt(ctx) == 2. @100ms is the
// time since the beginning of the call, wherever it has moved on. Then the events:
//
//	retry#1+100ms             retry: attempt 1 failed, the next follows after 100 ms
//	gave_up#3:max_attempts    retry: the last was attempt 3, and why it ends
//	nested#2                  retry: left to the one further out
//	b#1:closed->open          breaker b: changed its state, because of attempt 1
//	deadline#1:1s             deadline: its 1 s ran out
//	b#1:circuit_open          breaker b, ratelimit, budget: refused, and why
//
// After => is what the caller gets. E is the error of the operation, unchanged. In
// brackets are all of composeSentinels that the error matches: it matches no other.
// "after" is what RetryAfter of a rejection says.
//
// Each cell is run a second time with nobody listening, where the operation must
// run at the same times, and the caller get the same.
type composeRow struct {
	stack string // names of composeLayers

	succeeds []string
	fails    []string
	recovers []string
	hangs    []string
	panics   []string
	exits    []string
	cancels  []string
	expires  []string
	hurries  []string // where there is a retry
}

var composeLayers = map[string]func() stoic.Policy{
	"deadline":        func() stoic.Policy { return deadline.New(time.Second) },
	"short deadline":  func() stoic.Policy { return deadline.New(400 * time.Millisecond) },
	"retry":           func() stoic.Policy { return retry.New(retry.NoJitter(100*time.Millisecond, 10*time.Second)) },
	"short retry":     func() stoic.Policy { return retry.New(retry.MaxAttempts(2), retry.Constant(50*time.Millisecond)) },
	"budget":          func() stoic.Policy { return budget.New(budget.Ratio(0), budget.MinPerSecond(0.1)) }, // 1 retry in 10 s
	"large budget":    func() stoic.Policy { return budget.New() },                                          // 10 and more in 10 s
	"breaker":         func() stoic.Policy { return breaker.New("b", breaker.ConsecutiveFailures(2)) },
	"quick breaker":   func() stoic.Policy { return breaker.New("c", breaker.ConsecutiveFailures(1)) },
	"ratelimit":       func() stoic.Policy { return ratelimit.New(ratelimit.Per(1, time.Second), 2) },
	"small ratelimit": func() stoic.Policy { return ratelimit.New(ratelimit.Per(1, 2*time.Second), 1) },
}

var (
	errCompose      = errors.New("compose: the operation failed")
	errComposeCause = errors.New("compose: the caller's reason")
	composePanic    = &struct{ text string }{"compose"}
)

var composeSentinels = []struct {
	name string
	err  error
}{
	{"E", errCompose},
	{"DeadlineExceeded", context.DeadlineExceeded},
	{"Canceled", context.Canceled},
	{"Cause", errComposeCause},
	{"ErrExceeded", deadline.ErrExceeded},
	{"ErrOpen", breaker.ErrOpen},
	{"ErrLimited", ratelimit.ErrLimited},
	{"ErrExhausted", budget.ErrExhausted},
	{"ErrRejected", stoic.ErrRejected},
}

func TestCompose(t *testing.T) {
	for _, row := range composeRows() {
		t.Run(row.stack, func(t *testing.T) {
			for _, op := range composeOps {
				want := op.want(row)
				if len(want) == 0 {
					if op.name != "fails always, the caller has 250 ms" || strings.Contains(row.stack, "retry") {
						t.Errorf("%s: no traces", op.name)
					}
					continue
				}
				t.Run(op.name, func(t *testing.T) {
					for i, got := range composeRun(t, row.stack, op, len(want), true) {
						if want := strings.Join(strings.Fields(want[i]), " "); got != want {
							t.Errorf("call %d\n got %s\nwant %s", i+1, got, want)
						}
					}
					for i, got := range composeRun(t, row.stack, op, len(want), false) {
						if want := composeUnobserved(want[i]); got != want {
							t.Errorf("call %d, nobody listens\n got %s\nwant %s", i+1, got, want)
						}
					}
				})
			}
		})
	}
}

// Every ordered pair has its row: 17 that do something, and 8 that are invalid.
func TestComposeIsComplete(t *testing.T) {
	kinds := []string{"deadline", "budget", "retry", "breaker", "ratelimit"}
	rows := make(map[string]bool)
	for _, row := range composeRows() {
		rows[row.stack] = true
	}
	second := map[string]string{
		"deadline": "short deadline", "retry": "short retry", "breaker": "quick breaker", "ratelimit": "small ratelimit",
	}
	for _, outer := range kinds {
		for _, inner := range kinds {
			if inner == outer && second[inner] != "" {
				inner = second[inner]
			}
			pair := outer + " > " + inner
			_, err := stoic.New("p", composePolicies(pair)...)
			switch invalid := errors.Is(err, stoic.ErrInvalid); {
			case invalid && rows[pair]:
				t.Errorf("%s: got %v, but it has a row", pair, err)
			case !invalid && !rows[pair]:
				t.Errorf("%s: no row", pair)
			}
		}
	}
}

// A budget without a retry inside it limits nothing, whatever is around it.
func TestComposeBudgetWithoutRetryIsInvalid(t *testing.T) {
	tests := []struct {
		stack string
		want  []string
	}{
		{"budget > deadline", []string{"p: layer 1 (budget): "}},
		{"budget > breaker", []string{"p: layer 1 (budget): "}},
		{"budget > ratelimit", []string{"p: layer 1 (budget): "}},
		{"budget > large budget", []string{"p: layer 1 (budget): ", "p: layer 2 (budget): "}},
		{"budget > large budget > retry", []string{"p: layer 1 (budget): "}}, // only the nearest is drawn on
		{"deadline > budget", []string{"p: layer 2 (budget): "}},
		{"retry > budget", []string{"p: layer 2 (budget): "}},
		{"breaker > budget", []string{"p: layer 2 (budget): "}},
		{"ratelimit > budget", []string{"p: layer 2 (budget): "}},
	}
	for _, tt := range tests {
		t.Run(tt.stack, func(t *testing.T) {
			p, err := stoic.New("p", composePolicies(tt.stack)...)
			if p != nil || !errors.Is(err, stoic.ErrInvalid) {
				t.Fatalf("got %v, %v, want an ErrInvalid", p, err)
			}
			if got := strings.Split(err.Error(), "\n"); !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("got %q, want lines that begin with %q", got, tt.want)
			}
		})
	}
}

func composeRows() []composeRow {
	return slices.Concat(composeFull, composeDeadline, composeBudget, composeRetry, composeBreaker, composeRateLimit)
}

func composePolicies(stack string) []stoic.Policy {
	var policies []stoic.Policy
	for name := range strings.SplitSeq(stack, " > ") {
		policies = append(policies, composeLayers[name]())
	}
	return policies
}

// composeRun makes calls one after the other and returns their traces.
func composeRun(t *testing.T, stack string, op composeOp, calls int, observed bool) (traces []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		trace := new(composeTrace)
		observe := stoic.Observe(nil)
		if observed {
			observe = stoic.Observe(trace)
		}
		p := stoic.MustNew("p", append([]stoic.Policy{observe}, composePolicies(stack)...)...)
		runs := 0
		for range calls {
			traces = append(traces, trace.call(t.Context(), p, op, &runs))
		}
		if err := trace.Check(); err != nil {
			t.Error(err)
		}
	})
	return traces
}

// composeUnobserved is what remains of a trace when nobody listens.
func composeUnobserved(trace string) string {
	var kept []string
	words := strings.Fields(trace)
	end := slices.Index(words, "=>")
	for i, word := range words {
		moment := strings.HasPrefix(word, "@")
		switch {
		case i < end && !moment && !strings.HasPrefix(word, "run"):
		case len(kept) > 0 && moment && strings.HasPrefix(kept[len(kept)-1], "@"):
			kept[len(kept)-1] = word
		default:
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}
