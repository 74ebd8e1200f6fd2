// Package picture draws what the queries of a dashboard return, as SVG, for documentation on
// machines without Grafana. It follows the panels' places, types, words and legends; it is not
// Grafana's own rendering and does not try to look like it.
package picture

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/hack/dashboards/grafana"
	"github.com/podesta-dev/podesta/test/prometheus"
)

// Picture is a dashboard with answers.
type Picture struct {
	Dashboard grafana.Dashboard
	Note      string // beside the title
	From, To  time.Time
	Step      time.Duration // between two points of a series
	// Answers are what each query returned, by its expression as the dashboard has it.
	Answers map[string][]prometheus.Series
	Marks   []Mark
}

// Mark is an instant at which something was done, shown on every chart.
type Mark struct {
	At   time.Time
	Text string
}

// Sizes, in pixels.
const (
	column, row = 58.0, 30.0
	margin      = 6.0
	top         = 44.0
	titleHeight = 22.0
)

const (
	ink   = "#333333"
	faint = "#e3e3e3"
)

// shades are the colours that dashboards name.
var shades = map[string]string{
	"green":      "#3a9d5d",
	"light-blue": "#8fc1ea",
	"orange":     "#e08e1b",
	"red":        "#c0392b",
	"text":       "#b8bdc2",
}

// inks are the colours of lines. Colour-blind readers can distinguish them, too.
var inks = []string{"#0b5fa5", "#1b7f5c", "#b3541e", "#7a3e9d", "#8a6d00", "#9c2f4b"}

// box is where something is drawn.
type box struct{ x, y, w, h float64 }

// line is a series with its name.
type line struct {
	name   string
	points []prometheus.Point
}

type canvas struct {
	Picture
	out bytes.Buffer
}

// SVG returns the drawing.
func (p Picture) SVG() []byte {
	c := &canvas{Picture: p}
	bottom := 0
	for _, panel := range p.Dashboard.Panels {
		bottom = max(bottom, panel.GridPos.Y+panel.GridPos.H)
	}
	width, height := 24*column+2*margin, top+float64(bottom)*row+margin
	c.print(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" `+
			`font-family="system-ui, sans-serif" font-size="11" role="img">`, figure(width), figure(height))
	c.print(`<title>%s</title><rect width="100%%" height="100%%" fill="#f4f5f6"/>`,
		escape(p.Dashboard.Title))
	c.text(box{x: 14, y: 27}, p.Dashboard.Title, `font-size="17" font-weight="600"`)
	c.text(box{x: width - 14, y: 27}, p.Note, `text-anchor="end"`)
	for _, panel := range p.Dashboard.Panels {
		c.panel(panel)
	}
	c.print(`</svg>`)
	return c.out.Bytes()
}

func (c *canvas) panel(p grafana.Panel) {
	g := p.GridPos
	b := box{
		x: margin + float64(g.X)*column + 3,
		y: top + float64(g.Y)*row + 3,
		w: float64(g.W)*column - 6,
		h: float64(g.H)*row - 6,
	}
	c.print(`<rect x="%s" y="%s" width="%s" height="%s" rx="4" fill="#ffffff" stroke="%s"/>`,
		figure(b.x), figure(b.y), figure(b.w), figure(b.h), faint)
	c.text(box{x: b.x + 10, y: b.y + 16}, p.Title, `font-weight="600"`)
	b.y, b.h = b.y+titleHeight, b.h-titleHeight
	switch p.Type {
	case grafana.TypeStat:
		c.stat(p, b)
	case grafana.TypeStateTimeline:
		c.timeline(p, b)
	default:
		c.series(p, b)
	}
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// lines are the series of a panel, by name; a name that is there twice is one series.
func (c *canvas) lines(p grafana.Panel) []line {
	var all []line
	for _, t := range p.Targets {
		for _, s := range c.Answers[t.Expr] {
			name := placeholder.ReplaceAllStringFunc(t.LegendFormat, func(found string) string {
				return s.Labels[strings.Trim(found, "{}")]
			})
			all = append(all, line{name, s.Points})
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return all
}

// stat shows the newest value, or the name of the series that has it.
func (c *canvas) stat(p grafana.Panel, b box) {
	var newest prometheus.Point
	shown := p.FieldConfig.Defaults.NoValue
	for _, l := range c.lines(p) {
		last := l.points[len(l.points)-1]
		if last.At.Before(newest.At) || math.IsNaN(last.Value) {
			continue
		}
		newest, shown = last, value(last.Value, p.FieldConfig.Defaults.Unit)
		if textMode(p.Options) == grafana.Name {
			shown = l.name
		}
	}
	shade := ink
	if steps := p.FieldConfig.Defaults.Thresholds; steps != nil {
		for _, s := range steps.Steps {
			if s.Value == nil || newest.Value >= *s.Value {
				shade = shades[s.Color]
			}
		}
	}
	size := min(34, b.w*1.5/float64(max(4, len(shown))))
	c.text(box{x: b.x + b.w/2, y: b.y + b.h/2 + 10}, shown, fmt.Sprintf(
		`text-anchor="middle" font-size="%s" font-weight="600" fill="%s"`, figure(size), shade))
}

// textMode is what a stat shows. The options of a dashboard that was read from its file have no
// type.
func textMode(options any) string {
	var o grafana.StatOptions
	content, err := json.Marshal(options)
	if err != nil || json.Unmarshal(content, &o) != nil {
		return ""
	}
	return o.TextMode
}

// at is the place of an instant in a box.
func (c *canvas) at(b box, t time.Time) float64 {
	return b.x + b.w*float64(t.Sub(c.From))/float64(c.To.Sub(c.From))
}

// axis draws the time below a box.
func (c *canvas) axis(b box) {
	whole := c.To.Sub(c.From)
	every := 5 * time.Second
	for whole/every > 8 {
		every *= 2
	}
	for t := time.Duration(0); t <= whole; t += every {
		x := c.at(b, c.From.Add(t))
		c.rule(x, b.y, x, b.y+b.h, faint, "")
		c.text(box{x: x, y: b.y + b.h + 12}, t.String(),
			`text-anchor="middle" font-size="9" fill="#777777"`)
	}
}

// marks draws the marks in a box, and their names above it.
func (c *canvas) marks(b box) {
	for _, m := range c.Marks {
		x := c.at(b, m.At)
		c.rule(x, b.y-3, x, b.y+b.h, "#666666", `stroke-dasharray="3 2"`)
		anchor := "start"
		if x+letter*float64(len(m.Text)) > b.x+b.w {
			anchor = "end"
		}
		c.text(box{x: x, y: b.y - 5}, m.Text, `font-size="9" fill="#555555" text-anchor="`+anchor+`"`)
	}
}

// legend draws names with colours in a line, as many as fit.
func (c *canvas) legend(b box, names, colours []string) {
	x := b.x
	for i, name := range names {
		width := 26 + letter*float64(len([]rune(name)))
		if rest := len(names) - i; rest > 1 && x+width+50 > b.x+b.w || x+width > b.x+b.w {
			c.text(box{x: x, y: b.y + 9}, fmt.Sprintf("and %d more", rest), `fill="#777777"`)
			return
		}
		c.print(`<rect x="%s" y="%s" width="9" height="9" rx="2" fill="%s"/>`, figure(x), figure(b.y+1),
			colours[i])
		c.text(box{x: x + 13, y: b.y + 9}, name, "")
		x += width
	}
}

func (c *canvas) rule(x1, y1, x2, y2 float64, colour, more string) {
	c.print(`<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" %s/>`, figure(x1), figure(y1),
		figure(x2), figure(y2), colour, more)
}

func (c *canvas) text(b box, text, attributes string) {
	if !strings.Contains(attributes, "fill=") {
		attributes += ` fill="` + ink + `"`
	}
	c.print(`<text x="%s" y="%s" %s>%s</text>`, figure(b.x), figure(b.y), attributes, escape(text))
}

func (c *canvas) print(format string, arguments ...any) {
	fmt.Fprintf(&c.out, format, arguments...)
	c.out.WriteByte('\n')
}

// figure writes a length with one decimal at most.
func figure(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a bytes.Buffer does not fail
	return b.String()
}
