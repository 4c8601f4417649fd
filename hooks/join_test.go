package hooks_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

// spies returns three spies a, b and c, joined, for change to spoil one.
func spies(change func(b *spy)) (hooks.Hook, *journal) {
	var j journal
	b := &spy{name: "b", journal: &j}
	if change != nil {
		change(b)
	}
	return hooks.Join(&spy{name: "a", journal: &j}, b, &spy{name: "c", journal: &j}), &j
}

func TestJoinNothing(t *testing.T) {
	for name, got := range map[string]hooks.Hook{
		"none":   hooks.Join(),
		"nil":    hooks.Join(nil),
		"nils":   hooks.Join(nil, nil, nil),
		"nested": hooks.Join(hooks.Join(), hooks.OnEvent(nil)),
	} {
		if got != nil {
			t.Errorf("%s: got %v, want nil", name, got)
		}
	}
}

func TestJoinOneIsThatHook(t *testing.T) {
	h := new(hookstest.Recorder)
	for name, got := range map[string]hooks.Hook{
		"one":    hooks.Join(h),
		"nils":   hooks.Join(nil, h, nil),
		"nested": hooks.Join(hooks.Join(nil, hooks.Join(h))),
	} {
		if got != h {
			t.Errorf("%s: got %v, want the hook itself", name, got)
		}
	}
	two := hooks.Join(h, h)
	if got := hooks.Join(nil, two); got != two {
		t.Errorf("joined: got %v, want the hook itself", got)
	}
}

func TestJoinOrder(t *testing.T) {
	const want = "a start call; b start call; c start call; " +
		"a retry; b retry; c retry; " +
		"c end call failed; b end call failed; a end call failed; " +
		"a attach payments 2; b attach payments 2; c attach payments 2"
	join := map[string]func(a, b, c hooks.Hook) hooks.Hook{
		"flat":    func(a, b, c hooks.Hook) hooks.Hook { return hooks.Join(a, b, c) },
		"nils":    func(a, b, c hooks.Hook) hooks.Hook { return hooks.Join(nil, a, nil, b, c, nil) },
		"left":    func(a, b, c hooks.Hook) hooks.Hook { return hooks.Join(hooks.Join(a, b), c) },
		"right":   func(a, b, c hooks.Hook) hooks.Hook { return hooks.Join(a, hooks.Join(b, c)) },
		"nothing": func(a, b, c hooks.Hook) hooks.Hook { return hooks.Join(hooks.Join(a, b, c), hooks.Join()) },
		"no attacher": func(a, b, c hooks.Hook) hooks.Hook {
			return hooks.Join(hooks.Nop{}, a, hooks.Nop{}, b, c, hooks.Nop{})
		},
	}
	for name, join := range join {
		t.Run(name, func(t *testing.T) {
			var j journal
			h := join(&spy{name: "a", journal: &j}, &spy{name: "b", journal: &j}, &spy{name: "c", journal: &j})
			ctx := h.Start(t.Context(), call)
			h.Event(ctx, hooks.Event{Kind: hooks.Retry})
			h.End(ctx, call, hooks.Result{Outcome: hooks.Failed})
			h.(hooks.Attacher).Attach("payments", make([]hooks.LayerInfo, 2))
			if got := j.String(); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestJoinDoesNotKeepTheSlice(t *testing.T) {
	var j journal
	members := []hooks.Hook{&spy{name: "a", journal: &j}, &spy{name: "b", journal: &j}}
	h := hooks.Join(members...)
	clear(members)
	h.Event(t.Context(), hooks.Event{Kind: hooks.Retry})
	if got, want := j.String(), "a retry; b retry"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What misbehaves is b, between a and c.
func TestJoinCallsTheOthersWhateverOneDoes(t *testing.T) {
	start := func(h hooks.Hook) { h.Start(context.Background(), call) }
	end := func(h hooks.Hook) { h.End(context.Background(), call, hooks.Result{Outcome: hooks.Failed}) }
	event := func(h hooks.Hook) { h.Event(context.Background(), hooks.Event{Kind: hooks.Retry}) }
	attach := func(h hooks.Hook) { h.(hooks.Attacher).Attach("payments", nil) }
	value := &struct{ text string }{"a pointer, to see that it is the same"}
	boom := func() { panic(value) }
	tests := []struct {
		name   string
		change func(*spy)
		do     func(hooks.Hook)
		panics bool
		want   string
	}{
		{"Start panics", func(b *spy) { b.start = boom }, start, true, "a start call; b start call; a end call panicked"},
		{"Start exits", func(b *spy) { b.start = exit }, start, false, "a start call; b start call; a end call exited"},
		{"End panics", func(b *spy) { b.end = boom }, end, true, "c end call failed; b end call failed; a end call failed"},
		{"End exits", func(b *spy) { b.end = exit }, end, false, "c end call failed; b end call failed; a end call failed"},
		{"Event panics", func(b *spy) { b.event = boom }, event, true, "a retry; b retry; c retry"},
		{"Event exits", func(b *spy) { b.event = exit }, event, false, "a retry; b retry; c retry"},
		{"Attach panics", func(b *spy) { b.attach = boom }, attach, true, "a attach payments 0; b attach payments 0; c attach payments 0"},
		{"Attach exits", func(b *spy) { b.attach = exit }, attach, false, "a attach payments 0; b attach payments 0; c attach payments 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, j := spies(tt.change)
			panicked, exited := outcome(func() { tt.do(h) })
			if got := j.String(); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if tt.panics && panicked != value {
				t.Errorf("panic: got %v, want %v", panicked, value)
			}
			if exited == tt.panics {
				t.Errorf("exited: got %t, want %t", exited, !tt.panics)
			}
		})
	}
}

func TestJoinEndsStartedHooksWithThePanic(t *testing.T) {
	var first, second hookstest.Recorder
	h := hooks.Join(&first, &second, &spy{journal: new(journal), start: func() { panic("boom") }})

	if got, _ := outcome(func() { h.Start(context.Background(), call) }); got != "boom" {
		t.Errorf("panic: got %v, want boom", got)
	}
	want := hooks.Result{Outcome: hooks.Panicked, Panic: "boom"}
	for i, r := range []*hookstest.Recorder{&first, &second} {
		if err := r.Check(); err != nil {
			t.Errorf("hook %d: %v", i, err)
		}
		if got := r.All()[1].Result; got != want {
			t.Errorf("hook %d: result %+v, want %+v", i, got, want)
		}
	}
}

// The panic of the Start is the one to look into, not what it led to.
func TestJoinStartPanicOutlivesThePanicOfAnEnd(t *testing.T) {
	h := hooks.Join(
		&spy{journal: new(journal), end: func() { panic("end") }},
		&spy{journal: new(journal), start: func() { panic("start") }})
	if got, _ := outcome(func() { h.Start(context.Background(), call) }); got != "start" {
		t.Errorf("panic: got %v, want start", got)
	}
}

// valuer is a hook that keeps its name under a key that it shares with others.
type valuer struct {
	hooks.Nop

	name string
}

type nameKey struct{}

func (v *valuer) Start(ctx context.Context, _ hooks.Op) context.Context {
	before, _ := ctx.Value(nameKey{}).(string)
	return context.WithValue(ctx, nameKey{}, before+v.name)
}

func TestJoinStartGetsTheContextOfTheOneBefore(t *testing.T) {
	h := hooks.Join(&valuer{name: "a"}, &valuer{name: "b"}, hooks.Nop{}, &valuer{name: "c"})
	if got := h.Start(t.Context(), call).Value(nameKey{}); got != "abc" {
		t.Errorf("got %v, want abc", got)
	}
}

// callOnly is a hook that has a context of its own only for calls.
type callOnly struct{ hookstest.Recorder }

func (h *callOnly) Start(ctx context.Context, op hooks.Op) context.Context {
	if op.Kind == hooks.KindCall {
		return h.Recorder.Start(ctx, op)
	}
	return ctx
}

func (h *callOnly) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	if op.Kind == hooks.KindCall {
		h.Recorder.End(ctx, op, res)
	}
}

// same is a hook that wants to see in End the context that it got in Start.
type same struct {
	hooks.Nop

	t    *testing.T
	open []context.Context
}

func (s *same) Start(ctx context.Context, _ hooks.Op) context.Context {
	s.open = append(s.open, ctx)
	return ctx
}

func (s *same) End(ctx context.Context, op hooks.Op, _ hooks.Result) {
	s.t.Helper()
	last := len(s.open) - 1
	if ctx != s.open[last] {
		s.t.Errorf("end %s: the context is not the one of its Start", op.Kind)
	}
	s.open = s.open[:last]
}

func TestJoinEndGetsTheContextOfItsOwnStart(t *testing.T) {
	type checked interface {
		hooks.Hook
		Check() error
	}
	for name, members := range map[string][]hooks.Hook{
		"all":     {new(hookstest.Recorder), new(hookstest.Recorder), new(hookstest.Recorder), new(hookstest.Recorder)},
		"first":   {new(hookstest.Recorder), hooks.Nop{}, hooks.Nop{}},
		"last":    {&same{t: t}, &same{t: t}, new(hookstest.Recorder)},
		"between": {&same{t: t}, new(hookstest.Recorder), &same{t: t}, new(hookstest.Recorder), &same{t: t}},
		"none":    {&same{t: t}, &same{t: t}, &same{t: t}},
		// The attempt begins with the joined context of the call, unchanged.
		"calls only": {&same{t: t}, &same{t: t}, new(callOnly), &same{t: t}},
	} {
		t.Run(name, func(t *testing.T) {
			h := hooks.Join(members...)
			ctx := h.Start(t.Context(), call)
			for range 2 {
				inner := h.Start(ctx, attempt)
				h.End(inner, attempt, hooks.Result{Outcome: hooks.Failed})
			}
			h.End(ctx, call, hooks.Result{Outcome: hooks.Succeeded})
			for i, m := range members {
				if r, ok := m.(checked); ok {
					if err := r.Check(); err != nil {
						t.Errorf("hook %d: %v", i, err)
					}
				}
			}
		})
	}
}

// incomparable is a context that panics when it is compared.
type incomparable struct {
	context.Context
	_ []int
}

func TestJoinDoesNotCompareWhatCannotBe(t *testing.T) {
	h := hooks.Join(hooks.Nop{}, hooks.Nop{})
	ctx := h.Start(incomparable{Context: t.Context()}, call)
	h.End(ctx, call, hooks.Result{Outcome: hooks.Succeeded})
}

// A hook that returns no context is wrong but works alone, so it does in company.
func TestJoinTakesNoContextForTheGivenOne(t *testing.T) {
	type key struct{}
	given := context.WithValue(t.Context(), key{}, "value")
	for i := range 3 {
		members := []hooks.Hook{&same{t: t}, &same{t: t}, &same{t: t}}
		members[i] = noContext{}
		h := hooks.Join(members...)
		ctx := h.Start(given, call)
		if ctx != given {
			t.Errorf("hook %d returns no context: got %v, want the one that was given", i, ctx)
		}
		h.End(ctx, call, hooks.Result{Outcome: hooks.Succeeded})
	}
}

type noContext struct{ hooks.Nop }

func (noContext) Start(context.Context, hooks.Op) context.Context { return nil }

func TestJoinConformance(t *testing.T) {
	hookstest.TestHook(t, func() hooks.Hook {
		return hooks.Join(new(hookstest.Recorder), &valuer{name: "a"}, &valuer{name: "b"})
	})
}

func TestJoinAllocations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		h     hooks.Hook
		start float64 // allocations of Start
	}{
		{"no contexts", hooks.Join(hooks.Nop{}, hooks.Nop{}, hooks.Nop{}), 0},
		{"context of the first", hooks.Join(&fixed{}, hooks.Nop{}, hooks.Nop{}), 0},
		{"context of the second", hooks.Join(hooks.Nop{}, &fixed{}, hooks.Nop{}), 1},
		{"context of the last", hooks.Join(hooks.Nop{}, hooks.Nop{}, &fixed{}), 1},
		{"two contexts", hooks.Join(hooks.Nop{}, &fixed{}, &valuer{}), 2 + 2}, // a valuer itself makes two
		{"joined twice", hooks.Join(hooks.Nop{}, hooks.Join(hooks.Nop{}, &fixed{})), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := context.Background()
			var started context.Context
			if got := testing.AllocsPerRun(100, func() { started = tt.h.Start(ctx, call) }); got != tt.start {
				t.Errorf("Start: %v allocations, want %v", got, tt.start)
			}
			if got := testing.AllocsPerRun(100, func() {
				tt.h.Event(started, hooks.Event{Kind: hooks.Retry})
				tt.h.End(started, call, hooks.Result{Outcome: hooks.Succeeded})
			}); got != 0 {
				t.Errorf("Event and End: %v allocations, want 0", got)
			}
		})
	}
}

// An attempt inside a call for which a later hook made a context.
func TestJoinAllocatesOneContextForEachLaterHook(t *testing.T) {
	h := hooks.Join(hooks.Nop{}, new(callOnly), hooks.Nop{})
	ctx := h.Start(context.Background(), call)
	if got := testing.AllocsPerRun(100, func() { h.Start(ctx, attempt) }); got > 2 {
		t.Errorf("%v allocations, want at most 2", got)
	}
}

// fixed returns a context of its own without an allocation.
type fixed struct{ hooks.Nop }

var fixedContext = context.WithValue(context.Background(), nameKey{}, "fixed")

func (*fixed) Start(context.Context, hooks.Op) context.Context { return fixedContext }

func BenchmarkJoin(b *testing.B) {
	for n := range 4 {
		b.Run(fmt.Sprintf("hooks=%d", n+1), func(b *testing.B) {
			h := hooks.Join(slices.Repeat([]hooks.Hook{hooks.Nop{}}, n+1)...)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				started := h.Start(ctx, call)
				h.Event(started, hooks.Event{Kind: hooks.Retry})
				h.End(started, call, hooks.Result{Outcome: hooks.Succeeded})
			}
		})
	}
}
