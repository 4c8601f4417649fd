package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

// view is what the page is made of.
type view struct {
	*Report
	Tables []table
	Stacks []line
	Charts []picture
}

type table struct {
	group
	Lines []line
}

type line struct {
	Name, Colour string
	Cells        []string
	Layers       []string
}

type picture struct {
	chart
	SVG template.HTML
}

// WritePage writes one HTML page that needs nothing else: no network, no script.
func (r *Report) WritePage(w io.Writer) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	v := view{Report: r, Stacks: r.lines(nil)}
	for _, g := range r.groups() {
		v.Tables = append(v.Tables, table{g, r.lines(g.Columns)})
	}
	for _, c := range charts() {
		svg, err := r.draw(c)
		if err != nil {
			return err
		}
		v.Charts = append(v.Charts, picture{c, template.HTML(svg)}) //nolint:gosec // made here, its texts are escaped
	}
	return page.Execute(w, v)
}

func (r *Report) lines(columns []column) []line {
	var lines []line
	for i := range r.Rows {
		c := palette()[i%len(palette())]
		l := line{Name: r.Rows[i].Name, Colour: fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), Layers: r.Rows[i].Layers}
		for _, c := range columns {
			l.Cells = append(l.Cells, c.Value(&r.Rows[i]))
		}
		lines = append(lines, l)
	}
	return lines
}
