package stoic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/deadline"
	"github.com/stoic-go/stoic/hooks"
	"github.com/stoic-go/stoic/hooks/hookstest"
	"github.com/stoic-go/stoic/retry"
)

// composeTrace is a hook that writes down what happens and when, in the words that
// [composeRow] explains.
type composeTrace struct {
	hookstest.Recorder
	words []string
	start time.Time
	moved time.Duration
}

// call makes one call and returns its trace.
func (c *composeTrace) call(ctx context.Context, p *stoic.Pipeline, op composeOp, runs *int) string {
	c.words, c.start, c.moved = nil, time.Now(), 0
	ctx, cancel := op.caller(ctx)
	defer cancel()
	end, err := composeDo(ctx, p, func(ctx context.Context) error {
		if n := stoic.Attempt(ctx); n > 1 {
			c.add("run%d", n)
		} else {
			c.add("run")
		}
		*runs++
		return op.run(ctx, *runs)
	})
	if end == "" {
		end = composeError(err)
	}
	c.add("=> %s", end)
	return strings.Join(c.words, " ")
}

// composeDo tells how a call ended that did not return: "panic" with the very value
// of the operation, or "exit".
func composeDo(ctx context.Context, p *stoic.Pipeline, fn stoic.Func) (end string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		end = "exit"
		defer func() {
			if v := recover(); v == composePanic {
				end = "panic"
			} else if v != nil {
				end = fmt.Sprintf("panic with another value: %v", v)
			}
		}()
		err = p.Do(ctx, fn)
		end = ""
	}()
	<-done
	return end, err
}

func composeError(err error) string {
	if err == nil {
		return "nil"
	}
	var names []string
	for _, s := range composeSentinels {
		if err == s.err { //nolint:errorlint // unchanged is what is meant
			return s.name
		}
		if errors.Is(err, s.err) {
			names = append(names, s.name)
		}
	}
	matches := "(" + strings.Join(names, " ") + ")"
	switch e := err.(type) { //nolint:errorlint // the type of the outermost is what is meant
	case *stoic.Rejection:
		after, _ := e.RetryAfter()
		return fmt.Sprintf("Rejection%s after %v", matches, after.Round(time.Millisecond))
	case *retry.StoppedError:
		return "StoppedError" + matches
	case *deadline.ExceededError:
		return "ExceededError" + matches
	default:
		return fmt.Sprintf("%T%s", err, matches)
	}
}

func (c *composeTrace) add(format string, args ...any) {
	if d := time.Since(c.start); d != c.moved {
		c.moved = d
		c.words = append(c.words, fmt.Sprintf("@%v", d))
	}
	c.words = append(c.words, fmt.Sprintf(format, args...))
}

func (c *composeTrace) Start(ctx context.Context, op hooks.Op) context.Context {
	if op.Kind == hooks.KindCall {
		c.add("call(")
	} else {
		c.add("%d(", op.Attempt)
	}
	return c.Recorder.Start(ctx, op)
}

func (c *composeTrace) End(ctx context.Context, op hooks.Op, res hooks.Result) {
	c.Recorder.End(ctx, op, res)
	if res.Outcome == hooks.Succeeded {
		c.add(")ok")
	} else {
		c.add(")%s", res.Outcome)
	}
}

func (c *composeTrace) Event(ctx context.Context, e hooks.Event) {
	c.Recorder.Event(ctx, e)
	who := e.Policy
	if e.Name != "" {
		who = e.Name
	}
	switch e.Kind {
	case hooks.Retry:
		c.add("%s#%d+%v", who, e.Attempt, e.Delay)
	case hooks.GaveUp:
		c.add("gave_up#%d:%s", e.Attempt, e.Reason)
	case hooks.NestedRetry:
		c.add("nested#%d", e.Attempt)
	case hooks.StateChange:
		c.add("%s#%d:%s->%s", who, e.Attempt, e.From, e.To)
	case hooks.DeadlineExceeded:
		c.add("%s#%d:%v", who, e.Attempt, e.Delay)
	default:
		c.add("%s#%d:%s", who, e.Attempt, e.Reason)
	}
}
