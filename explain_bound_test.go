package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/budget"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/ratelimit"
	"github.com/stoic-go/stoic/retry"
)

var errOperation = errors.New("operation failed")

// operationTime is what an operation takes that no deadline ends.
const operationTime = 700 * time.Millisecond

// The worst operations. Each honours its context and takes at most operationTime where
// that has no deadline.
var worstOperations = map[string]stoic.Func{
	"fails at once":            func(context.Context) error { return errOperation },
	"fails at the last moment": failAtLastMoment,
	"hangs":                    hang,
	"fails at once, and asks for a long wait": func(context.Context) error {
		return retry.After(time.Hour, errOperation)
	},
	"takes its time, and asks for a long wait": func(ctx context.Context) error {
		return retry.After(time.Hour, failAtLastMoment(ctx))
	},
	"fails or is slow, at random": func(ctx context.Context) error {
		if rand.IntN(2) == 0 {
			return errOperation
		}
		return hang(ctx)
	},
}

func failAtLastMoment(ctx context.Context) error {
	at := time.Now().Add(operationTime)
	if limit, ok := ctx.Deadline(); ok {
		at = limit
	}
	time.Sleep(time.Until(at))
	return errOperation
}

func hang(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		time.Sleep(operationTime)
		return errOperation
	}
	<-ctx.Done()
	return ctx.Err()
}

// randomStack makes a stack of 1 to 7 layers that New accepts.
func randomStack(r *rand.Rand) *stoic.Pipeline {
	for {
		layers := randomLayers(r, 1+r.IntN(7))
		if p, err := stoic.New("random", layers...); err == nil {
			return p
		}
	}
}

func randomLayers(r *rand.Rand, n int) []stoic.Policy {
	var layers []stoic.Policy
	for n > 0 {
		if nested := r.IntN(n) + 1; nested > 1 && r.IntN(4) == 0 {
			if p, err := stoic.New("nested", randomLayers(r, nested)...); err == nil {
				layers = append(layers, p)
				n -= nested
				continue
			}
		}
		layers = append(layers, randomLayer(r))
		n--
	}
	return layers
}

func below(r *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(d)))
}

func randomLayer(r *rand.Rand) stoic.Policy {
	upTo := func(d time.Duration) time.Duration { return 1 + below(r, d) }
	switch r.IntN(10) {
	case 0, 1:
		return deadline.New(upTo(3 * time.Second))
	case 2, 3, 4:
		return randomRetry(r)
	case 5:
		return budget.New(budget.Ratio(float64(r.IntN(11))/10), budget.MinPerSecond(float64(r.IntN(20))))
	case 6:
		return breaker.New("b", breaker.ConsecutiveFailures(1+r.IntN(20)), breaker.OpenFor(upTo(time.Second)))
	case 7:
		return ratelimit.New(ratelimit.Per(1+r.IntN(20), time.Second), 1+r.IntN(5))
	case 8:
		return ratelimit.New(ratelimit.Per(1+r.IntN(20), time.Second), 1+r.IntN(5), ratelimit.Wait(upTo(time.Second)))
	default:
		return stoic.Observe(hooks.Nop{})
	}
}

func randomRetry(r *rand.Rand) *retry.Retry {
	base := below(r, 200*time.Millisecond)
	ceiling := base + below(r, 2*time.Second)
	opts := []retry.Option{
		retry.MaxAttempts(1 + r.IntN(5)),
		[]retry.Option{
			retry.FullJitter(base, ceiling), retry.EqualJitter(base, ceiling),
			retry.DecorrelatedJitter(base, ceiling), retry.NoJitter(base, ceiling), retry.Constant(base),
		}[r.IntN(5)],
		retry.MaxRetryAfter(1 + below(r, time.Second)),
	}
	if r.IntN(4) == 0 {
		opts = append(opts, retry.AllowNested())
	}
	if r.IntN(4) == 0 {
		opts = append(opts, retry.If(all)) // refusals too, with their own hints
	}
	if r.IntN(3) == 0 {
		opts = append(opts, retry.Rand(func() float64 { return 1 })) // every wait at its ceiling
	}
	return retry.New(opts...)
}

// No run of a random stack exceeds what Explain says, whatever the operation does.
func TestWorstCaseHolds(t *testing.T) {
	const stacks = 400
	for seed := range uint64(stacks) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			p := randomStack(r)
			p.Vet()
			worst := p.Explain().Worst
			for name, operation := range worstOperations {
				for range 3 {
					checkWorst(t, p, worst, name, operation)
				}
				time.Sleep(time.Minute)
			}
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, p.Explain())
			}
		})
	}
}

func checkWorst(t *testing.T, p *stoic.Pipeline, worst stoic.WorstCase, name string, operation stoic.Func) {
	t.Helper()
	var attempts atomic.Int64
	start := time.Now()
	err := p.Do(t.Context(), func(ctx context.Context) error {
		attempts.Add(1)
		return operation(ctx)
	})
	took := time.Since(start)
	if err == nil {
		t.Errorf("%s: the call succeeded", name)
	}
	if n := int(attempts.Load()); n > worst.Attempts {
		t.Errorf("%s: %d attempts, above the worst case of %d", name, n, worst.Attempts)
	}
	if took > worst.TimeHinted {
		t.Errorf("%s: took %s, above the worst case of %s with hints", name, took, worst.TimeHinted)
	}
	if !asksForWait(name) && took > worst.Time {
		t.Errorf("%s: took %s, above the worst case of %s", name, took, worst.Time)
	}
	if without := worst.Waits + time.Duration(worst.Attempts)*operationTime; !asksForWait(name) && took > without && worst.Time == stoic.Forever {
		t.Errorf("%s: took %s, above %d operations and the waits: %s", name, took, worst.Attempts, without)
	}
}

// asksForWait reports whether the operation's error asks for a wait.
func asksForWait(operation string) bool {
	return operation == "fails at once, and asks for a long wait" || operation == "takes its time, and asks for a long wait"
}

// For these stacks the worst case happens: the numbers are no larger than they must be.
func TestWorstCaseIsReached(t *testing.T) {
	const second = time.Second
	ceiling := retry.Rand(func() float64 { return 1 })
	five := func(opts ...retry.Option) *retry.Retry {
		return retry.New(append([]retry.Option{retry.MaxAttempts(5), retry.NoJitter(second, 3*second)}, opts...)...)
	}
	tests := []struct {
		name      string
		layers    func() []stoic.Policy
		operation string
		attempts  int
		time      time.Duration
		unbounded bool // there is no deadline, so Time is Forever and the rest is checked
	}{
		{
			name:      "a deadline alone",
			layers:    func() []stoic.Policy { return []stoic.Policy{deadline.New(second)} },
			operation: "hangs", attempts: 1, time: second,
		},
		{
			name:      "attempts and waits", // 5·2 + 1 + 2 + 3 + 3
			layers:    func() []stoic.Policy { return []stoic.Policy{five(), deadline.New(2 * second)} },
			operation: "hangs", attempts: 5, time: 19 * second,
		},
		{
			name: "cut by the total deadline", // 2 + 1 + 2 + 2 + 2, and the third wait of 3 fits not
			layers: func() []stoic.Policy {
				return []stoic.Policy{deadline.New(8 * second), five(), deadline.New(2 * second)}
			},
			operation: "hangs", attempts: -1, time: 8 * second,
		},
		{
			name:      "waits alone",
			layers:    func() []stoic.Policy { return []stoic.Policy{five()} },
			operation: "fails at once", attempts: 5, time: 9 * second, unbounded: true,
		},
		{
			name: "nested retries",
			layers: func() []stoic.Policy {
				return []stoic.Policy{five(), retry.New(retry.NoJitter(second, second)), deadline.New(second)}
			},
			operation: "hangs", attempts: 7, time: (7 + 2 + 9) * second,
		},
		{
			name: "nested retries that multiply",
			layers: func() []stoic.Policy {
				return []stoic.Policy{five(), retry.New(retry.NoJitter(second, second), retry.AllowNested()), deadline.New(second)}
			},
			operation: "hangs", attempts: 15, time: (15 + 5*2 + 9) * second,
		},
		{
			name: "a nested pipeline, full jitter at its ceiling",
			layers: func() []stoic.Policy {
				inner := stoic.MustNew("inner", retry.New(retry.FullJitter(second, second), retry.Constant(second)), deadline.New(second))
				return []stoic.Policy{stoic.Observe(hooks.Nop{}), inner}
			},
			operation: "fails at the last moment", attempts: 3, time: 5 * second,
		},
		{
			name: "hints up to the cap",
			layers: func() []stoic.Policy {
				return []stoic.Policy{retry.New(retry.MaxRetryAfter(7*second), ceiling), deadline.New(second)}
			},
			operation: "takes its time, and asks for a long wait", attempts: 3, time: (3 + 14) * second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := stoic.MustNew("p", tt.layers()...)
				worst := p.Explain().Worst
				attempts := 0
				start := time.Now()
				_ = p.Do(t.Context(), func(ctx context.Context) error {
					attempts++
					return worstOperations[tt.operation](ctx)
				})
				took := time.Since(start)
				if took != tt.time || tt.attempts > 0 && attempts != tt.attempts {
					t.Errorf("the run: %d attempts in %s, want %d in %s", attempts, took, tt.attempts, tt.time)
				}
				bound := worst.Time
				switch {
				case tt.operation == "takes its time, and asks for a long wait":
					bound = worst.TimeHinted
				case tt.unbounded:
					bound = worst.Waits
				}
				if bound != tt.time || tt.attempts > 0 && worst.Attempts != tt.attempts {
					t.Errorf("the explanation: %d attempts in %s, want %d in %s\n%s", worst.Attempts, bound, tt.attempts, tt.time, p.Explain())
				}
			})
		})
	}
}

// A limiter's wait is reached too; x/time may end it 1 ns early.
func TestWorstCaseOfLimiterIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := stoic.MustNew("p",
			ratelimit.New(1, 1, ratelimit.Wait(time.Second)), deadline.New(2*time.Second))
		want := 3 * time.Second
		if got := p.Explain().Worst.Time; got != want {
			t.Errorf("worst case %s, want %s", got, want)
		}
		_ = p.Do(t.Context(), func(context.Context) error { return nil })
		start := time.Now()
		_ = p.Do(t.Context(), hang)
		if took := time.Since(start); took > want || took < want-1 {
			t.Errorf("took %s, want %s", took, want)
		}
	})
}

func TestTooLate(t *testing.T) {
	const second = time.Second
	tests := []struct {
		layers []stoic.Policy
		want   string
	}{
		{
			[]stoic.Policy{deadline.New(2 * second), retry.New(), deadline.New(second)},
			"[attempt 3 of layer 2: the deadline of 2s comes first if each one before takes all its time]",
		},
		{
			[]stoic.Policy{deadline.New(2*second + 301*time.Millisecond), retry.New(), deadline.New(second)}, "[]",
		},
		{
			[]stoic.Policy{deadline.New(7 * second), retry.New(retry.MaxAttempts(5), retry.NoJitter(second, 4*second)), deadline.New(1)},
			"[attempts 4 to 5 of layer 2: the deadline of 7s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{
			[]stoic.Policy{deadline.New(7*second + 1), retry.New(retry.MaxAttempts(5), retry.NoJitter(second, 4*second)), deadline.New(1)},
			"[attempt 5 of layer 2: the deadline of 7.000000001s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{
			[]stoic.Policy{deadline.New(time.Hour), retry.New(retry.Unlimited(), retry.Constant(second))},
			"[attempt 3601 and all further ones of layer 2: the deadline of 1h0m0s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{
			[]stoic.Policy{deadline.New(time.Hour), retry.New(retry.Unlimited(), retry.Constant(7*second))}, // 515 · 7 s > 3600 s
			"[attempt 516 and all further ones of layer 2: the deadline of 1h0m0s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{
			[]stoic.Policy{deadline.New(time.Hour), retry.New(retry.Unlimited(), retry.Constant(0)), deadline.New(1)},
			"[attempt 3600000000001 and all further ones of layer 2: the deadline of 1h0m0s comes first if each one before takes all its time]",
		},
		{ // the limiter's wait is cut by the deadline around it: 3 · 100 ms + 300 ms
			[]stoic.Policy{deadline.New(second), retry.New(retry.NoJitter(100*time.Millisecond, second)), deadline.New(100 * time.Millisecond), ratelimit.New(1, 1, ratelimit.Wait(500*time.Millisecond))},
			"[]",
		},
		{
			[]stoic.Policy{deadline.New(10 * second), deadline.New(second), retry.New(retry.Constant(600 * time.Millisecond)), deadline.New(1)},
			"[attempt 3 of layer 3: the deadline of 1s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{ // the outer deadline leaves less than the inner one allows
			[]stoic.Policy{deadline.New(10 * second), ratelimit.New(1, 1, ratelimit.Wait(9*second)), deadline.New(5 * second), retry.New(retry.Constant(2 * second))},
			"[attempts 2 to 3 of layer 4: the deadline of 10s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
		{
			[]stoic.Policy{deadline.New(second), ratelimit.New(1, 1, ratelimit.Wait(900*time.Millisecond)), retry.New(retry.Constant(100 * time.Millisecond))},
			"[attempts 2 to 3 of layer 3: the deadline of 1s comes first even if each one before fails at once, when the waits are at their ceilings]",
		},
	}
	for _, tt := range tests {
		p := stoic.MustNew("p", tt.layers...)
		if got := fmt.Sprint(p.Explain().Worst.TooLate); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
