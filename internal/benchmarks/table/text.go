package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Text writes the sections for a terminal.
func Text(w io.Writer, sections []Section) error {
	var b strings.Builder
	n := Goroutines()
	for _, section := range sections {
		fmt.Fprintf(&b, "\n%s\n", section.Scenario.Name)
		tw := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(tw, "\tns\t±\tratio\t%d goroutines, ns\t±\tratio\tallocs\t\n", n[1])
		for _, row := range section.Rows {
			fmt.Fprintf(tw, "%s\t", row.Contender)
			for j := range 2 {
				nanos := row.Nanos[j].Summary()
				fmt.Fprintf(tw, "%s\t%.0f %%\t%.2f\t", number(nanos.Center), 100*nanos.Error(), row.Ratio[j].Summary().Center)
			}
			fmt.Fprintf(tw, "%.0f\t\n", row.Allocs)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// number has three digits or what is before the point.
func number(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// Raw writes every round in the format of go test -bench, for benchstat.
func Raw(w io.Writer, sections []Section) error {
	var b strings.Builder
	b.WriteString("pkg: github.com/stoic-go/stoic/internal/benchmarks\nunit allocs/op assume=exact\n")
	for _, section := range sections {
		for _, row := range section.Rows {
			for j, n := range Goroutines() {
				name := strings.NewReplacer(" ", "_", ",", "").Replace(section.Scenario.Name + "/" + strings.ReplaceAll(row.Contender, "/", "."))
				for _, ns := range row.Nanos[j] {
					fmt.Fprintf(&b, "BenchmarkPeers/%s-%d 1 %.3f ns/op %.0f allocs/op\n", name, n, ns, row.Allocs)
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
