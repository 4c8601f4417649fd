package deadline

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stoic-go/stoic/internal/lazyctx"
)

// follows makes three deadlines in each other, and follows the innermost. used are waited
// on before, ended have ended.
func follows(t *testing.T, used, ended []int) (contexts []*lazy, calls *int, forget func(), waitedOn context.Context) {
	t.Helper()
	parent := t.Context()
	for i := range 3 {
		c := newLazy(parent, time.Now().Add(time.Duration(3-i)*time.Hour), true)
		contexts, parent = append(contexts, c), c
	}
	for i, c := range contexts {
		if slices.Contains(used, i) {
			_ = c.Done()
		}
		if slices.Contains(ended, i) {
			c.end()
		}
	}
	calls = new(int)
	var followed lazyctx.Context = contexts[2]
	forget, waitedOn = followed.Follow(func() { *calls++ })
	return contexts, calls, forget, waitedOn
}

func TestFollowed(t *testing.T) {
	for i := range 3 {
		contexts, calls, _, waitedOn := follows(t, nil, nil)
		if waitedOn != nil {
			t.Errorf("wait on %v, want none", waitedOn)
		}
		contexts[i].end()
		if *calls != 1 {
			t.Errorf("deadline %d ended: %d calls, want 1", i, *calls)
		}
		for j, c := range contexts {
			if c.state.Load() == forced {
				t.Errorf("deadline %d is real", j)
			}
		}
	}
}

func TestFollowedAndWaitedOnLater(t *testing.T) {
	for i := range 3 {
		contexts, calls, _, _ := follows(t, nil, nil)
		_ = contexts[i].Done()
		if *calls != 0 {
			t.Errorf("called %d times before the end of %d", *calls, i)
		}
		contexts[i].end()
		if *calls != 1 {
			t.Errorf("deadline %d ended: %d calls, want 1", i, *calls)
		}
	}
}

func TestForgotten(t *testing.T) {
	contexts, calls, forget, _ := follows(t, nil, nil)
	forget()
	for i, c := range slices.Backward(contexts) {
		if kids := kidsOf(c); len(kids) != 0 {
			t.Errorf("deadline %d keeps %d kids", i, len(kids))
		}
		c.end()
	}
	if *calls != 0 {
		t.Errorf("%d calls, want none", *calls)
	}
}

// What is waited on, or over, is for the follower to wait on.
func TestNotFollowed(t *testing.T) {
	for i := range 3 {
		for _, ended := range []bool{false, true} {
			used, over := []int{i}, []int(nil)
			if ended {
				used, over = nil, []int{i}
			}
			contexts, calls, _, waitedOn := follows(t, used, over)
			if waitedOn != contexts[i] {
				t.Errorf("wait on %v, want deadline %d", waitedOn, i)
			}
			for _, c := range contexts[:i] { // nor are those around it
				c.end()
			}
			if *calls != 0 {
				t.Errorf("%d calls, want none", *calls)
			}
			for _, c := range contexts[i+1:] {
				c.end()
			}
			if want := 2 - i; *calls != want {
				t.Errorf("%d calls, want %d", *calls, want)
			}
		}
	}
}

func TestAround(t *testing.T) {
	contexts, _, _, _ := follows(t, []int{1}, []int{0})
	for i, c := range contexts {
		if got := c.Around(); got != t.Context() {
			t.Errorf("around %d is %v", i, got)
		}
	}
	ctx := context.WithValue(contexts[1], key{}, 1)
	if got := newLazy(ctx, time.Now(), true).Around(); got != ctx {
		t.Errorf("around is %v, want what is between", got)
	}
}
