package lab_test

import (
	"math"
	"testing"
	"time"

	"github.com/stoic-go/stoic/lab"
)

// The kernel against exact queueing theory: mean time in the system, with Little's law
// and the conservation of requests. EXPERIMENTS of the reference: |lab − exact| ≤ 3
// standard errors of the mean of the runs.
func TestCalibrationMeanSojourn(t *testing.T) {
	const ms = time.Millisecond
	bimodal := lab.Mix(0.001, lab.Exp(10*time.Second), lab.Exp(100*ms))
	for _, tt := range []struct {
		name    string
		rate    float64
		workers int
		service lab.Dist
		want    float64 // seconds
	}{
		{"M/M/1 at 0.8", 8, 1, lab.Exp(100 * ms), 0.5},
		{"M/M/1 at 0.95", 9.5, 1, lab.Exp(100 * ms), 2},
		{"M/D/1 at 0.8", 8, 1, lab.Fixed(100 * ms), 0.3},
		{"M/M/10 at 0.8", 8, 10, lab.Exp(time.Second), 1.2046},
		{"M/G/1 bimodal at 0.8", 7.279, 1, bimodal, 4.1132},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runs := 10
			length := 20_000 * time.Second
			if testing.Short() || raceEnabled {
				if tt.want > 1.9 {
					return // too much of a short run is the way to the steady state
				}
				runs, length = 6, 300*time.Second
			}
			results, err := lab.RunSeeds(lab.Scenario{
				Duration: length,
				Drain:    1000 * time.Hour,
				Window:   100 * time.Hour,
				Clients:  lab.Clients{Rate: tt.rate},
				Server:   lab.Server{Workers: tt.workers, Service: tt.service},
			}, bare, seeds(runs)...)
			if err != nil {
				t.Fatal(err)
			}
			sum, squares := 0.0, 0.0
			for _, res := range results {
				conserved(t, res.Summary)
				if res.Ties != 0 || res.InFlight != 0 || res.Failed != 0 {
					t.Errorf("seed %d: %d ties, %d in flight, %d failed, want none", res.Seed, res.Ties, res.InFlight, res.Failed)
				}
				mean := res.MeanTime.Seconds()
				sum += mean
				squares += mean * mean
				little := float64(res.Requests) / res.Length.Seconds() * mean
				if math.Abs(res.MeanInFlight-little) > 0.01*little {
					t.Errorf("seed %d: %v in flight on the average, Little's law says %v", res.Seed, res.MeanInFlight, little)
				}
			}
			n := float64(runs)
			mean := sum / n
			se := math.Sqrt(max(0, squares/n-mean*mean) / (n - 1))
			t.Logf("mean %.4f ± %.4f s, exact %.4f, z = %.2f", mean, se, tt.want, (mean-tt.want)/se)
			if math.Abs(mean-tt.want) > 3*se {
				t.Errorf("mean sojourn %.4f ± %.4f s, want %.4f", mean, se, tt.want)
			}
		})
	}
}
