package peers

import (
	"context"
	"strings"
	"testing"
)

// asked counts how often a context is asked for Done.
type asked struct {
	context.Context
	times int
}

func (a *asked) Done() <-chan struct{} {
	a.times++
	return a.Context.Done()
}

// A scenario is what its name says.
func TestScenarioNames(t *testing.T) {
	seen := map[string]bool{}
	for _, sc := range Scenarios() {
		if seen[sc.Name] {
			t.Errorf("%q is there twice", sc.Name)
		}
		seen[sc.Name] = true

		ctx, cancel := sc.Parent()
		if got, want := ctx.Done() != nil, strings.Contains(sc.Name, "cancellable"); got != want {
			t.Errorf("%q: cancellable %v", sc.Name, got)
		}
		cancel()

		a := &asked{Context: t.Context()}
		_ = sc.NewOp()(a)
		if got, want := a.times > 0, strings.Contains(sc.Name, "waits"); got != want {
			t.Errorf("%q: the operation waits: %v", sc.Name, got)
		}

		s := Defaults()
		if sc.Settings != nil {
			sc.Settings(&s)
		}
		if got, want := s.Listen != nil, strings.Contains(sc.Name, "hook"); got != want {
			t.Errorf("%q: a listener: %v", sc.Name, got)
		}
		if got, want := s.Base == 0, strings.Contains(sc.Name, "zero delay"); got != want {
			t.Errorf("%q: no delay: %v", sc.Name, got)
		}
	}
}
