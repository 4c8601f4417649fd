package lab

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// How a plain program enters a bubble is not documented by package testing. These are
// the six outcomes that the lab relies on; after each, the next bubble works.
func TestEnterSixOutcomes(t *testing.T) {
	works := func(t *testing.T) {
		t.Helper()
		var slept time.Duration
		if err := enter(func() {
			start := time.Now()
			time.Sleep(time.Hour)
			slept = time.Since(start)
		}); err != nil || slept != time.Hour {
			t.Errorf("slept %v, %v, want an hour and no error", slept, err)
		}
	}
	t.Run("returns", works)
	for _, tt := range []struct {
		name string
		f    func()
		want error
		text string
	}{
		{"panic", func() { panic("boom") }, ErrPanic, "boom"},
		{"runtime error", func() { var p *time.Time; _ = p.Add(1) }, ErrPanic, "nil pointer"},
		{"goexit", runtime.Goexit, ErrGoexit, "Goexit"},
		{"deadlock", func() { <-make(chan int) }, ErrDeadlock, "blocked"},
		{"leak", func() {
			forever := make(chan int)
			go func() { <-forever }()
			time.Sleep(time.Nanosecond)
		}, ErrLeak, "blocked goroutines remain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := enter(tt.f)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			works(t)
		})
	}
	t.Run("nested", func(t *testing.T) {
		var inner error
		if err := enter(func() { inner = enter(func() {}) }); err != nil || !errors.Is(inner, ErrNested) {
			t.Errorf("outer %v, inner %v, want ErrNested inside", err, inner)
		}
		works(t)
	})
	t.Run("inside a test's bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := enter(func() {}); !errors.Is(err, ErrNested) {
				t.Errorf("got %v, want ErrNested", err)
			}
		})
		works(t)
	})
	t.Run("two at once", func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			works(t)
		}()
		works(t)
		<-done
	})
}
