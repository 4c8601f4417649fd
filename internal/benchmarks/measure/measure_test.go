package measure

import (
	"math"
	"strings"
	"testing"
	"time"
)

// spin is a subject that takes about so many turns of a loop.
func spin(name string, turns int) Subject {
	return Subject{Name: name, Start: func() (func(int) bool, func()) {
		x := 1.5
		return func(n int) bool {
			for range n * turns {
				x = math.Sqrt(x + 1)
			}
			return x > 0
		}, func() {}
	}}
}

func quick() Config { return Config{Rounds: 7, Slice: 2 * time.Millisecond} }

// What takes five times as long has a ratio of about five, however many goroutines.
func TestPairedFindsTheRatio(t *testing.T) {
	for _, goroutines := range []int{1, 2, 16} {
		one, five := spin("one", 100), spin("five", 500)
		one.Goroutines, five.Goroutines = goroutines, goroutines
		samples, err := Paired(quick(), []Subject{one, five})
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) != 2 || len(samples[0]) != 7 || len(samples[1]) != 7 {
			t.Fatalf("got %v, want 2 samples of 7", samples)
		}
		if got := samples[1].Over(samples[0]).Summary().Center; got < 2.5 || got > 10 {
			t.Errorf("%d goroutines: ratio %v, want about 5", goroutines, got)
		}
	}
}

func TestPairedSaysWhoFailed(t *testing.T) {
	broken := Subject{Name: "broken", Start: func() (func(int) bool, func()) {
		return func(int) bool { return false }, func() {}
	}}
	if _, err := Paired(quick(), []Subject{spin("fine", 1), broken}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v, want an error that names it", err)
	}
	if _, err := Allocs(broken); err == nil {
		t.Error("got no error")
	}
}

// What Start has prepared is ended in each slice, on each goroutine.
func TestStopIsCalled(t *testing.T) {
	started, stopped := make(chan struct{}, 1000), make(chan struct{}, 1000)
	s := Subject{Name: "s", Goroutines: 3, Start: func() (func(int) bool, func()) {
		started <- struct{}{}
		return func(int) bool { time.Sleep(time.Millisecond); return true }, func() { stopped <- struct{}{} }
	}}
	if _, err := Paired(quick(), []Subject{s}); err != nil {
		t.Fatal(err)
	}
	if len(started) != 8*3 || len(stopped) != 8*3 { // one slice to warm up
		t.Errorf("%d started, %d stopped, want 24", len(started), len(stopped))
	}
}

func TestAllocs(t *testing.T) {
	for _, want := range []int{0, 1, 3} {
		var sink [3]*int
		s := Subject{Name: "s", Start: func() (func(int) bool, func()) {
			return func(n int) bool {
				for range n {
					for j := range want {
						sink[j] = new(int)
					}
				}
				return sink[0] == nil || *sink[0] == 0
			}, func() {}
		}}
		if got, err := Allocs(s); err != nil || got != float64(want) {
			t.Errorf("%v, %v allocations, want %d", err, got, want)
		}
	}
}

func TestSummaryIsTheMedian(t *testing.T) {
	s := Sample{5, 1, 4, 2, 3, 100, 0, 6, 7}
	got := s.Summary()
	if got.Center != 4 || got.Lo > 4 || got.Hi < 4 {
		t.Errorf("got %+v, want a median of 4", got)
	}
	if s[0] != 5 {
		t.Error("the sample was sorted: rounds no longer match")
	}
	if ratios := s.Over(Sample{1, 1, 2, 1, 1, 1, 1, 1, 7}); ratios[2] != 2 || ratios[8] != 1 {
		t.Errorf("got %v", ratios)
	}
}

func TestError(t *testing.T) {
	if got := (Summary{Center: 10, Lo: 9, Hi: 12}).Error(); got != 0.2 {
		t.Errorf("got %v, want 0.2", got)
	}
}
