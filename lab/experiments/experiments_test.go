//go:build !race

package experiments_test

import (
	"os"
	"testing"

	"github.com/stoic-go/stoic/lab/experiments"
)

// LAB_FULL=1 runs the full form, as make lab does.
func size() experiments.Size {
	if os.Getenv("LAB_FULL") != "" {
		return experiments.Full
	}
	return experiments.Short
}

func TestFigures(t *testing.T) {
	for _, e := range experiments.All() {
		t.Run(e.Name+" "+e.Title, func(t *testing.T) {
			report, err := e.Run(size())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", report)
			for _, c := range report.Failed() {
				t.Errorf("%s", c)
			}
			if report.Ties != 0 {
				t.Errorf("%d ties, want 0", report.Ties)
			}
			if len(report.Checks) == 0 {
				t.Error("no figures")
			}
		})
	}
}
