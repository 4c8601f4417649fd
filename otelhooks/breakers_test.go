package otelhooks_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/otelhooks"
)

// The states of one breaker.
var (
	isClosed   = states{closed: 1}
	isHalfOpen = states{halfOpen: 1}
	isOpen     = states{open: 1}
)

func fragile(opts ...breaker.Option) *breaker.Breaker {
	return breaker.New("db", append([]breaker.Option{
		breaker.ConsecutiveFailures(1), breaker.OpenFor(sec), breaker.Probes(2),
	}, opts...)...)
}

// The series exist before the first call, and at every step exactly one is 1: also for
// whoever looks while the change is told.
func TestBreakerStatusFollowsTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var told []string
		look := hooks.OnEvent(func(_ context.Context, e hooks.Event) {
			if e.Kind != hooks.StateChange {
				return
			}
			told = append(told, e.To)
			s, ok := f.status("db")
			if sum := s.closed + s.halfOpen + s.open; !ok || sum != 1 {
				t.Errorf("%s to %s: %+v, want a sum of 1", e.From, e.To, s)
			}
		})
		circuit := fragile()
		p := stoic.MustNew("payments", stoic.Observe(hooks.Join(f, look)), circuit)
		do := func(err error) { _ = p.Do(t.Context(), lasting(0, err)) }
		f.wantStatus("db", isClosed)
		do(nil)
		f.wantStatus("db", isClosed)
		do(errPlain)
		f.wantStatus("db", isOpen)
		do(nil) // refused
		f.wantStatus("db", isOpen)
		time.Sleep(sec + 1)
		f.wantStatus("db", isOpen) // as documented: the next call is what makes it half-open
		_ = p.Do(t.Context(), func(context.Context) error {
			f.wantStatus("db", isHalfOpen)
			return nil
		})
		f.wantStatus("db", isHalfOpen) // one of two probes
		do(errPlain)
		f.wantStatus("db", isOpen)
		time.Sleep(sec + 1)
		do(nil)
		do(nil)
		f.wantStatus("db", isClosed)
		wantStrings(t, told, "open", "half-open", "open", "half-open", "closed")
		// Collecting asks no breaker: an open one does not become half-open by it.
		do(errPlain)
		time.Sleep(time.Hour)
		f.wantStatus("db", isOpen)
	})
}

func wantStrings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %q, want %q", got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got, want)
			return
		}
	}
}

// All of the metric: three points, of which one is 1.
func TestBreakerStatusExistsBeforeTheFirstCall(t *testing.T) {
	f := newFixture(t)
	stoic.MustNew("payments", stoic.Observe(f), breaker.New("db"))
	state := func(value int64, name string) metricdata.DataPoint[int64] {
		return pointAt(value, labels("stoic.policy.name", "db", "stoic.breaker.state", name)...)
	}
	wantMetric(t, f, "stoic.breaker.status", upDownOf(state(1, "closed"), state(0, "half_open"), state(0, "open")))
	wantNames(t, f, "stoic.breaker.status")
}

func TestBreakerTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		circuit := fragile()
		p := stoic.MustNew("payments", stoic.Observe(f), circuit)
		do := func(err error) { _ = p.Do(t.Context(), lasting(0, err)) }
		if m, ok := f.metrics()["stoic.breaker.transitions"]; ok {
			t.Errorf("%+v before the first", m)
		}
		for range 3 {
			do(errPlain) // opens
			time.Sleep(sec + 1)
			do(nil)
			do(nil) // closes
		}
		circuit.ForceOpen()
		do(nil)
		to := func(value int64, state string) metricdata.DataPoint[int64] {
			return pointAt(value, labels("stoic.policy.name", "db", "stoic.breaker.state", state)...)
		}
		wantMetric(t, f, "stoic.breaker.transitions", counterOf(to(4, "open"), to(3, "half_open"), to(3, "closed")))
	})
}

// Two breakers of one name are two of a name, in two pipelines or in one.
func TestBreakerStatusOfTwoOfOneNameSumsToTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		first := stoic.MustNew("reads", stoic.Observe(f), fragile())
		second := stoic.MustNew("writes", stoic.Observe(f), fragile())
		f.wantStatus("db", states{closed: 2})
		_ = first.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", states{closed: 1, open: 1})
		_ = second.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", states{open: 2})
		time.Sleep(sec + 1)
		_ = first.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", states{halfOpen: 1, open: 1})
		_ = first.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", states{closed: 1, open: 1})
	})
	t.Run("one in the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			p := stoic.MustNew("payments", stoic.Observe(f), fragile(), fragile())
			f.wantStatus("db", states{closed: 2})
			_ = p.Do(t.Context(), lasting(0, errPlain)) // opens both
			f.wantStatus("db", states{open: 2})
			time.Sleep(sec + 1)
			for range 2 {
				_ = p.Do(t.Context(), lasting(0, nil))
			}
			f.wantStatus("db", states{closed: 2})
		})
	})
	t.Run("pipelines of one name", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			for range 2 {
				p := stoic.MustNew("payments", stoic.Observe(f), fragile())
				_ = p.Do(t.Context(), lasting(0, errPlain))
			}
			f.wantStatus("db", states{open: 2})
		})
	})
}

// One breaker in several pipelines is one.
func TestBreakerStatusOfASharedOneCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, otelhooks.WithDetailedMetrics())
		circuit := fragile()
		reads := stoic.MustNew("reads", stoic.Observe(f), circuit)
		writes := stoic.MustNew("writes", stoic.Observe(f), stoic.Observe(f), circuit)
		again := stoic.MustNew("reads", stoic.Observe(f), circuit) // of the same name
		f.wantStatus("db", isClosed)
		_ = reads.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", isOpen)
		time.Sleep(sec + 1)
		_ = writes.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", isHalfOpen)
		_ = again.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", isClosed)
	})
}

// A stack that does not report can move a breaker too. What is told next is right again.
func TestBreakerStatusOfOneThatIsSharedWithASilentStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		circuit := fragile()
		silent := stoic.MustNew("silent", circuit)
		p := stoic.MustNew("payments", stoic.Observe(f), circuit)
		_ = silent.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", isClosed) // nobody told
		time.Sleep(sec + 1)
		_ = p.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", isHalfOpen) // open was never seen
		_ = silent.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", isHalfOpen)
		_ = p.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", isOpen)
		// It went round and is open again: the same state twice is no change.
		time.Sleep(sec + 1)
		for range 2 {
			_ = silent.Do(t.Context(), lasting(0, nil))
		}
		_ = p.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", isOpen)
	})
}

// The state at the beginning is the one that the breaker is in, which may have been used.
func TestBreakerStatusBeginsWhereTheBreakerIs(t *testing.T) {
	tests := []struct {
		name  string
		bring func(ctx context.Context, b *breaker.Breaker)
		want  states
	}{
		{"forced open", func(_ context.Context, b *breaker.Breaker) { b.ForceOpen() }, isOpen},
		{"opened in another stack", func(ctx context.Context, b *breaker.Breaker) {
			_ = stoic.MustNew("other", b).Do(ctx, lasting(0, errPlain))
		}, isOpen},
		{"its open time is over", func(ctx context.Context, b *breaker.Breaker) {
			_ = stoic.MustNew("other", b).Do(ctx, lasting(0, errPlain))
			time.Sleep(sec + 1)
		}, isHalfOpen},
		{"forced and released", func(_ context.Context, b *breaker.Breaker) { b.ForceOpen(); b.Auto() }, isClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				circuit := fragile()
				tt.bring(t.Context(), circuit)
				p := stoic.MustNew("payments", stoic.Observe(f), circuit)
				f.wantStatus("db", tt.want)
				// The next call tells of the change that the metric knows already.
				_ = p.Do(t.Context(), func(context.Context) error { f.wantStatus("db", tt.want); return nil })
				f.wantStatus("db", tt.want)
				circuit.ForceClosed()
				_ = p.Do(t.Context(), lasting(0, nil))
				f.wantStatus("db", isClosed)
			})
		})
	}
}

// A breaker that a layer chooses at the time of the call is known from its first change.
func TestBreakerStatusOfOneChosenAtCallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		shards := map[string]*breaker.Breaker{}
		for _, name := range []string{"db-1", "db-2"} {
			shards[name] = breaker.New(name, breaker.ConsecutiveFailures(1), breaker.OpenFor(sec))
		}
		choose := stoic.PolicyFunc("shard", func(ctx context.Context, next stoic.Next) error {
			return shards[stoic.IdempotencyKey(ctx)].Run(ctx, next)
		})
		p := stoic.MustNew("payments", stoic.Observe(f), choose)
		do := func(name string, err error) {
			_ = p.Do(stoic.WithIdempotencyKey(t.Context(), name), lasting(0, err))
		}
		do("db-1", nil)
		if s, ok := f.status("db-1"); ok {
			t.Errorf("%+v, but nobody told of it", s)
		}
		do("db-1", errPlain)
		f.wantStatus("db-1", isOpen)
		time.Sleep(sec + 1)
		do("db-1", nil)
		f.wantStatus("db-1", isClosed)
		if s, ok := f.status("db-2"); ok {
			t.Errorf("%+v, but nobody told of it", s)
		}
	})
}

// As documented: of several breakers of one name that are chosen at call time, the status
// is that of the one which changed last.
func TestBreakerStatusOfSeveralOfOneNameChosenAtCallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		shards := map[string]*breaker.Breaker{"a": fragile(), "b": fragile()}
		choose := stoic.PolicyFunc("shard", func(ctx context.Context, next stoic.Next) error {
			return shards[stoic.IdempotencyKey(ctx)].Run(ctx, next)
		})
		p := stoic.MustNew("payments", stoic.Observe(f), choose)
		do := func(shard string, err error) {
			_ = p.Do(stoic.WithIdempotencyKey(t.Context(), shard), lasting(0, err))
		}
		do("a", errPlain)
		f.wantStatus("db", isOpen)
		do("b", errPlain)
		f.wantStatus("db", isOpen) // both are
		time.Sleep(sec + 1)
		do("a", nil)
		f.wantStatus("db", isHalfOpen)
		do("a", nil)
		f.wantStatus("db", isClosed)
		if got := shards["b"].State(); got == breaker.Closed {
			t.Errorf("the other one is %v", got)
		}
	})
}

// foreign is a breaker of another package: its events come with the kind of ours.
type foreign struct{ name string }

func (b *foreign) Describe() stoic.Description {
	return stoic.Description{Kind: stoic.KindBreaker, Name: b.name}
}

func (b *foreign) Run(ctx context.Context, next stoic.Next) error {
	next.Emit(ctx, hooks.Event{
		Kind: hooks.StateChange, Policy: stoic.KindBreaker, Name: b.name, From: hooks.StateClosed, To: hooks.StateOpen,
	})
	return next.Do(ctx)
}

// One that cannot be asked for its state is closed, and without a name it is called what
// it is, before and after its first change.
func TestBreakerStatusOfAForeignBreaker(t *testing.T) {
	for name, want := range map[string]string{"theirs": "theirs", "": "breaker"} {
		f := newFixture(t)
		p := stoic.MustNew("payments", stoic.Observe(f), &foreign{name})
		f.wantStatus(want, isClosed)
		_ = p.Do(t.Context(), lasting(0, nil))
		f.wantStatus(want, isOpen)
		if m := f.metrics()["stoic.breaker.status"]; len(labelSets(t, m)) != 3 {
			t.Errorf("%q: %d series, want 3", name, len(labelSets(t, m)))
		}
	}
}

// valueBreaker is a layer that cannot be a key of a map.
type valueBreaker struct{ names []string }

func (b valueBreaker) Describe() stoic.Description {
	return stoic.Description{Kind: stoic.KindBreaker, Name: b.names[0]}
}

func (b valueBreaker) Run(ctx context.Context, next stoic.Next) error { return next.Do(ctx) }

func TestBreakerStatusOfALayerThatCannotBeCompared(t *testing.T) {
	f := newFixture(t)
	stoic.MustNew("payments", stoic.Observe(f), valueBreaker{[]string{"db"}})
	f.wantStatus("db", isClosed)
}

// A hook may call the stack that it is told about, and ask its breaker.
func TestBreakerStatusWithAHookThatCallsTheStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		circuit := fragile()
		var p *stoic.Pipeline
		inside := false
		again := hooks.OnEvent(func(ctx context.Context, e hooks.Event) {
			if e.Kind == hooks.StateChange && !inside {
				inside = true
				_ = circuit.State()
				_ = p.Do(ctx, lasting(0, nil))
				inside = false
			}
		})
		p = stoic.MustNew("payments", stoic.Observe(hooks.Join(again, f)), circuit)
		_ = p.Do(t.Context(), lasting(0, errPlain))
		f.wantStatus("db", isOpen)
		time.Sleep(sec + 1)
		_ = p.Do(t.Context(), lasting(0, nil))
		_ = p.Do(t.Context(), lasting(0, nil))
		f.wantStatus("db", isClosed)
	})
}

// Many calls at once, through pipelines that share a breaker and while others are made:
// whoever collects sees one state, and the last one is right.
func TestBreakerStatusOfManyCallsAtOnce(t *testing.T) {
	f := newFixture(t)
	circuit := breaker.New("db", breaker.ConsecutiveFailures(1), breaker.OpenFor(1))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p := stoic.MustNew("payments", stoic.Observe(f), circuit)
			for i := range 500 {
				var err error
				if i%3 == 0 {
					err = errPlain
				}
				_ = p.Do(t.Context(), func(context.Context) error { return err })
				if i%50 == 0 {
					if s, ok := f.status("db"); !ok || s.closed+s.halfOpen+s.open != 1 {
						t.Errorf("in between: %+v, want a sum of 1", s)
					}
				}
			}
		})
	}
	wg.Wait()
	circuit.ForceClosed()
	_ = stoic.MustNew("other", stoic.Observe(f), circuit).Do(t.Context(), lasting(0, nil))
	f.wantStatus("db", isClosed)
}

// As documented: what two hooks of one provider say of a shared breaker adds up.
func TestBreakerStatusOfTwoHooksAddsUp(t *testing.T) {
	f := newFixture(t)
	second, err := otelhooks.New(otelhooks.WithMeterProvider(f.meter), otelhooks.WithTracerProvider(f.tracer))
	if err != nil {
		t.Fatal(err)
	}
	circuit := fragile()
	stoic.MustNew("reads", stoic.Observe(f), circuit)
	f.wantStatus("db", isClosed)
	writes := stoic.MustNew("writes", stoic.Observe(second), circuit)
	f.wantStatus("db", states{closed: 2})
	_ = writes.Do(t.Context(), func(context.Context) error { return errPlain })
	f.wantStatus("db", states{closed: 1, open: 1}) // the first hook was not told
}
