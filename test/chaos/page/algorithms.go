package page

import (
	"fmt"
	"slices"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// How the panels are laid out, in points.
const (
	columns = 2              // panels side by side
	panel   = vg.Length(150) // an algorithm's height, its name and axis with it
	gutter  = vg.Length(18)
)

// shares are the marks of the y axis.
var shares = plot.ConstantTicks{
	{Value: 0, Label: "0 %"}, {Value: 0.25}, {Value: 0.5, Label: "50 %"}, {Value: 0.75}, {Value: 0.9, Label: "90 %"}, {Value: 1},
}

// drawAlgorithms draws, for each algorithm, which share of failovers was over by when. It returns nil if there are no times.
func drawAlgorithms(rows []Row, lease float64) ([]byte, error) {
	all := make([][]float64, 0, len(rows))
	for _, r := range rows {
		all = append(all, r.Acts)
	}
	a, ok := timeline(all...)
	if !ok {
		return nil, nil
	}
	algorithms := pairs(rows)
	lines := (len(algorithms) + columns - 1) / columns
	height := headline - 10 + vg.Length(lines)*panel + foot - figures + border
	c := newCard(height, "How long until an app may act again, algorithm by algorithm",
		"share of failovers after which an app may act, by the time since the fault (log scale); all faults together")
	c.legend(safeties, func(at vg.Point, name string) {
		c.StrokeLine2(draw.LineStyle{Color: colors[name], Width: 2}, at.X-6, at.Y, at.X+6, at.Y)
	})
	each := (width - 2*border - gutter*(columns-1)) / columns
	for i, algorithm := range algorithms {
		p := plotting(a)
		p.Y.Min, p.Y.Max = 0, 1
		p.Y.Tick.Marker = shares
		p.Add(curves{Pair: algorithm, axis: a, lease: lease, last: i+columns >= len(algorithms)})
		from := vg.Point{X: border + vg.Length(i%columns)*(each+gutter), Y: height - headline + 10 - vg.Length(i/columns+1)*panel}
		p.Draw(draw.Canvas{Canvas: c.Canvas.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: from.X, Y: from.Y + 6}, Max: vg.Point{X: from.X + each, Y: from.Y + panel - 22}}})
	}
	return c.picture()
}

// curves is a plotter of an algorithm's distributions.
type curves struct {
	Pair
	axis
	lease float64
	last  bool // there is no panel below
}

// Plot draws a staircase for each safety mode.
func (s curves) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range s.Ticks(0, 0) {
		if isPowerOfTen(t.Value) {
			c.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.5}, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
	for _, share := range shares {
		c.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.5}, c.Min.X, y(share.Value), c.Max.X, y(share.Value))
	}
	name := words(medium, ink)
	name.Font.Weight = weight.WeightBold
	c.FillText(name, vg.Point{X: c.Min.X, Y: c.Max.Y + 6}, s.Name)
	// Whoever shows the page may have a wider font than the one that was measured.
	n := vg.Point{X: c.Min.X + name.Width(s.Name)*1.15 + 14, Y: c.Max.Y + 6}
	for _, r := range []Row{s.Guarded, s.Classic} {
		style, count := words(small, colors[r.Safety]), fmt.Sprintf("n = %d", len(r.Acts))
		if len(r.Acts) > 0 {
			c.FillText(style, n, count)
			n.X += style.Width(count) + 10
		}
	}
	if s.last {
		below(c, "time from the fault until an app may act")
	}
	if s.shows(s.lease) {
		leaseLine(c, x(s.lease))
		c.FillText(words(small, faint), vg.Point{X: x(s.lease) + 3, Y: c.Min.Y + 4}, "lease")
	}
	for _, r := range []Row{s.Classic, s.Guarded} {
		if len(r.Acts) == 0 {
			continue
		}
		stairs := []vg.Point{{X: c.Min.X, Y: y(0)}}
		for _, step := range staircase(r.Acts) {
			stairs = append(stairs, vg.Point{X: x(s.clip(step.time)), Y: y(step.share)})
		}
		stairs = append(stairs, vg.Point{X: c.Max.X, Y: y(1)})
		c.StrokeLines(draw.LineStyle{Color: colors[r.Safety], Width: 1.6}, stairs)
	}
}

// step is a corner of a staircase.
type step struct{ time, share float64 }

// staircase has the corners of the share of times that are not above a time: flat, then up at each time.
func staircase(times []float64) []step {
	sorted := slices.Sorted(slices.Values(times))
	var corners []step
	for i, t := range sorted {
		before, after := float64(i)/float64(len(sorted)), float64(i+1)/float64(len(sorted))
		if n := len(corners); n > 0 && corners[n-1].time == t {
			corners[n-1].share = after
			continue
		}
		corners = append(corners, step{t, before}, step{t, after})
	}
	return corners
}
