package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"
)

const (
	outerLimit  = 100 * time.Millisecond
	parentLimit = 80 * time.Millisecond
)

var errCause = errors.New("the caller's cause")

// script is a random program that uses a context. The bytes are first the setting,
// then operations with an argument each. It runs against a lazy context and against
// those of package context, and must see the same.
type script struct {
	ops    []byte
	start  time.Time
	log    []string
	cancel context.CancelCauseFunc // the parent's

	subject subject
	nodes   []node           // contexts derived from the subject, or from each other
	stops   []func() bool    // of AfterFunc
	ran     []*time.Duration // when they ran, plus one; 0: not yet
}

type node struct {
	ctx    context.Context
	cancel context.CancelFunc
	plain  bool // looks at the subject itself: a value, no context of its own
}

// subject is the context under test. look is called before something is learned from
// it; done says whether its Done is used.
type subject interface {
	context() context.Context
	look(done bool)
}

func (s *script) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%v: ", time.Since(s.start))+fmt.Sprintf(format, args...))
}

// run takes operations until there are none, or the layer is to return.
func (s *script) run() {
	for len(s.ops) >= 2 {
		op, arg := s.ops[0]%16, int(s.ops[1])
		s.ops = s.ops[2:]
		if op == 15 {
			return
		}
		s.step(op, arg)
		synctest.Wait()
	}
}

func (s *script) step(op byte, arg int) {
	n := s.pick(arg)
	switch op {
	case 0, 1, 2:
		s.observe(n, arg/16)
	case 3:
		at, ok := n.ctx.Deadline()
		s.note("deadline %v %v", at.Sub(s.start), ok)
	case 4:
		s.note("values %v %v", n.ctx.Value(key{}), n.ctx.Value("missing"))
	case 5, 6:
		s.touch(n, true)
		ctx, cancel := context.WithCancel(n.ctx)
		s.add(ctx, cancel, false)
	case 7:
		s.touch(n, true)
		// Never at the moment of another deadline: which comes first is chance then.
		limit := time.Duration(arg-8)*time.Millisecond + time.Duration(1+len(s.nodes))*time.Microsecond
		ctx, cancel := context.WithTimeoutCause(n.ctx, limit, errors.New("child's"))
		s.add(ctx, cancel, false)
	case 8:
		s.add(context.WithValue(n.ctx, key{}, arg), nil, n.plain)
	case 9:
		s.touch(n, true)
		ran := new(time.Duration)
		s.ran = append(s.ran, ran)
		s.stops = append(s.stops, context.AfterFunc(n.ctx, func() { *ran = 1 + time.Since(s.start) }))
	case 10:
		if len(s.stops) > 0 {
			s.note("stop %v", s.stops[arg%len(s.stops)]())
		}
	case 11:
		if n.cancel != nil {
			n.cancel()
		}
	case 12:
		s.cancel(errCause)
	case 13:
		time.Sleep(time.Duration(arg) * time.Millisecond / 4)
	case 14: // around one of the deadlines
		at := s.start.Add([]time.Duration{outerLimit, outerLimit / 2, parentLimit}[arg%3])
		time.Sleep(time.Until(at.Add(time.Duration(arg/3%3 - 1))))
	}
}

// pick returns the subject half of the time.
func (s *script) pick(arg int) node {
	if i := arg % 16; i >= 8 && len(s.nodes) > 0 {
		return s.nodes[(i-8)%len(s.nodes)]
	}
	return node{ctx: s.subject.context(), plain: true}
}

func (s *script) add(ctx context.Context, cancel context.CancelFunc, plain bool) {
	s.nodes = append(s.nodes, node{ctx: ctx, cancel: cancel, plain: plain})
}

// touch must come before the context is taken from a node that a look may change.
func (s *script) touch(n node, done bool) {
	if n.plain {
		s.subject.look(done)
	}
}

func (s *script) observe(n node, how int) {
	switch how % 3 {
	case 0:
		s.touch(n, false)
		s.note("err %v", n.ctx.Err())
	case 1:
		s.touch(n, true)
		select {
		case <-n.ctx.Done():
			s.note("done")
		default:
			s.note("not done")
		}
	default:
		s.touch(n, false)
		s.note("cause %v", context.Cause(n.ctx))
	}
}

// finish observes everything there is.
func (s *script) finish() {
	synctest.Wait()
	s.observeAll("after the return")
	time.Sleep(time.Second)
	synctest.Wait()
	s.observeAll("a second later")
	for _, n := range s.nodes {
		if n.cancel != nil {
			n.cancel()
		}
	}
}

func (s *script) observeAll(when string) {
	s.note("%s", when)
	for _, ran := range s.ran {
		s.note("AfterFunc %d", *ran)
	}
	for i := -1; i < len(s.nodes); i++ {
		n := node{ctx: s.subject.context(), plain: true}
		if i >= 0 {
			n = s.nodes[i]
		}
		s.note("node %d", i)
		for how := range 3 {
			s.observe(n, how)
		}
		s.note("value %v", n.ctx.Value(key{}))
	}
}
