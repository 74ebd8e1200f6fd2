package page

import (
	"bytes"
	"image/color"
	"math"
	"regexp"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours are those of a card that is light in GitHub's light theme and in its dark one. Blue
// and vermilion are told apart by all eyes.
var (
	paper  = color.NRGBA{0xfd, 0xfd, 0xfb, 0xff}
	edge   = color.NRGBA{0xd5, 0xd5, 0xcf, 0xff}
	grid   = color.NRGBA{0xe8, 0xe8, 0xe3, 0xff}
	ink    = color.NRGBA{0x22, 0x22, 0x26, 0xff}
	faint  = color.NRGBA{0x66, 0x66, 0x6c, 0xff}
	colors = map[string]color.NRGBA{guarded: {0x00, 0x62, 0xa8, 0xff},
		classic: {0xd5, 0x5e, 0x00, 0xff}}
)

// Sizes in points; a card is as wide as GitHub shows a page.
const (
	width    = vg.Length(640)
	border   = vg.Length(14) // around everything
	large    = vg.Length(13)
	medium   = vg.Length(9.5)
	small    = vg.Length(8.5)
	headline = vg.Length(84) // title, subtitle, legend, and what stands above a column
)

// safeties are in the order of the legend and of lanes, from the top.
var safeties = []string{guarded, classic}

// card is one picture.
type card struct {
	svg *vgsvg.Canvas
	draw.Canvas
}

// newCard makes a card with title and subtitle. What is left for the plot is below them.
func newCard(height vg.Length, title, subtitle string) card {
	svg := vgsvg.New(width, height)
	c := card{svg: svg, Canvas: draw.New(svg)}
	c.box(vg.Rectangle{Max: vg.Point{X: width, Y: height}}, paper)
	c.StrokeLines(draw.LineStyle{Color: edge, Width: 1},
		[]vg.Point{{X: 0, Y: 0}, {X: width, Y: 0}, {X: width, Y: height}, {X: 0, Y: height},
			{X: 0, Y: 0}})
	heading := words(large, ink)
	heading.Font.Weight = weight.WeightBold
	c.FillText(heading, vg.Point{X: border, Y: height - border - large}, title)
	c.FillText(words(medium, faint), vg.Point{X: border, Y: height - border - large - 15}, subtitle)
	return c
}

// words is how text is set.
func words(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c,
		Font: font.Font{
			Typeface: "Liberation",
			Variant:  "Sans",
			Size:     size,
		},
		Handler: plot.DefaultTextHandler,
	}
}

// put writes text whose beginning, middle or end is at a point, level with it.
func put(c draw.Canvas, s text.Style, x text.XAlignment, at vg.Point, what string) {
	s.XAlign, s.YAlign = x, draw.YCenter
	at.Y += s.Font.Size / 8 // the middle is that of letters without tails
	c.FillText(s, at, what)
}

// box fills a rectangle.
func (c card) box(r vg.Rectangle, fill color.Color) { box(c.Canvas, r, fill) }

func box(c draw.Canvas, r vg.Rectangle, fill color.Color) {
	c.FillPolygon(fill, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

// legend writes names after a mark each, in a line below the subtitle.
func (c card) legend(names []string, mark func(at vg.Point, name string)) {
	at := vg.Point{X: border + 5, Y: c.Max.Y - border - large - 34}
	style := words(medium, ink)
	for _, name := range names {
		mark(at, name)
		put(c.Canvas, style, draw.XLeft, vg.Point{X: at.X + 9, Y: at.Y}, name)
		at.X += style.Width(name) + 30
	}
}

// dots fills circles of one size; they are one path, so that where they overlap nothing darkens.
func dots(c draw.Canvas, fill color.Color, radius vg.Length, at ...vg.Point) {
	var path vg.Path
	for _, p := range at {
		path.Move(vg.Point{X: p.X + radius, Y: p.Y})
		path.Arc(p, radius, 0, 2*math.Pi)
		path.Close()
	}
	c.SetColor(fill)
	c.Fill(path)
}

// plotting is an empty plot whose x axis is a timeline. Its title is not gonum's, who takes the
// middle of a logarithmic axis to be near its end: a plotter writes it with below.
func plotting(a axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Scale, p.X.Tick.Marker, p.X.Min, p.X.Max = plot.LogScale{}, a, a.from, a.to
	for _, at := range []*plot.Axis{&p.X, &p.Y} {
		at.LineStyle.Color, at.Tick.LineStyle.Color = edge, edge
		at.Tick.Length = 3
		at.Tick.Label.Font, at.Tick.Label.Color = words(small, faint).Font, faint
		at.Padding = 0
	}
	return p
}

// below writes the title of the x axis.
func below(c draw.Canvas, title string) {
	put(c, words(medium, faint), draw.XCenter, vg.Point{X: c.Center().X, Y: c.Min.Y - 27}, title)
}

// picture is the card as SVG. The names of the fonts get others beside them, of the same widths
// where there are such.
func (c card) picture() ([]byte, error) {
	var out bytes.Buffer
	if _, err := c.svg.WriteTo(&out); err != nil {
		return nil, err
	}
	return families.ReplaceAll(out.Bytes(),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif")), nil
}

var families = regexp.MustCompile(`font-family:Liberation Sans;font-variant:normal`)
