package page

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/podesta-dev/podesta/test/quantile"
)

// How dots are laid out.
const (
	radius  = vg.Length(1.3) // of a dot, in points
	spacing = vg.Length(2.0) // between rows of dots
	swarmed = 5              // rows of dots in a lane
	enough  = 5              // failovers for a median to mean anything
)

// drawFaults draws every failover, fault by fault. It returns nil if there are no times.
func drawFaults(rows []Row, lease float64) ([]byte, error) {
	return drawFailovers(rows, lease, "How long until an app may act again, fault by fault")
}

// drawAlgorithms draws every failover, algorithm by algorithm, of all faults together. It returns
// nil if there are no times.
func drawAlgorithms(rows []Row, lease float64) ([]byte, error) {
	return drawFailovers(rows, lease, "How long until an app may act again, algorithm by algorithm")
}

// drawFailovers draws every failover of some rows as a dot, Guarded above Classic.
func drawFailovers(rows []Row, lease float64, title string) ([]byte, error) {
	timed := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return len(r.Acts) == 0 })
	all := make([][]float64, 0, len(timed))
	for _, r := range timed {
		all = append(all, r.Acts)
	}
	a, ok := timeline(all...)
	if !ok {
		return nil, nil
	}
	c := lanes{
		pairs:   pairs(timed),
		axis:    a,
		lease:   lease,
		title:   "time from the fault until an app may act (log scale)",
		counted: "failovers",
		count:   func(r Row) int { return len(r.Acts) },
		draw:    drawSwarm,
	}.card(title, "each dot is one failover; of five or more, the bar is the middle half, the long "+
		"tick the median, the short one p90")
	c.legend(safeties, func(at vg.Point, name string) { dots(c.Canvas, colors[name], 3, at) })
	return c.picture()
}

// drawSwarm draws the failovers of one row.
func drawSwarm(c draw.Canvas, r Row, y vg.Length, x func(float64) vg.Length) {
	sorted, hue := slices.Sorted(slices.Values(r.Acts)), colors[r.Safety]
	at := func(share float64) vg.Length { return x(quantile.Of(sorted, share)) }
	if len(sorted) >= enough {
		light := hue
		light.A = 0x38
		box(c, vg.Rectangle{Min: vg.Point{X: at(0.25), Y: y - lane/2 + 1},
			Max: vg.Point{X: at(0.75), Y: y + lane/2 - 1}}, light)
	}
	places := make([]float64, 0, len(sorted))
	for _, t := range sorted {
		places = append(places, x(t).Points())
	}
	failovers := make([]vg.Point, 0, len(sorted))
	for i, row := range swarm(places, 2*radius.Points(), swarmed) {
		failovers = append(failovers, vg.Point{X: vg.Length(places[i]), Y: y + vg.Length(row)*spacing})
	}
	dots(c, hue, radius, failovers...)
	if len(sorted) >= enough {
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.6}, at(0.5), y-lane/2, at(0.5), y+lane/2)
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1}, at(0.9), y-lane/4, at(0.9), y+lane/4)
	}
}
