package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/podesta-dev/podesta/bench/peers/account"
)

// block is some rows below a heading.
type block struct {
	name string
	rows []strip
}

// strip is a row: what a system took, each time.
type strip struct {
	name string
	took account.Durations
}

// The colours are those of a card that is light in GitHub's light theme and in its dark one. Blue
// is Podesta, vermilion everybody else; the names say the rest.
var (
	paper = color.NRGBA{0xfd, 0xfd, 0xfb, 0xff}
	grid  = color.NRGBA{0xe0, 0xe0, 0xda, 0xff}
	ink   = color.NRGBA{0x22, 0x22, 0x26, 0xff}
	ours  = color.NRGBA{0x00, 0x62, 0xa8, 0xb0}
	peers = color.NRGBA{0xd5, 0x5e, 0x00, 0xb0}
)

// Sizes in points.
const (
	width   = vg.Length(640)
	border  = vg.Length(14)
	names   = vg.Length(100) // the column of names
	line    = vg.Length(15)  // a row
	top     = vg.Length(44)  // title and the labels of the axis
	most    = 60             // dots of a row: beyond that, as many quantiles
	radius  = vg.Length(2)
	decades = 10
)

// strips draws a dot for each time on a logarithmic axis, and a bar at the median of a row that has
// several.
func strips(title string, blocks []block) ([]byte, error) {
	height := top + border
	var all account.Durations
	for _, b := range blocks {
		height += line * vg.Length(len(b.rows)+1)
		for _, r := range b.rows {
			all = append(all, r.took...)
		}
	}
	svg := vgsvg.New(width, height)
	c := draw.New(svg)
	c.FillPolygon(paper, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	heading := words(13)
	heading.Font.Weight = weight.WeightBold
	c.FillText(heading, vg.Point{X: border, Y: height - border - 10}, title)
	scale := newScale(all)
	scale.draw(c, height-top, border)
	y := height - top
	for _, b := range blocks {
		y -= line
		bold := words(9.5)
		bold.Font.Weight = weight.WeightBold
		c.FillText(bold, vg.Point{X: border, Y: y + 3}, b.name)
		for _, r := range b.rows {
			y -= line
			c.FillText(words(9), vg.Point{X: border + 8, Y: y + 3}, r.name)
			r.draw(c, scale, y+line/2-1)
		}
	}
	var out bytes.Buffer
	if _, err := svg.WriteTo(&out); err != nil {
		return nil, err
	}
	return families.ReplaceAll(out.Bytes(),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif")), nil
}

// The names of the fonts get others beside them, of the same widths where there are such.
var families = regexp.MustCompile(`font-family:Liberation Sans;font-variant:normal`)

func (r strip) draw(c draw.Canvas, s scale, y vg.Length) {
	colour := peers
	if isPodesta(r.name) {
		colour = ours
	}
	c.SetColor(colour)
	for _, d := range thin(r.took) {
		var dot vg.Path
		at := vg.Point{X: s.x(d), Y: y}
		dot.Move(vg.Point{X: at.X + radius, Y: y})
		dot.Arc(at, radius, 0, 2*math.Pi)
		dot.Close()
		c.Fill(dot)
	}
	if len(r.took) > 1 {
		x := s.x(r.took.Quantile(0.5))
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1.5}, x, y-5, x, y+5)
	}
}

// thin leaves most of them at most: evenly spread quantiles, with the least and the largest.
func thin(d account.Durations) account.Durations {
	sorted := slices.Sorted(slices.Values(d))
	if len(sorted) <= most {
		return sorted
	}
	few := make(account.Durations, most)
	for i := range few {
		few[i] = sorted[i*(len(sorted)-1)/(most-1)]
	}
	return few
}

func words(size vg.Length) text.Style {
	return text.Style{
		Color: ink,
		Font: font.Font{
			Typeface: "Liberation",
			Variant:  "Sans",
			Size:     size,
		},
		Handler: plot.DefaultTextHandler,
	}
}

// label writes a power of ten of milliseconds.
func label(power int) string {
	if power < 3 {
		return fmt.Sprintf("%.0f ms", math.Pow10(power))
	}
	return fmt.Sprintf("%.0f s", math.Pow10(power-3))
}
