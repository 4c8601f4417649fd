package deadline_test

import (
	"context"
	"time"
)

// standard is what the layers would give with package context alone, but for the two
// things that a lazy context cannot know: see look.
type standard struct {
	parent context.Context
	ctx    context.Context // WithDeadline, or what replaces it
	at     time.Time
	seen   bool // somebody looked and it was over, or used Done
	ended  bool
}

func (m *standard) context() context.Context { return m }

// The script gets m itself, so that contexts made by WithValue see a replacement.
func (m *standard) Deadline() (time.Time, bool) { return m.at, true }
func (m *standard) Done() <-chan struct{}       { return m.ctx.Done() }
func (m *standard) Err() error                  { return m.ctx.Err() }
func (m *standard) Value(key any) any           { return m.ctx.Value(key) }

// look replaces the context where the lazy one differs, which is only if nobody has
// looked since it ended. That costs nothing of what an operation needs, and is why
// it needs no timer.
//
//   - The layer has returned: Canceled, also if the parent or the time ended before.
//   - Both the parent and the time ended: the parent's error, whichever was first.
func (m *standard) look(done bool) {
	if m.seen {
		return
	}
	switch {
	case m.ended:
		var cancel context.CancelFunc
		m.ctx, cancel = context.WithCancel(context.WithoutCancel(m.parent))
		cancel()
	case m.parent.Err() != nil:
		var cancel context.CancelFunc
		m.ctx, cancel = context.WithCancel(m.parent)
		defer cancel()
	}
	m.seen = done || m.ctx.Err() != nil
}

func runStandard(parent context.Context, set setting, s *script) {
	m := &standard{parent: parent, ctx: parent}
	var own bool
	for _, limit := range set.limits {
		m.at = time.Now().Add(limit)
		outer, ok := m.ctx.Deadline()
		own = !ok || m.at.Before(outer)
		var cancel context.CancelFunc
		if own {
			m.ctx, cancel = context.WithDeadline(m.ctx, m.at)
		} else { // an equal one too is the one further out, with its cause
			m.ctx, cancel = context.WithCancel(m.ctx)
			m.at = outer
		}
		defer cancel()
	}
	s.subject = m
	s.run()
	if set.fails && own {
		m.look(false) // the layer asks whether its time ran out
	}
	m.ended = true
}
