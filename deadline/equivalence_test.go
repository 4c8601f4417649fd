package deadline_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
)

// TestLazyIsLikeWithDeadline runs random scripts against the context of the layer and
// against context.WithDeadline: what they see must be the same. The two differences
// that a lazy context has are in standard.look, and nowhere else.
func TestLazyIsLikeWithDeadline(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		data := make([]byte, 1+rng.IntN(40))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		compare(t, data)
		if t.Failed() {
			return
		}
	}
}

func FuzzLazy(f *testing.F) {
	f.Add([]byte{0, 5, 0, 14, 0, 15, 0})
	f.Add([]byte{1, 12, 0, 14, 7, 0, 0, 15, 0, 0, 16})
	f.Add([]byte{37, 8, 0, 9, 8, 13, 200, 13, 250, 0, 8, 15, 0, 7, 0})
	f.Fuzz(compare)
}

func compare(t *testing.T, data []byte) {
	t.Helper()
	if len(data) == 0 || len(data) > 200 {
		return
	}
	set := newSetting(data[0])
	lazy := record(t, set, data[1:], runLazy)
	standard := record(t, set, data[1:], runStandard)
	if !slices.Equal(lazy, standard) {
		for i := range min(len(lazy), len(standard)) {
			if lazy[i] != standard[i] {
				t.Errorf("line %d: lazy %q, standard %q", i, lazy[i], standard[i])
			}
		}
		t.Fatalf("script %v, %+v\n    lazy %q\nstandard %q", data, set, lazy, standard)
	}
}

// setting is what the layers stand in.
type setting struct {
	limits []time.Duration // of the deadlines, outermost first
	parent int
	fails  bool // the operation returns an error
}

func newSetting(b byte) setting {
	limits := [][]time.Duration{
		{outerLimit},
		{outerLimit, outerLimit / 2},
		{outerLimit / 2, outerLimit},
		{outerLimit, outerLimit},
		{2 * outerLimit, outerLimit, outerLimit / 2},
	}
	return setting{limits: limits[int(b)%5], parent: int(b) / 5 % 8, fails: b >= 128}
}

// newParent returns the caller's context and how to cancel it.
func (s setting) newParent() (context.Context, context.CancelCauseFunc) {
	root := context.WithValue(context.Background(), key{}, "root")
	base, cancel := context.WithCancelCause(root)
	switch s.parent {
	case 0:
		return root, cancel // of a context that nobody uses
	case 1:
		return base, cancel
	case 2:
		return context.WithValue(base, key{}, "parent"), cancel
	case 3:
		ctx, stop := context.WithTimeoutCause(base, parentLimit, errDown)
		return ctx, func(err error) { cancel(err); stop() }
	case 4:
		ctx, stop := context.WithTimeoutCause(base, 10*outerLimit, errDown)
		return ctx, func(err error) { cancel(err); stop() }
	case 5:
		ctx, stop := context.WithTimeout(base, outerLimit)
		return ctx, func(err error) { cancel(err); stop() }
	case 6:
		return struct{ context.Context }{base}, cancel
	default:
		c := newCustom(root)
		return c, func(err error) {
			cancel(err)
			if c.Err() == nil {
				c.end(errDown)
			}
		}
	}
}

func record(t *testing.T, set setting, ops []byte, run func(parent context.Context, set setting, s *script)) []string {
	t.Helper()
	var log []string
	synctest.Test(t, func(*testing.T) {
		parent, cancel := set.newParent()
		s := &script{ops: slices.Clone(ops), start: time.Now(), cancel: cancel}
		run(parent, set, s)
		synctest.Wait()
		s.run() // what is left after the return
		s.finish()
		cancel(nil)
		log = s.log
	})
	return log
}

// direct is a subject that needs no look.
type direct struct{ ctx context.Context }

func (d direct) context() context.Context { return d.ctx }
func (direct) look(bool)                  {}

func runLazy(parent context.Context, set setting, s *script) {
	var layers []stoic.Policy
	for _, limit := range set.limits {
		layers = append(layers, deadline.New(limit))
	}
	_ = stoic.MustNew("p", layers...).Do(parent, func(ctx context.Context) error {
		s.subject = direct{ctx}
		s.run()
		if set.fails {
			return errDown
		}
		return nil
	})
}
