package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// WriteTable writes the numbers of the stacks for a terminal, and what became of the
// checks.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Title)
	if r.About != "" {
		fmt.Fprintf(&b, "%s\n", r.About)
	}
	b.WriteString("\n")
	width := 0
	for _, f := range r.Facts {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "  %s  %s\n", pad(f.Name, -width), f.Value)
	}
	b.WriteString("\n")
	for _, g := range r.groups() {
		fmt.Fprintf(&b, "%s\n", g.Name)
		cells := [][]string{{"  stack"}}
		for _, c := range g.Columns {
			cells[0] = append(cells[0], c.Name)
		}
		for i := range r.Rows {
			row := []string{"  " + r.Rows[i].Name}
			for _, c := range g.Columns {
				row = append(row, c.Value(&r.Rows[i]))
			}
			cells = append(cells, row)
		}
		align(&b, cells)
		b.WriteString("\n")
	}
	for _, c := range r.Checks {
		state := "ok  "
		if !c.OK {
			state = "FAIL"
		}
		fmt.Fprintf(&b, "%s  %s: got %s\n", state, c.Text, c.Got)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// align writes the cells in columns, the first to the left, the others to the right.
func align(b *strings.Builder, cells [][]string) {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range cells {
		b.WriteString(pad(row[0], -widths[0]))
		for i, c := range row[1:] {
			b.WriteString("  " + pad(c, widths[i+1]))
		}
		b.WriteString("\n")
	}
}

// pad fills up to the width in characters, on the left, or on the right if it is negative.
func pad(s string, width int) string {
	fill := strings.Repeat(" ", max(0, max(width, -width)-utf8.RuneCountInString(s)))
	if width < 0 {
		return s + fill
	}
	return fill + s
}
