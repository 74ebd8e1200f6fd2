package page

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// How lanes are laid out, in points.
const (
	strip   = vg.Length(30) // the height of a name with both its lanes
	lane    = vg.Length(12) // from the middle of the one lane to that of the other
	numbers = vg.Length(50) // the column of counts at the right
	figures = vg.Length(14) // what gonum draws of the x axis
	foot    = vg.Length(36) // the x axis with its title
)

// lanes is a plotter with a strip for each name, in it a lane for Guarded above one for Classic,
// all on one timeline.
type lanes struct {
	pairs []Pair
	axis
	lease float64
	title string // of the timeline

	counted string // what count counts
	count   func(Row) int
	// a row that counts, at a height
	draw func(draw.Canvas, Row, vg.Length, func(float64) vg.Length)
}

// card makes a card of the right height, without a legend, and draws the lanes on it.
func (l lanes) card(title, subtitle string) card {
	c := newCard(headline+vg.Length(len(l.pairs))*strip+foot+border, title, subtitle)
	names := words(medium, ink)
	margin := vg.Length(0)
	for _, pair := range l.pairs {
		margin = max(margin, names.Width(pair.Name))
	}
	p := plotting(l.axis)
	p.HideY()
	p.Y.Min, p.Y.Max = 0, 1 // not used: strips have a height in points
	p.Add(l)
	p.Draw(draw.Crop(c.Canvas, border+margin+8, -border-numbers, border+foot-figures, -headline))
	return c
}

// Plot draws all strips, each with its name at the left and its counts at the right.
func (l lanes) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	clipped := func(t float64) vg.Length { return x(l.clip(t)) }
	below(c, l.title)
	for _, t := range l.Ticks(0, 0) {
		c.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.5}, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
	}
	put(c, words(small, faint), draw.XRight, vg.Point{X: c.Max.X + numbers, Y: c.Max.Y + 7}, l.counted)
	if l.shows(l.lease) {
		leaseLine(c, x(l.lease))
		put(c, words(small, faint), draw.XCenter, vg.Point{X: x(l.lease), Y: c.Max.Y + 7}, "lease")
	}
	for i, pair := range l.pairs {
		middle := c.Max.Y - strip*(vg.Length(i)+0.5)
		if i > 0 {
			line := draw.LineStyle{Color: grid, Width: 0.5}
			if l.pairs[i-1].Class != pair.Class {
				line.Color, line.Width = edge, 1
			}
			c.StrokeLine2(line, border, middle+strip/2, c.Max.X+numbers, middle+strip/2)
		}
		put(c, words(medium, ink), draw.XRight, vg.Point{X: c.Min.X - 8, Y: middle}, pair.Name)
		for k, r := range []Row{pair.Guarded, pair.Classic} {
			at := vg.Point{X: c.Max.X + numbers, Y: middle + lane/2 - vg.Length(k)*lane}
			put(c, words(small, colors[safeties[k]]), draw.XRight, at, strconv.Itoa(l.count(r)))
			if l.count(r) > 0 {
				l.draw(c, r, at.Y, clipped)
			}
		}
	}
}

// leaseLine marks the lease on the axis.
func leaseLine(c draw.Canvas, x vg.Length) {
	c.StrokeLine2(draw.LineStyle{
		Color:  faint,
		Width:  0.8,
		Dashes: []vg.Length{3, 3},
	}, x, c.Min.Y, x, c.Max.Y)
}
