package stoic_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	{"a budget of a quarter over a short window", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0.25), budget.MinPerSecond(0.9), budget.Window(time.Second)), again(3)}
	}, 3, "1 + min(2, 0.25 + 0.9/r)", false},
	{"a budget whose window holds less than a retry", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0), budget.MinPerSecond(0.05)), again(3)}
	}, 3, "1 + min(2, 0.05/r)", false},
	{"a retry of one attempt", func() []stoic.Policy { return []stoic.Policy{again(1)} }, 1, "1", false},
	{"copies inside the retry", func() []stoic.Policy {
		return []stoic.Policy{budget.New(), again(3), copies{2}}
	}, 6, "2 + 2·min(2, 0.1 + 1/r)", true},
	{"copies outside the retry", func() []stoic.Policy {
		return []stoic.Policy{copies{2}, budget.New(), again(3)}
	}, 6, "2 + min(4, 0.2 + 1/r)", true},
	{"copies, no budget", func() []stoic.Policy { return []stoic.Policy{copies{2}, again(3)} }, 6, "2 + 4", true},
	{"a budget that does not say what it grants", func() []stoic.Policy {
		return []stoic.Policy{silentBudget{}, again(3)}
	}, 3, "1 + 2", true},
	{"unlimited attempts on a budget", func() []stoic.Policy {
		return []stoic.Policy{budget.New(budget.Ratio(0.3)), retry.New(retry.Unlimited(), retry.Constant(0))}
	}, math.Inf(1), "1 + 0.3 + 1/r", false},
}

// copies is a third-party layer that sends each call so many times.
type copies struct{ n int }

func (c copies) Run(ctx context.Context, next stoic.Next) (err error) {
	for range c.n {
		err = next.Do(ctx)
	}
	return err
}

func (c copies) Describe() stoic.Description { return stoic.Description{Kind: "copies", MaxRuns: c.n} }

// silentBudget is a third-party budget that does not describe itself.
type silentBudget struct{}

func (silentBudget) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }
func (silentBudget) Reserve() (stoic.Ticket, error)                 { return 0, nil }
func (silentBudget) Refund(stoic.Ticket)                            {}

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

// A budget that another stack feeds grants what that one's requests allow.
func TestOutageLoadOfASharedBudgetIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := budget.New()
		client := stoic.MustNew("client", shared.WithdrawOnly(), again(3))
		service := stoic.MustNew("service", shared, again(1))
		attempts := 0
		for range 10000 {
			_ = service.Do(t.Context(), func(ctx context.Context) error {
				return client.Do(ctx, func(context.Context) error {
					attempts++
					return errOperation
				})
			})
			time.Sleep(time.Millisecond)
		}
		want := client.Explain().Outage.At[2].Load
		if got := float64(attempts) / 10000; math.Abs(got-want) > 0.01*want {
			t.Errorf("sent %.4f attempts a call, explained are %.4f", got, want)
		}
	})
}

// With a budget inside, a breaker that counts calls opens below θ^(1/A), as it says.
func TestBreakerOutsideRetryWithBudget(t *testing.T) {
	run := func(t *testing.T, f float64, layers ...stoic.Policy) (state breaker.State, says string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New("b", breaker.FailureRate(0.5, 50, 10*time.Second))
			p := stoic.MustNew("p", append([]stoic.Policy{b}, layers...)...)
			r := rand.New(rand.NewPCG(1, 2))
			for range 5000 {
				_ = p.Do(t.Context(), func(context.Context) error {
					if r.Float64() < f {
						return errOperation
					}
					return nil
				})
				if state = b.State(); state != breaker.Closed {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			says = p.Explain().Layers[0].Sentence
		})
		return state, says
	}
	const between = "a rate of 0.5 is reached when attempts fail at between 0.5 and 0.5^(1/3) = 0.794, by what the budget grants"
	const only = "a rate of 0.5 is reached only when attempts fail at 0.5^(1/3) = 0.794"
	if state, says := run(t, 0.6, budget.New(), again(3)); state != breaker.Open || !strings.Contains(says, between) {
		t.Errorf("with a budget: %s, %q", state, says)
	}
	if state, says := run(t, 0.6, again(3)); state != breaker.Closed || !strings.Contains(says, only) {
		t.Errorf("without a budget: %s, %q", state, says)
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
			4, 10, 1, "after 10 attempts (50 % of at least 50 in 10s, or 10 in a row), that is at least 4 calls",
		},
		{
			"inside, rate",
			[]stoic.Policy{again(5), breaker.New("b", breaker.FailureRate(0.5, 50, 10*time.Second))},
			10, 50, 1, "after 50 attempts within 10s (50 % of at least 50 in 10s), that is at least 10 calls",
		},
		{
			"inside, rate of the last calls",
			[]stoic.Policy{again(5), breaker.New("b", breaker.FailureRateOfLast(0.5, 99))},
			10, 50, 1, "after 50 attempts (50 % of the last 99), that is at least 10 calls",
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
