package picture

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/hack/dashboards/grafana"
)

const (
	scale   = 52.0 // width of the numbers beside a chart
	above   = 14.0 // height of the marks' names
	letter  = 6.1  // width
	beneath = 34.0 // height of the time and the legend below
)

// timeline draws a row for each series, in the colours of its words.
func (c *canvas) timeline(p grafana.Panel, b box) {
	words := map[string]grafana.Word{}
	for _, m := range p.FieldConfig.Defaults.Mappings {
		words = m.Options
	}
	all := c.lines(p)
	longest := 0
	for _, l := range all {
		longest = max(longest, len([]rune(l.name)))
	}
	names := min(0.45*b.w, letter*float64(longest)+20) // the width beside the timeline
	area := box{
		x: b.x + names,
		y: b.y + above,
		w: b.w - names - 14,
		h: b.h - beneath - above,
	}
	c.axis(area)
	height := min(24, area.h/float64(max(1, len(all))))
	for i, l := range all {
		y := area.y + float64(i)*height
		c.text(box{x: area.x - 6, y: y + height/2 + 4}, shortened(l.name, int((names-12)/letter)),
			`text-anchor="end"`)
		for _, s := range c.states(l) {
			x := c.at(area, s.from)
			c.print(`<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`, figure(x), figure(y+2),
				figure(min(c.at(area, s.to), area.x+area.w)-x), figure(height-4),
				shades[words[s.value].Color])
		}
	}
	c.marks(area)
	var said, colours []string
	for _, value := range slices.Sorted(maps.Keys(words)) {
		said, colours = append(said, words[value].Text), append(colours, shades[words[value].Color])
	}
	c.legend(box{
		x: b.x + 12,
		y: b.y + b.h - 16,
		w: b.w - 20,
	}, said, colours)
}

// span is how long a series had a value.
type span struct {
	from, to time.Time
	value    string
}

// states are the values of a series, each for as long as it stayed; nothing while there were none.
func (c *canvas) states(l line) []span {
	var all []span
	for _, point := range l.points {
		value, end := strconv.FormatFloat(point.Value, 'f', -1, 64), point.At.Add(c.Step)
		if last := len(all) - 1; last >= 0 && !all[last].to.Before(point.At) {
			all[last].to = point.At
			if all[last].value == value {
				all[last].to = end
				continue
			}
		}
		all = append(all, span{
			from:  point.At,
			to:    end,
			value: value,
		})
	}
	return all
}

func shortened(name string, most int) string {
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}

// peak is the highest value of a series.
func (l line) peak() float64 {
	highest := 0.0
	for _, point := range l.points {
		if !math.IsNaN(point.Value) && !math.IsInf(point.Value, 0) {
			highest = max(highest, point.Value)
		}
	}
	return highest
}

// series draws lines from 0 on, the highest first.
func (c *canvas) series(p grafana.Panel, b box) {
	all := c.lines(p)
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(b.peak(), a.peak()) })
	highest := 1.0
	if len(all) > 0 {
		highest = nice(all[0].peak())
	}
	area := box{
		x: b.x + scale,
		y: b.y + above,
		w: b.w - scale - 16,
		h: b.h - beneath - above,
	}
	c.axis(area)
	for i := range 3 {
		y := area.y + area.h*(1-float64(i)/2)
		c.rule(area.x, y, area.x+area.w, y, faint, "")
		c.text(box{x: area.x - 5, y: y + 4}, value(highest*float64(i)/2, p.FieldConfig.Defaults.Unit),
			`text-anchor="end" font-size="9"`)
	}
	var names, colours []string
	for i, l := range all {
		colour := inks[i%len(inks)]
		names, colours = append(names, l.name), append(colours, colour)
		c.print(`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, c.path(area, l, highest),
			colour)
	}
	c.marks(area)
	c.legend(box{
		x: b.x + 12,
		y: b.y + b.h - 16,
		w: b.w - 20,
	}, names, colours)
}

// path steps from point to point, and leaves out what is missing.
func (c *canvas) path(area box, l line, highest float64) string {
	var d strings.Builder
	drawing, last := false, time.Time{}
	for _, point := range l.points {
		if math.IsNaN(point.Value) || math.IsInf(point.Value, 0) {
			drawing = false
			continue
		}
		x, y := figure(c.at(area, point.At)), figure(area.y+area.h*(1-point.Value/highest))
		if !drawing || point.At.Sub(last) > c.Step*3/2 {
			fmt.Fprintf(&d, "M%s %sh0.5", x, y)
		} else {
			fmt.Fprintf(&d, "H%sV%s", x, y)
		}
		drawing, last = true, point.At
	}
	return d.String()
}

// nice is the next 1, 2 or 5 with zeros.
func nice(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 2, 5} {
		if highest <= step*ten {
			return step * ten
		}
	}
	return 10 * ten
}

// value writes a number in a unit, as people read it.
func value(v float64, unit string) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch unit {
	case "percentunit":
		return number(v*100) + " %"
	case "ops", "cps":
		return number(v) + "/s"
	case "s":
		switch {
		case v == 0:
			return "0 s"
		case v < 0.001:
			return number(v*1e6) + " µs"
		case v < 1:
			return number(v*1e3) + " ms"
		case v >= 7200:
			return number(v/3600) + " h"
		default:
			return number(v) + " s"
		}
	default:
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	}
}
