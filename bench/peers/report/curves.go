package report

import (
	"bytes"
	"fmt"
	"image/color"
	"slices"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of curves, in points.
const (
	panel = vg.Length(114) // the height of a condition, at least
	plot0 = vg.Length(44)  // where the axis of time begins
	key   = vg.Length(120) // the column of names, on the right
)

// lines distinguish systems of one colour, in the order in which they come.
var lines = [][]vg.Length{
	nil, {5, 2}, {1.5, 2}, {8, 2, 1.5, 2}, {1.5, 6}, {8, 2, 1.5, 2, 1.5, 2},
}

// curves draws, for each condition, for which part of each minute somebody led: a line for each
// system, and a cross for each spurious change.
func curves(some []Record) ([]byte, error) {
	under := distinct(some, Record.under)
	height := vg.Length(top + border)
	for _, name := range under {
		height += tall(of(some, name))
	}
	svg := vgsvg.New(width, height)
	c := draw.New(svg)
	c.FillPolygon(paper, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	heading := words(13)
	heading.Font.Weight = weight.WeightBold
	c.FillText(heading, vg.Point{X: border, Y: height - border - 10},
		"For which part of each minute somebody leads; crosses: spurious changes")
	below := height - top
	for _, name := range under {
		systems := of(some, name)
		area{c, below, tall(systems)}.draw(name, systems)
		below -= tall(systems)
	}
	var out bytes.Buffer
	if _, err := svg.WriteTo(&out); err != nil {
		return nil, err
	}
	return families.ReplaceAll(out.Bytes(),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif")), nil
}

// of returns the records of a condition.
func of(some []Record, under string) []Record {
	return slices.DeleteFunc(slices.Clone(some), func(r Record) bool { return r.under() != under })
}

// tall is the height of a condition's panel: the names of all its systems stand beside it.
func tall(systems []Record) vg.Length { return max(panel, line*vg.Length(len(systems)+3)) }

// area is the panel of a condition, below a height.
type area struct {
	draw.Canvas
	below, tall vg.Length
}

// high and low are where 100 % and 0 % are.
func (a area) high() vg.Length { return a.below - line - 4 }
func (a area) low() vg.Length  { return a.below - a.tall + 2*line }

// at is where a share of a minute is, of so many.
func (a area) at(minute float64, of int, share float64) vg.Point {
	const long = width - 2*border - plot0 - key
	return vg.Point{
		X: border + plot0 + long*vg.Length(minute/float64(max(of, 1))),
		Y: a.low() + (a.high()-a.low())*vg.Length(share),
	}
}

func (a area) draw(condition string, some []Record) {
	minutes := 0
	for _, r := range some {
		minutes = max(minutes, len(r.Minutes))
	}
	bold := words(9.5)
	bold.Font.Weight = weight.WeightBold
	a.FillText(bold, vg.Point{X: border, Y: a.below - 7}, condition)
	for _, share := range []float64{0, 0.5, 1} {
		from, to := a.at(0, minutes, share), a.at(float64(minutes), minutes, share)
		a.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.5}, from.X, from.Y, to.X, to.Y)
		label := words(8.5)
		label.XAlign = text.XRight
		a.FillText(label, vg.Point{X: from.X - 4, Y: from.Y - 3}, fmt.Sprintf("%.0f %%", 100*share))
	}
	for _, minute := range []int{0, minutes / 2, minutes} {
		label := words(8.5)
		label.XAlign = text.XCenter
		at := a.at(float64(minute), minutes, 0)
		a.FillText(label, vg.Point{X: at.X, Y: at.Y - 11}, fmt.Sprintf("%d min", minute))
	}
	seen := map[color.Color]int{}
	for i, r := range some {
		colour := color.Color(peers)
		if isPodesta(r.System) {
			colour = ours
		}
		style := draw.LineStyle{Color: colour, Width: 1.2, Dashes: lines[seen[colour]%len(lines)]}
		seen[colour]++
		a.curve(r, minutes, style)
		at := vg.Point{X: width - border - key + 10, Y: a.high() - line*vg.Length(i) - 4}
		a.StrokeLine2(style, at.X, at.Y+3, at.X+18, at.Y+3)
		a.FillText(words(8.5), vg.Point{X: at.X + 22, Y: at.Y}, r.System)
	}
}

// curve draws what a system did. The last minute may be a part of one.
func (a area) curve(r Record, minutes int, style draw.LineStyle) {
	points := make([]vg.Point, len(r.Minutes))
	for i, leaderless := range r.Minutes {
		long := min(60, r.Span-float64(60*i))
		points[i] = a.at(float64(i)+0.5, minutes, 1-leaderless/1000/long)
	}
	a.StrokeLines(style, points)
	a.SetColor(style.Color)
	a.SetLineWidth(1)
	a.SetLineDash(nil, 0)
	for _, at := range r.Spurious {
		const arm = vg.Length(2.5)
		p := a.at(at/60000, minutes, 1)
		for _, way := range []vg.Length{arm, -arm} {
			var path vg.Path
			path.Move(vg.Point{X: p.X - arm, Y: p.Y + 4 - way})
			path.Line(vg.Point{X: p.X + arm, Y: p.Y + 4 + way})
			a.Stroke(path)
		}
	}
}
