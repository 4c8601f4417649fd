package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoic-go/stoic"
)

// watchTicks is how often the watchdog looks during the time that it allows. It counts
// looks rather than time: a machine that was asleep has not stalled.
const watchTicks = 100

// watch waits for the run to end, outside its bubble, and gives up one that stands still.
func (w *world) watch(ctx context.Context, done <-chan error) error {
	tick := time.NewTicker(max(time.Millisecond, w.sc.Stall/watchTicks))
	defer tick.Stop()
	var k *kernel
	var stopped error
	quit := ctx.Done()
	latest, still := time.Duration(-1), 0
	for {
		select {
		case err := <-done:
			return errors.Join(stopped, err)
		case k = <-w.started:
			continue
		case <-quit:
			stopped = fmt.Errorf("lab: the run was stopped: %w", stoic.ContextError(ctx))
			quit = nil // it has said what it had to say
		case <-tick.C:
		}
		if k == nil {
			continue // no clock yet: a stack is being made, or nothing can be
		}
		if stopped != nil {
			k.aborted.Store(true) // not abort: the context of the run belongs to the bubble
		}
		at := time.Duration(k.clock.Load())
		if w.sc.Progress != nil {
			w.sc.Progress(min(at, w.sc.Duration))
		}
		at = min(at, k.end)
		if still++; at > latest {
			latest, still = at, 0
		}
		if still > watchTicks || stopped != nil && still > watchTicks/10 {
			k.aborted.Store(true)
			return errors.Join(stopped, w.stalled(latest))
		}
	}
}

func (w *world) stalled(at time.Duration) error {
	if at >= w.sc.Duration+w.sc.Drain {
		return fmt.Errorf("%w: the run is over at %s, and calls in it have not returned for %s of real time; does an operation or a layer ignore its context?",
			ErrStalled, at, w.sc.Stall)
	}
	return fmt.Errorf("%w: it has been %s for %s of real time; does an operation or a layer do real I/O, hold a lock while it waits, or retry for ever without a wait?",
		ErrStalled, max(at, 0), w.sc.Stall)
}
