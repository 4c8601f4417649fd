package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a chart; the legend is on the right.
const (
	chartWidth  = 9.6 * vg.Inch
	chartHeight = 3.3 * vg.Inch
	legendWidth = 1.9 * vg.Inch
)

// chart is one picture: a line for each stack over time.
type chart struct {
	ID, Title, Note, unit string
	log                   bool    // the vertical axis
	least, most           float64 // of the axis; with most 0, the data decide, but for what is below least
	format                func(v float64) string
	values                func(r *Row) []float64 // NaN is a gap
}

// charts are those of the page, in its order.
func charts() []chart {
	return []chart{
		{
			ID: "load", Title: "Load at the server", unit: "attempts a second", log: true, least: 1,
			Note:   "Attempts a second that arrive at the server. The scale is logarithmic; less than 1 is drawn as 1.",
			format: count,
			values: func(r *Row) []float64 { return r.Load },
		},
		{
			ID: "success", Title: "Success", unit: "of the requests, in %", least: 0, most: 100,
			Note:   "Share of the requests that succeeded, by when they started.",
			format: count,
			values: func(r *Row) []float64 { return scaled(r.Success, 100) },
		},
		{
			ID: "latency", Title: "Latency of what succeeds", unit: "p99", log: true, least: 1e-3,
			Note: "99 of 100 requests that succeeded took at most this long, waits included, by when they started; a gap is a time without any. " +
				"The scale is logarithmic.",
			format: secondsText,
			values: func(r *Row) []float64 { return seconds(r.GoodP99) },
		},
		{
			ID: "failed-latency", Title: "Latency of what fails", unit: "p99", log: true, least: 1e-3,
			Note:   "The same for requests that were sent and failed. What the client refuses without sending it is not among them.",
			format: secondsText,
			values: func(r *Row) []float64 { return seconds(r.FailedP99) },
		},
	}
}

func secondsText(v float64) string {
	return latency(time.Duration(math.Round(v * float64(time.Second))))
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}

func seconds(values []time.Duration) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v.Seconds()
		if v == None {
			out[i] = math.NaN()
		}
	}
	return out
}

// SVG draws the chart of that ID ("load", "success", "latency" or
// "failed-latency") as a picture of its own.
func (r *Report) SVG(id string) ([]byte, error) {
	for _, c := range charts() {
		if c.ID == id {
			return r.draw(c)
		}
	}
	return nil, fmt.Errorf("report: there is no chart %q", id)
}

func (r *Report) draw(c chart) ([]byte, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "virtual time in s", c.unit
	for _, style := range []*text.Style{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	}
	p.X.Min, p.X.Max = 0, r.Length.Seconds()
	p.Y.Min, p.Y.Max = c.span(r.Rows)
	p.X.Padding, p.Y.Padding = 0, 0
	if c.log {
		p.Y.Scale = plot.LogScale{}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = timeTicks(p.X.Max), c.ticks(p.Y.Min, p.Y.Max)
	if err := r.shade(p); err != nil {
		return nil, err
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	for i := range r.Rows {
		if err := r.line(p, c, i); err != nil {
			return nil, err
		}
	}
	return render(p, r.Title+": "+c.Title)
}

// shade marks the times of the faults.
func (r *Report) shade(p *plot.Plot) error {
	for _, f := range r.Faults {
		from, to := f.From.Seconds(), min(f.To, r.Length).Seconds()
		area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: p.Y.Min}, {X: to, Y: p.Y.Min}, {X: to, Y: p.Y.Max}, {X: from, Y: p.Y.Max}})
		if err != nil {
			return err
		}
		area.Color = color.NRGBA{0xd6, 0x45, 0x45, 0x22}
		area.Width = 0
		p.Add(area)
	}
	return nil
}

// line draws the values of a stack, in pieces where there are gaps.
func (r *Report) line(p *plot.Plot, c chart, row int) error {
	var piece plotter.XYs
	style := lineStyle(row, len(r.Rows))
	flush := func() error {
		if len(piece) == 0 {
			return nil
		}
		if len(piece) == 1 { // a dash as long as the step, or nobody would see it
			half, only := r.Step.Seconds()/2, piece[0]
			piece = plotter.XYs{{X: only.X - half, Y: only.Y}, {X: only.X + half, Y: only.Y}}
		}
		l, err := plotter.NewLine(piece)
		if err != nil {
			return err
		}
		l.LineStyle = style
		p.Add(l)
		piece = nil
		return nil
	}
	for i, v := range c.values(&r.Rows[row]) {
		if math.IsNaN(v) {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		middle := (time.Duration(i)*r.Step + r.Step/2).Seconds()
		piece = append(piece, plotter.XY{X: middle, Y: min(max(v, p.Y.Min), p.Y.Max)})
	}
	if err := flush(); err != nil {
		return err
	}
	p.Legend.Add(r.Rows[row].Name, &plotter.Line{LineStyle: style})
	return nil
}

// palette are colours that people who do not see red or green tell apart (Okabe and Ito).
func palette() []color.NRGBA {
	return []color.NRGBA{
		{0x59, 0x59, 0x59, 0xff},
		{0xd5, 0x5e, 0x00, 0xff},
		{0xe6, 0x9f, 0x00, 0xff},
		{0xcc, 0x79, 0xa7, 0xff},
		{0x00, 0x72, 0xb2, 0xff},
		{0x00, 0x9e, 0x73, 0xff},
		{0x56, 0xb4, 0xe9, 0xff},
	}
}

// lineStyle is the same for a stack in each chart. A line is thinner than those below it,
// so that equal ones are seen. After the colours come dashes.
func lineStyle(row, rows int) draw.LineStyle {
	colours := palette()
	style := draw.LineStyle{Color: colours[row%len(colours)], Width: vg.Points(1.4 + 0.5*float64(min(6, rows-1-row)))}
	for i := range row / len(colours) {
		style.Dashes = append(style.Dashes, vg.Points(float64(4+2*i)), vg.Points(2))
	}
	return style
}

// span is from where to where the vertical axis goes.
func (c chart) span(rows []Row) (bottom, top float64) {
	if c.most > 0 {
		return c.least, c.most
	}
	least, most := math.Inf(1), 0.0
	for i := range rows {
		for _, v := range c.values(&rows[i]) {
			if !math.IsNaN(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	bottom = c.least
	for bottom*10 <= least && bottom*100 <= most {
		bottom *= 10
	}
	for top = bottom * 10; top < most; {
		top *= 10
	}
	return bottom, top
}

// ticks are at the powers of ten of a logarithmic axis, with smaller ones between.
func (c chart) ticks(bottom, top float64) plot.Ticker {
	var ticks []plot.Tick
	if !c.log {
		for i := range 6 {
			v := bottom + (top-bottom)*float64(i)/5
			ticks = append(ticks, plot.Tick{Value: v, Label: c.format(v)})
		}
		return plot.ConstantTicks(ticks)
	}
	for decade := bottom; decade <= top*1.001; decade *= 10 {
		ticks = append(ticks, plot.Tick{Value: decade, Label: c.format(decade)})
		for k := 2.0; k < 10 && decade*k < top; k++ {
			ticks = append(ticks, plot.Tick{Value: decade * k})
		}
	}
	return plot.ConstantTicks(ticks)
}

// timeTicks are at most ten round numbers of seconds.
func timeTicks(length float64) plot.Ticker {
	step := 0.001
	for i := 0; length/step > 10; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= length*1.000001; i++ {
		v := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return plot.ConstantTicks(ticks)
}

// render draws the plot with its legend beside it. The title is for those who hear the
// picture.
func render(p *plot.Plot, title string) ([]byte, error) {
	canvas := vgsvg.New(chartWidth, chartHeight)
	all := draw.New(canvas)
	legend := p.Legend
	p.Legend = plot.NewLegend()
	p.Draw(draw.Crop(all, vg.Points(8), -legendWidth, 0, -vg.Points(4)))
	legend.Top, legend.Left = true, true
	legend.Padding = vg.Points(3)
	legend.Draw(draw.Crop(all, chartWidth-legendWidth+vg.Points(8), 0, 0, -vg.Points(8)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	_, svg, _ := strings.Cut(b.String(), "<svg") // without the head of an XML file
	head, body, _ := strings.Cut(svg, ">")
	return []byte("<svg" + head + ` role="img">` + "<title>" + escape(title) + "</title>" + body), nil
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
