package stoic_test

import (
	"context"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
)

// A hook that is in two layers, as when stacks that share it are nested, is told of each
// call, attempt and event once.
func TestObserveTellsAHookOnce(t *testing.T) {
	rec, other := new(hookstest.Recorder), new(hookstest.Recorder)
	inner := stoic.MustNew("inner", stoic.Observe(rec), stoic.Observe(other), attempts(2, 0), stoic.Observe(rec))
	outer := stoic.MustNew("outer", stoic.Observe(rec), inner)
	calls := 0
	err := outer.Do(t.Context(), func(context.Context) error {
		if calls++; calls == 1 {
			return errBoom
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// A call, two attempts and one retry; each of the first three begins and ends.
	for name, r := range map[string]*hookstest.Recorder{"in three layers": rec, "in one": other} {
		if got := len(r.All()); got != 7 {
			t.Errorf("%s: %d entries, want 7: %v", name, got, r.All())
		}
	}
}

// values is a hook that cannot be compared: each layer is taken for another hook.
type values struct {
	hooks.Nop
	_ []int
}

func TestObserveTakesHooksThatCannotBeCompared(t *testing.T) {
	p := stoic.MustNew("payments", stoic.Observe(values{}), stoic.Observe(values{}))
	if err := p.Do(t.Context(), succeed); err != nil {
		t.Error(err)
	}
}
