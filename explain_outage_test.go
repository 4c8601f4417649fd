package stoic_test

import (
	"context"
	"fmt"
	"math"
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

// outageStacks are the stacks whose load in a total outage is run and compared with what
// Explain says.
var outageStacks = []struct {
	name    string
	layers  func() []stoic.Policy
	without float64
	formula string
	atMost  bool
}{
	{"nothing", func() []stoic.Policy { return nil }, 1, "1", false},
	{"deadline and limit", func() []stoic.Policy {
		return []stoic.Policy{deadline.New(time.Second), ratelimit.New(1e6, 1e6)}
	}, 1, "1", false},
	{"retry", func() []stoic.Policy { return []stoic.Policy{again(5)} }, 5, "1 + 4", false},
	{"budget of a tenth", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.MinPerSecond(0)), again(5)}
	}, 5, "1 + min(4, 0.1)", false},
	{"default budget", func() []stoic.Policy {
		return []stoic.Policy{budget.New(), again(3)}
	}, 3, "1 + min(2, 0.1 + 1/r)", false},
	{"budget with a large minimum", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0.2), budget.MinPerSecond(10)), again(5)}
	}, 5, "1 + min(4, 0.2 + 10/r)", false},
	{"budget above what the retry asks for", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(1), budget.MinPerSecond(1000)), again(2)}
	}, 2, "1 + min(1, 1 + 1000/r)", false},
	{"budget of nothing", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0), budget.MinPerSecond(0)), again(5)}
	}, 5, "1 + min(4, 0)", false},
	{"nested retries", func() []stoic.Policy { return []stoic.Policy{again(4), again(3)} }, 6, "1 + 3 + 2", false},
	{"nested retries that multiply", func() []stoic.Policy {
		return []stoic.Policy{again(4), again(3, retry.AllowNested())}
	}, 12, "1 + 3 + 8", false},
	{"nested retries on one budget", func() []stoic.Policy {
		return []stoic.Policy{budget.New(), again(4), again(3, retry.AllowNested())}
	}, 12, "1 + min(11, 0.1 + 1/r)", false},
	{"a budget around the inner retry", func() []stoic.Policy {
		return []stoic.Policy{again(4), budget.New(), again(3)}
	}, 6, "1 + 3 + min(2, 0.1 + 1/r)", true},
	{"a budget for each retry", func() []stoic.Policy {
		return []stoic.Policy{budget.New(), again(4), budget.New(budget.Ratio(0.5), budget.MinPerSecond(0)), again(3)}
	}, 6, "1 + min(3, 0.1 + 1/r) + min(2, 0.5)", true},
	{"a budget that the stack only draws on", func() []stoic.Policy {
		return []stoic.Policy{budget.New().WithdrawOnly(), again(3)}
	}, 3, "1 + min(2, 1/r)", false},
	{"unlimited attempts on a budget", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0.3)), retry.New(retry.Unlimited(), retry.Constant(0))}
	}, math.Inf(1), "1 + 0.3 + 1/r", false},
}

func again(attempts int, opts ...retry.Option) *retry.Retry {
	return retry.New(append(opts, retry.MaxAttempts(attempts), retry.Constant(0))...)
}

// What Explain says about the load in a total outage is what a thousand calls send, or
// more where a window of the budget holds more: the grants of one window are compared.
func TestOutageLoadIsTrue(t *testing.T) {
	for _, tt := range outageStacks {
		for k, rate := range []float64{10, 100, 1000} {
			t.Run(fmt.Sprintf("%s/%g a second", tt.name, rate), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := stoic.MustNew("p", tt.layers()...)
					outage := p.Explain().Outage
					want := outage.At[k]
					if want.Rate != rate || outage.WithoutBudget != tt.without || outage.Formula != tt.formula {
						t.Errorf("got %g a second, %g without a budget, formula %q, want %g, %g, %q",
							want.Rate, outage.WithoutBudget, outage.Formula, rate, tt.without, tt.formula)
					}
					calls := max(1000, int(rate*budget.DefaultWindow.Seconds()))
					got := float64(sendInOutage(t, p, calls, rate)) / float64(calls)
					if tt.atMost != outage.AtMost {
						t.Errorf("AtMost is %t, want %t", outage.AtMost, tt.atMost)
					}
					if got > 1.01*want.Load || !tt.atMost && got < 0.99*want.Load {
						t.Errorf("%d calls sent %.4f attempts each, explained are %.4f", calls, got, want.Load)
					}
				})
			})
		}
	}
}

func sendInOutage(t *testing.T, p *stoic.Pipeline, calls int, rate float64) (attempts int) {
	t.Helper()
	every := time.Duration(float64(time.Second) / rate)
	for range calls {
		_ = p.Do(t.Context(), func(context.Context) error {
			attempts++
			return errOperation
		})
		time.Sleep(every)
	}
	return attempts
}

// What the sentence of a breaker says about a total outage is what happens.
func TestBreakerSentenceIsTrue(t *testing.T) {
	tests := []struct {
		name     string
		layers   []stoic.Policy
		calls    int // until it is open
		attempts int
		probe    int // attempts of a call once it is half-open
		says     string
	}{
		{
			"inside, defaults",
			[]stoic.Policy{again(3), breaker.New("b")},
			4, 10, 1, "after 10 attempts (50 % of at least 50 in 10s, or 10 in a row), which are 4 calls at least",
		},
		{
			"inside, rate",
			[]stoic.Policy{again(5), breaker.New("b", breaker.FailureRate(0.5, 50, 10*time.Second))},
			10, 50, 1, "after 50 attempts (50 % of at least 50 in 10s), which are 10 calls at least",
		},
		{
			"inside, rate of the last calls",
			[]stoic.Policy{again(5), breaker.New("b", breaker.FailureRateOfLast(0.5, 99))},
			10, 50, 1, "after 50 attempts (50 % of the last 99), which are 10 calls at least",
		},
		{
			"outside, defaults",
			[]stoic.Policy{breaker.New("b"), again(3)},
			10, 30, 3, "after 10 failures in a row, which are up to 30 attempts (",
		},
		{
			"between two retries",
			[]stoic.Policy{again(2), breaker.New("b", breaker.ConsecutiveFailures(5)), again(3)},
			3, 11, 3, "after 5 failures in a row, which are up to 11 attempts (", // 3 + 1, 3 + 1, 3
		},
		{
			"no retry",
			[]stoic.Policy{breaker.New("b", breaker.ConsecutiveFailures(7))},
			7, 7, 1, "after 7 calls (7 in a row)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stoic.MustNew("p", tt.layers...)
				var b *breaker.Breaker
				for _, l := range tt.layers {
					if is, ok := l.(*breaker.Breaker); ok {
						b = is
					}
				}
				calls, attempts := 0, 0
				for b.State() != breaker.Open {
					calls++
					attempts += sendInOutage(t, p, 1, 1e9)
				}
				text := strings.Join(strings.Fields(p.Explain().String()), " ")
				if !strings.Contains(text, tt.says) {
					t.Errorf("the explanation does not say %q:\n%s", tt.says, text)
				}
				if calls != tt.calls || attempts != tt.attempts {
					t.Errorf("open after %d calls, %d attempts, want %d, %d", calls, attempts, tt.calls, tt.attempts)
				}
				time.Sleep(breaker.DefaultOpenFor + 1)
				if got := sendInOutage(t, p, 1, 1e9); got != tt.probe {
					t.Errorf("a probe is %d attempts, want %d", got, tt.probe)
				}
			})
		})
	}
}
