package breaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/stoic-go/stoic"
	"github.com/stoic-go/stoic/breaker"
)

// neverTrips counts failures and stays closed.
const neverTrips = 1_000_000_000

func BenchmarkBreaker(b *testing.B) {
	outcomes := []struct {
		name string
		op   stoic.Func
		opts []breaker.Option
		open bool
	}{
		{"success", succeed, nil, false},
		{"failure", fail, inARow(neverTrips, time.Hour, 1), false},
		{"open", succeed, inARow(1, time.Hour, 1), true},
	}
	for _, o := range outcomes {
		p := stoic.MustNew("pay", breaker.New("db", o.opts...))
		ctx := context.Background()
		if o.open {
			_ = p.Do(ctx, fail)
		}
		bench(b, o.name+"/stoic", func() { _ = p.Do(ctx, o.op) })

		trip := uint32(neverTrips)
		if o.open {
			trip = 1
		}
		plain := gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: time.Hour,
			ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= trip },
		})
		if o.open {
			_, _ = plain.Execute(func() (struct{}, error) { return struct{}{}, errDown })
		}
		bench(b, o.name+"/gobreaker", func() {
			_, _ = plain.Execute(func() (struct{}, error) { return struct{}{}, o.op(ctx) })
		})
	}
}

// bench runs call on one goroutine, and on all.
func bench(b *testing.B, name string, call func()) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call()
		}
	})
	b.Run(name+"/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
	})
}
