package deadline

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// slowDone is a parent whose first Done takes its time.
type slowDone struct {
	context.Context
	once             sync.Once
	entered, release chan struct{}
}

func newSlowDone() *slowDone {
	return &slowDone{Context: context.Background(), entered: make(chan struct{}), release: make(chan struct{})}
}

func (c *slowDone) Done() <-chan struct{} {
	c.once.Do(func() {
		close(c.entered)
		<-c.release
	})
	return c.Context.Done()
}

// settled gives the other goroutines time to get as far as they can.
func settled() {
	for range 100 {
		runtime.Gosched()
	}
}

// The outer layer ends while the inner context, which skips it, is being made: the
// end waits for it, or nobody would end it.
func TestEndWhileDoneIsMade(t *testing.T) {
	for range 50 {
		parent := newSlowDone()
		outer := newLazy(parent, time.Now().Add(time.Hour), true)
		inner := newLazy(outer, time.Now().Add(time.Minute), true)
		var wg sync.WaitGroup
		wg.Go(func() { _ = inner.Done() })
		<-parent.entered
		wg.Go(outer.end)
		for outer.hasKids() {
			runtime.Gosched()
		}
		settled()
		close(parent.release)
		wg.Wait()
		if err := inner.Err(); !errors.Is(err, context.Canceled) {
			t.Fatalf("Err() = %v, want Canceled", err)
		}
	}
}

func (c *lazy) hasKids() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(kidsOf(c)) > 0
}

// However many ask at once, there is one Done.
func TestOneDone(t *testing.T) {
	for range 50 {
		parent := newSlowDone()
		c := newLazy(parent, time.Now().Add(time.Hour), true)
		var done [4]<-chan struct{}
		var wg sync.WaitGroup
		for i := range done {
			wg.Go(func() { done[i] = c.Done() })
		}
		<-parent.entered
		settled()
		close(parent.release)
		wg.Wait()
		c.end()
		for _, d := range done {
			if d != done[0] {
				t.Fatal("two channels for one Done")
			}
		}
	}
}

// The layer returns while others make the real context, or look for the first time.
func TestEndWhileOthersLook(t *testing.T) {
	for range 2000 {
		outer := newLazy(context.Background(), time.Now().Add(time.Hour), true)
		inner := newLazy(outer, time.Now().Add(time.Minute), true)
		var wg sync.WaitGroup
		wg.Go(func() { <-inner.Done() })
		wg.Go(func() {
			for inner.Err() == nil {
				runtime.Gosched()
			}
			<-inner.Done()
		})
		outer.end() // the inner layer is left behind
		wg.Wait()
		if err := inner.Err(); !errors.Is(err, context.Canceled) {
			t.Fatalf("Err() = %v, want Canceled", err)
		}
		inner.end()
	}
}
