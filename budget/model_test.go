package budget

import (
	"math/rand/v2"
	"testing"
	"time"
)

// entry is a request or a retry in the reference model.
type entry struct {
	slot  int64
	retry bool
}

// model is the definition of the budget: a list of what happened, and a sum over it.
type model struct {
	slot         time.Duration
	ratio, floor int64 // in millionths
	now          int64 // the latest slot
	entries      []*entry
}

func (m *model) advance(elapsed time.Duration) { m.now = max(m.now, int64(max(elapsed, 0)/m.slot)) }

func (m *model) add(retry bool) *entry {
	e := &entry{slot: m.now, retry: retry}
	m.entries = append(m.entries, e)
	return e
}

func (m *model) inWindow(retry bool) (n int64) {
	for _, e := range m.entries {
		if e != nil && e.retry == retry && m.now-e.slot < 10 {
			n++
		}
	}
	return n
}

func (m *model) reserve() *entry {
	if (m.inWindow(true)+1)*1_000_000 > m.ratio*m.inWindow(false)+m.floor {
		return nil
	}
	return m.add(true)
}

func (m *model) refund(gone *entry) {
	for i, e := range m.entries {
		if e == gone {
			m.entries[i] = nil
		}
	}
}

// grant is a retry that both granted.
type grant struct {
	number int64
	entry  *entry
}

// compare runs the window and the model side by side. next gives the operations: a
// number below n each.
func compare(t *testing.T, span time.Duration, ratio, floor int64, steps int, next func(n int) int) {
	t.Helper()
	w := newWindow(span, uint64(ratio), uint64(floor))
	m := &model{slot: w.slot, ratio: ratio, floor: floor}
	var elapsed time.Duration
	var grants []grant
	for step := range steps {
		switch next(8) {
		case 0, 1, 2:
			w.request(elapsed)
			m.advance(elapsed)
			m.add(false)
		case 3, 4:
			number, got := w.reserve(elapsed)
			m.advance(elapsed)
			e := m.reserve()
			if got != (e != nil) {
				t.Fatalf("step %d at %v: granted %v, the model says %v", step, elapsed, got, e != nil)
			}
			if got {
				grants = append(grants, grant{number, e})
			}
		case 5: // possibly long after its slot has left
			if len(grants) > 0 {
				i := next(len(grants))
				w.refund(grants[i].number)
				m.refund(grants[i].entry)
				grants = append(grants[:i], grants[i+1:]...)
			}
		case 6: // to an edge of a slot, or one before
			elapsed = (elapsed/w.slot+time.Duration(next(4)))*w.slot - time.Duration(next(2))
		case 7:
			elapsed += time.Duration(next(256)-32) * w.slot / 64 // also back
		}
	}
	total := w.total()
	if want := m.inWindow(true); int64(total) != want {
		t.Errorf("%d retries in the window, the model has %d", total, want)
	}
}

// total is the number of retries in the window.
func (w *window) total() (n uint64) {
	for i := range w.slots {
		if s := &w.slots[i]; w.latest.Load()-s.number.Load() < slots {
			n += s.retries
		}
	}
	return n
}

func TestWindowIsItsModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		span := []time.Duration{10 * time.Millisecond, 10*time.Millisecond + 1, 10 * time.Second, 24 * time.Hour}[r.IntN(4)]
		ratio := []int64{0, 1, 100_000, 290_000, 333_333, 1_000_000}[r.IntN(6)]
		floor := []int64{0, 999_999, 1_000_000, 10_000_000}[r.IntN(4)]
		compare(t, span, ratio, floor, 400, r.IntN)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, 3, 6, 3, 1, 3, 5, 0}, uint32(290_000), uint32(1_000_000))
	f.Add([]byte{3, 6, 10, 0, 5, 0, 7, 255, 3}, uint32(0), uint32(2_000_000))
	f.Fuzz(func(t *testing.T, ops []byte, ratio, floor uint32) {
		if len(ops) > 2000 {
			t.Skip("the model is quadratic")
		}
		i := 0
		next := func(n int) int {
			if i == len(ops) {
				return 0
			}
			i++
			return int(ops[i-1]) % n
		}
		compare(t, 10*time.Second, int64(ratio%1_000_001), int64(floor), len(ops), next)
	})
}
