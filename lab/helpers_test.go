package lab_test

import (
	"context"
	"testing"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/lab"
)

// bare is a stack without layers.
func bare(*lab.Env) *stoic.Pipeline { return stoic.MustNew("p") }

func run(t *testing.T, sc lab.Scenario, stack lab.Stack) *lab.Result {
	t.Helper()
	res, err := lab.Run(sc, stack)
	if err != nil {
		t.Fatal(err)
	}
	if res.Ties != 0 {
		t.Errorf("%d ties, want 0", res.Ties)
	}
	conserved(t, res.Summary)
	return res
}

// conserved checks that every request is accounted for.
func conserved(t *testing.T, s lab.Summary) {
	t.Helper()
	if s.Requests != s.OK+s.Failed+s.Rejected+s.InFlight {
		t.Errorf("%d requests, but %d ok, %d failed, %d rejected, %d in flight", s.Requests, s.OK, s.Failed, s.Rejected, s.InFlight)
	}
}

// seeds are 1 to n.
func seeds(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i + 1)
	}
	return s
}

func nothing(context.Context, lab.Call) error { return nil }
