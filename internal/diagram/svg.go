package diagram

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// inks are the colours for the kinds of messages, in the order in which kinds first appear.
// Colour-blind readers can distinguish them, too.
var inks = [...]string{"#0b5fa5", "#1b7f5c", "#b3541e", "#7a3e9d", "#8a6d00", "#9c2f4b"}

const (
	ink   = "#333333"
	faint = "#d8d8d8"
	gold  = "#d99a00" // a coordinator's line
	red   = "#c0392b"
)

// canvas is an SVG that is being written.
type canvas struct {
	scale
	Diagram
	out   bytes.Buffer
	kinds []string // of messages, in the order of appearance
}

// SVG returns the drawing of the diagram.
func (d Diagram) SVG() []byte {
	c := &canvas{scale: newScale(d.End, d.Lanes...), Diagram: d}
	c.width = max(c.width, 28+titleWidth*float64(utf8.RuneCountInString(d.Title)),
		28+letterWidth*float64(utf8.RuneCountInString(c.Axis+c.Key)))
	lines := c.lines(d.Arrows)
	for _, l := range lines {
		if !slices.Contains(c.kinds, l.Label) {
			c.kinds = append(c.kinds, l.Label)
		}
	}
	height := top + laneHeight*float64(len(d.Lanes)-1) + bottom
	c.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" `+
		`font-family="system-ui, sans-serif" font-size="11" role="img">`,
		figure(c.width), figure(height), figure(c.width), figure(height))
	c.print(`<title>%s</title>`, text(d.Title))
	c.heads()
	c.print(`<rect width="100%%" height="100%%" rx="6" fill="#ffffff"/>`)
	c.print(`<text x="14" y="24" font-size="14" font-weight="600" fill="%s">%s</text>`, ink,
		text(d.Title))
	c.axis(height)
	for lane := range d.Lanes {
		c.lane(lane)
	}
	for _, l := range lines {
		c.arrow(l)
	}
	taken := c.marks()
	for _, l := range c.labels(lines, taken, len(d.Lanes)) {
		c.word(l.text, l.box.centre, c.colour(l.kind), "middle")
	}
	c.print(`</svg>`)
	return c.out.Bytes()
}

// heads defines an arrow head for each kind.
func (c *canvas) heads() {
	c.print(`<defs>`)
	for i := range c.kinds {
		c.print(`<marker id="h%d" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" `+
			`orient="auto"><path d="M0 0.5 8 4 0 7.5z" fill="%s"/></marker>`, i, c.colour(c.kinds[i]))
	}
	c.print(`</defs>`)
}

// axis draws the time axis and the bars.
func (c *canvas) axis(height float64) {
	low := c.y(len(c.Lanes)-1) + 22
	for t := 0.0; t <= c.End && !c.NoFigures; t += c.step() {
		c.print(`<path d="M%s %sV%s" stroke="%s" stroke-width="0.7"/>`, figure(c.x(t)),
			figure(top-14), figure(low), faint)
		c.print(`<text x="%s" y="%s" text-anchor="middle" fill="#666666">%s</text>`,
			figure(c.x(t)), figure(low+13), figure(t))
	}
	key := cmp.Or(c.Key, "thick line: coordinator   ·   × crash   ·   dashed: lost")
	c.print(`<text x="14" y="%s" fill="#666666">%s</text>`, figure(height-10), text(c.Axis+"   ·   "+
		key))
	for _, b := range c.Bars {
		c.print(`<path d="M%s %sV%s" stroke="%s" stroke-width="1.4" stroke-dasharray="2 3"/>`,
			figure(c.x(b.At)), figure(top-18), figure(low), red)
		c.word(b.Label, point{c.x(b.At), top - 24}, red, anchor(b.At, c.End))
	}
}

func anchor(at, end float64) string {
	switch {
	case at > end*0.8:
		return "end"
	case at > end*0.2:
		return "middle"
	default:
		return "start"
	}
}

// lane draws the line of a process while it runs, thick while it coordinates.
func (c *canvas) lane(lane int) {
	y := figure(c.y(lane))
	c.print(`<text x="%s" y="%s" text-anchor="end" font-size="13" font-weight="600" `+
		`fill="%s">%s</text>`,
		figure(c.left-12), figure(c.y(lane)+4.5), ink, text(c.Lanes[lane]))
	c.print(`<path d="M%s %sH%s" stroke="#bbbbbb" stroke-dasharray="1 5"/>`, figure(c.left), y,
		figure(c.x(c.End)))
	alive, coordinates := 0.0, -1.0
	if c.Silent[lane] {
		alive = -1
		c.print(`<text x="%s" y="%s" text-anchor="end" font-size="10" fill="#666666">no account</text>`,
			figure(c.left-12), figure(c.y(lane)+17))
	}
	run := func(from, to float64, colour string, width string) {
		if from >= 0 && to > from {
			c.print(`<path d="M%s %sH%s" stroke="%s" stroke-width="%s"/>`, figure(c.x(from)), y,
				figure(c.x(to)), colour, width)
		}
	}
	for _, m := range c.Marks {
		if m.Lane != lane {
			continue
		}
		switch m.Kind {
		case Crash:
			run(coordinates, m.At, gold, "6")
			run(alive, m.At, ink, "1.4")
			alive, coordinates = -1, -1
		case Recover:
			alive = m.At
		case Coordinate:
			if coordinates < 0 {
				coordinates = m.At
			}
		case Stop:
			run(coordinates, m.At, gold, "6")
			coordinates = -1
		case Notice:
		}
	}
	run(coordinates, c.End, gold, "6")
	run(alive, c.End, ink, "1.4")
}

func (c *canvas) arrow(l line) {
	i := slices.Index(c.kinds, l.Label)
	if l.Lost || l.Unknown {
		c.print(`<path d="M%s %sL%s %s" stroke="%s" stroke-dasharray="5 3" fill="none"/>`,
			figure(l.start.x), figure(l.start.y), figure(l.end.x), figure(l.end.y),
			c.colour(l.Label))
		if l.Unknown {
			c.word("?", l.end, c.colour(l.Label), "middle")
		} else {
			c.cross(l.end, 3.5, c.colour(l.Label), "1.6")
		}
		return
	}
	c.print(`<path d="M%s %sL%s %s" stroke="%s" fill="none" marker-end="url(#h%d)"/>`,
		figure(l.start.x), figure(l.start.y), figure(l.end.x), figure(l.end.y), c.colour(l.Label),
		i)
}

// marks draws the marks and returns the space that they take.
func (c *canvas) marks() (taken []box) {
	for _, m := range c.Marks {
		p := c.at(m.Lane, m.At)
		switch m.Kind {
		case Crash:
			c.cross(p, 7, red, "2.6")
		case Recover:
			c.print(`<circle cx="%s" cy="%s" r="5" fill="#ffffff" stroke="%s" stroke-width="1.6"/>`,
				figure(p.x), figure(p.y), ink)
		case Coordinate:
			c.print(`<circle cx="%s" cy="%s" r="6" fill="%s" stroke="%s"/>`, figure(p.x),
				figure(p.y), gold, ink)
		case Notice:
			c.print(`<path d="M%s %sl4 4 -4 4 -4 -4z" fill="%s"/>`, figure(p.x), figure(p.y-4), ink)
		case Stop:
		}
		taken = append(taken, box{p, 16, 14})
		if m.Label == "" {
			continue
		}
		b := boxOf(m.Label, point{p.x, p.y - 13})
		side := "middle"
		if m.At <= 0 {
			side, b.centre.x = "start", p.x+b.width/2
		} else if m.At > c.End*0.93 {
			side, b.centre.x = "end", p.x-b.width/2
		}
		c.word(m.Label, point{p.x, b.centre.y}, ink, side)
		taken = append(taken, b)
	}
	return taken
}

func (c *canvas) cross(p point, size float64, colour, width string) {
	c.print(`<path d="M%s %sl%s %sm0 %sl%s %s" stroke="%s" stroke-width="%s"/>`, figure(p.x-size),
		figure(p.y-size),
		figure(2*size), figure(2*size), figure(-2*size), figure(-2*size), figure(2*size), colour,
		width)
}

// word writes a text with a rim in the background's colour, so that it is legible on lines, too.
func (c *canvas) word(s string, centre point, colour, side string) {
	c.print(`<text x="%s" y="%s" text-anchor="%s" fill="%s" stroke="#ffffff" stroke-width="3" `+
		`stroke-linejoin="round" paint-order="stroke">%s</text>`,
		figure(centre.x), figure(centre.y+4), side, colour, text(s))
}

func (c *canvas) colour(kind string) string { return inks[slices.Index(c.kinds, kind)%len(inks)] }

func (c *canvas) print(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

// figure formats a number with at most one decimal.
func figure(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Round(f*10)/10, 'f', 1, 64), ".0")
}

func text(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer accepts everything
	return b.String()
}
