package lab

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// Ways in which a run fails that are no fault of its numbers.
var (
	// ErrPanic matches a run in which the stack, the operation or a policy panicked.
	ErrPanic = errors.New("lab: panic")

	// ErrGoexit matches a run in which one of them called runtime.Goexit, as t.FailNow
	// does.
	ErrGoexit = errors.New("lab: runtime.Goexit")

	// ErrDeadlock matches a run in which every goroutine waited for another one.
	ErrDeadlock = errors.New("lab: deadlock")

	// ErrLeak matches a run that left a goroutine behind which waits for ever.
	ErrLeak = errors.New("lab: goroutine left behind")

	// ErrNested matches a run inside a synctest bubble or another run.
	ErrNested = errors.New("lab: run inside a synctest bubble")
)

// enter runs f in a synctest bubble and says in words how it went. It is the only place
// that enters one, and works in a test as in any program: synctest.Test needs a T only
// to report what f does to it, and f does not get it.
//
// A panic or a Goexit directly under synctest.Test would use the fields of that T, which
// are not there, so f has a goroutine of its own. A deadlock and a leak panic in the
// caller of synctest.Test, so that has one too. What it prints is nothing.
func enter(f func()) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				err = errors.Join(err, bubbleError(v))
			}
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			var inside sync.WaitGroup
			inside.Go(func() { guard(f, func(e error) { err = e }) })
			inside.Wait()
		})
	}()
	<-done
	return err
}

// guard runs f and reports a panic or a Goexit in it, which goes on: after that the
// goroutine ends.
func guard(f func(), report func(error)) {
	finished := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			report(fmt.Errorf("%w: %v\n%s", ErrPanic, v, debug.Stack()))
		case !finished:
			report(fmt.Errorf("%w: the goroutine ended before its call did", ErrGoexit))
		}
	}()
	f()
	finished = true
}

// bubbleError names what synctest panics with.
func bubbleError(v any) error {
	text := fmt.Sprint(v)
	switch {
	case strings.Contains(text, "within a synctest bubble"):
		return fmt.Errorf("%w: %s", ErrNested, text)
	case strings.Contains(text, "main bubble goroutine has exited"):
		return fmt.Errorf("%w: %s", ErrLeak, text)
	case strings.Contains(text, "deadlock"):
		return fmt.Errorf("%w: nothing can happen any more; does the stack or the operation wait for something that never comes? (%s)", ErrDeadlock, text)
	default:
		return fmt.Errorf("%w: %s", ErrPanic, text)
	}
}
