package experiments_test

import (
	"fmt"
	"testing"

	"github.com/stoic-go/stoic/lab"
	"github.com/stoic-go/stoic/lab/experiments"
)

// BenchmarkOrder runs every cell of E10 once and reports simulated attempts for each
// second of real time:
//
//	go test -run '^$' -bench Order -benchtime 1x -cpu 1 ./lab/experiments
func BenchmarkOrder(b *testing.B) {
	for _, s := range experiments.OrderStacks() {
		for i, fault := range experiments.OrderFaults() {
			b.Run(fmt.Sprintf("%s/%d %s", s.Name, i+1, fault.Kind), func(b *testing.B) {
				attempts := uint64(0)
				for b.Loop() {
					res, err := lab.Run(experiments.OrderScenario(fault), s.Stack)
					if err != nil {
						b.Fatal(err)
					}
					attempts += res.Attempts
				}
				b.ReportMetric(float64(attempts)/b.Elapsed().Seconds(), "attempts/s")
			})
		}
	}
}
