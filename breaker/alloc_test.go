//go:build !race

package breaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

func TestAllocations(t *testing.T) {
	tests := map[string]struct {
		opts  []breaker.Option
		op    stoic.Func
		force func(*breaker.Breaker)
		most  float64
	}{
		"closed success":             {op: succeed},
		"closed success, every rule": {opts: everyRule(), op: succeed},
		"closed failure":             {opts: inARow(1e9, time.Hour, 1), op: fail, most: 1},
		"closed failure, judged":     {opts: inARow(1e9, time.Hour, 1, breaker.Judge(notFoundIsNeutral)), op: fail, most: 1},
		"closed neutral":             {opts: []breaker.Option{breaker.Judge(notFoundIsNeutral)}, op: notFound},
		"open":                       {opts: inARow(1, time.Hour, 1), op: fail, most: 1},
		"forced open":                {force: (*breaker.Breaker).ForceOpen, op: succeed, most: 1},
		"forced closed":              {force: (*breaker.Breaker).ForceClosed, op: fail},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := breaker.New("db", tt.opts...)
			p := stoic.MustNew("pay", b)
			if tt.force != nil {
				tt.force(b)
			}
			ctx := context.Background()
			got := testing.AllocsPerRun(1000, func() {
				_ = p.Do(ctx, tt.op)
				_, _ = b.State(), b.Counts()
			})
			if got > tt.most {
				t.Errorf("got %v allocations, want at most %v", got, tt.most)
			}
		})
	}
}

func everyRule() []breaker.Option {
	return []breaker.Option{
		breaker.FailureRate(0.5, 50, 10*time.Second), breaker.FailureRateOfLast(0.5, 100),
		breaker.ConsecutiveFailures(10), breaker.SlowCall(time.Hour), breaker.Judge(notFoundIsNeutral),
	}
}

func notFound(context.Context) error { return errNotFound }
