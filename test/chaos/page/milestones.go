package page

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// milestoneNames are those of a failover, in the order in which they usually come.
var milestoneNames = []string{"an app may act", "all agree", "the status says so",
	"the Service leads there"}

// drawMilestones draws the medians of the milestones for each class of fault. It returns nil if no
// strike had all four.
func drawMilestones(rows []Row, lease float64) ([]byte, error) {
	var whole []Row
	var all []float64
	for _, r := range rows {
		if m := r.milestones(); m.N > 0 {
			whole = append(whole, r)
			all = append(all, m.Acts, m.Agreed, m.Status, m.Service)
		}
	}
	a, ok := timeline(all)
	if !ok {
		return nil, nil
	}
	c := lanes{
		pairs:   pairs(whole),
		axis:    a,
		lease:   lease,
		title:   "median time from the fault (log scale)",
		counted: "failovers",
		count:   func(r Row) int { return len(r.Whole) },
		draw:    drawTrail,
	}.card("Where the time goes, by class of fault",
		"medians over the failovers in which all four were measured")
	c.legend(slices.Concat(milestoneNames, safeties), func(at vg.Point, name string) {
		if i := slices.Index(milestoneNames, name); i >= 0 {
			glyph(c.Canvas, i, at, faint)
			return
		}
		c.StrokeLine2(draw.LineStyle{Color: colors[name], Width: 2}, at.X-6, at.Y, at.X+6, at.Y)
	})
	return c.picture()
}

// drawTrail draws a line through the milestones of one row.
func drawTrail(c draw.Canvas, r Row, y vg.Length, x func(float64) vg.Length) {
	m, hue := r.milestones(), colors[r.Safety]
	times := []float64{m.Acts, m.Agreed, m.Status, m.Service}
	c.StrokeLine2(draw.LineStyle{Color: hue, Width: 1.4}, x(slices.Min(times)), y,
		x(slices.Max(times)), y)
	for i, t := range times {
		glyph(c, i, vg.Point{X: x(t), Y: y}, hue)
	}
}

// glyph is the mark of a milestone; those that often fall together can be seen through each other.
func glyph(c draw.Canvas, milestone int, at vg.Point, hue color.Color) {
	shape := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{},
		draw.PyramidGlyph{}}[milestone]
	size := []vg.Length{2.4, 4.4, 2.8, 4}[milestone]
	c.DrawGlyph(draw.GlyphStyle{
		Color:  hue,
		Radius: size,
		Shape:  shape,
	}, at)
}
