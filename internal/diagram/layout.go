package diagram

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The measures of a diagram, in pixels.
const (
	leastLeft, right = 64.0, 40.0 // left of the axis are the names
	top              = 66.0       // above the first lane: the title, and the labels of bars
	bottom           = 62.0       // below the last lane: the axis and the key
	laneHeight       = 54.0
	letterWidth      = 6.1 // in the labels' font, slightly above the average
	capWidth         = 7.7
	titleWidth       = 8.6 // per letter of the title
	nameWidth        = 7.4 // per letter of a process's name
	labelHeight      = 12.0
	gap              = 4.0 // between an arrow's end and the line it ends at
)

type point struct{ x, y float64 }

// box is the space that a label takes, given by its centre.
type box struct {
	centre        point
	width, height float64
}

// overlap returns the area that two boxes share.
func (b box) overlap(o box) float64 {
	w := (b.width+o.width)/2 - math.Abs(b.centre.x-o.centre.x)
	h := (b.height+o.height)/2 - math.Abs(b.centre.y-o.centre.y)
	return max(w, 0) * max(h, 0)
}

func boxOf(text string, at point) box {
	width := 4.0
	for _, r := range text {
		if unicode.IsUpper(r) {
			width += capWidth
		} else {
			width += letterWidth
		}
	}
	return box{
		centre: at,
		width:  width,
		height: labelHeight,
	}
}

// scale converts times and lanes into positions.
type scale struct{ unit, width, left float64 }

// newScale gives a unit of time as much room as a page has, within legible limits, and the names of
// processes what they need.
func newScale(end float64, names ...string) scale {
	s := scale{unit: min(max(1500/max(end, 1), 34), 168), left: leastLeft}
	for _, name := range names {
		s.left = max(s.left, 28+nameWidth*float64(utf8.RuneCountInString(name)))
	}
	s.width = max(s.x(end)+right, 460)
	return s
}

func (s scale) x(t float64) float64          { return s.left + t*s.unit }
func (s scale) y(lane int) float64           { return top + float64(lane)*laneHeight }
func (s scale) at(lane int, t float64) point { return point{s.x(t), s.y(lane)} }

// step returns the number of units between two figures of the axis.
func (s scale) step() float64 {
	for _, step := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 500} {
		if step*s.unit >= 48 {
			return step
		}
	}
	return 1000
}

// line is an arrow as drawn: all messages with the same ends.
type line struct {
	Arrow
	start, end point
}

// lines merges arrows with the same ends and positions them.
func (s scale) lines(arrows []Arrow) []line {
	type ends struct {
		from, to       int
		sent, received float64
		label          string
		lost, unknown  bool
	}
	var all []line
	index := map[ends]int{}
	for _, a := range arrows {
		key := ends{a.From, a.To, a.Sent, a.Received, a.Label, a.Lost, a.Unknown}
		if i, ok := index[key]; ok {
			all[i].Detail = join(all[i].Detail, a.Detail)
			continue
		}
		index[key] = len(all)
		l := line{
			Arrow: a,
			start: s.at(a.From, a.Sent),
			end:   s.at(a.To, a.Received),
		}
		l.start, l.end = shorten(l.start, l.end, a.Lost || a.Unknown)
		all = append(all, l)
	}
	return all
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return strings.TrimPrefix(a+", "+b, ", ")
}

// shorten keeps an arrow's head off the line at which it ends. A lost one ends well before it.
func shorten(a, b point, lost bool) (point, point) {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if length == 0 {
		return a, b
	}
	keep := (length - gap) / length
	if lost {
		keep = max((length-16)/length, 0.6)
	}
	return a, point{a.x + (b.x-a.x)*keep, a.y + (b.y-a.y)*keep}
}

// label is a text with its position.
type label struct {
	text string
	kind string
	box  box
}

// fan is a set of lines that share a label.
type fan struct {
	text, kind string
	lines      []line
}

// fans groups lines with the same text that leave a process in the same instant on the same side.
func fans(lines []line) []fan {
	type key struct {
		from int
		sent float64
		text string
		up   bool
	}
	var all []fan
	index := map[key]int{}
	for _, l := range lines {
		text := strings.TrimSuffix(l.Label+" "+l.Detail, " ")
		k := key{l.From, l.Sent, text, l.To < l.From}
		if i, ok := index[k]; ok {
			all[i].lines = append(all[i].lines, l)
			continue
		}
		index[k] = len(all)
		all = append(all, fan{
			text:  text,
			kind:  l.Label,
			lines: []line{l},
		})
	}
	return all
}

// along lists the positions on an arrow that a label may take, the best first.
var along = [...]float64{0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.12, 0.9}

// crowd is the number of arrows above which no choice of positions makes a diagram legible.
const crowd = 400

// labels positions a label for each fan, at one of its arrows, where it covers least. Fans with
// little choice go first.
func (s scale) labels(lines []line, taken []box, lanes int) []label {
	all := fans(lines)
	if len(lines) > crowd {
		lines, taken = nil, nil
	}
	slices.SortStableFunc(all, func(a, b fan) int {
		return cmp.Compare(len(a.lines), len(b.lines))
	})
	labels := make([]label, 0, len(all))
	for _, f := range all {
		best := s.place(f, lines, taken, lanes)
		if len(lines) > 0 {
			taken = append(taken, best)
		}
		labels = append(labels, label{
			text: f.text,
			kind: f.kind,
			box:  best,
		})
	}
	return labels
}

// place returns the best position for the label of a fan: on one of its arrows, or beside it.
func (s scale) place(f fan, lines []line, taken []box, lanes int) (best box) {
	cost := math.Inf(1)
	for _, l := range f.lines {
		for i, part := range along {
			on := point{l.start.x + (l.end.x-l.start.x)*part, l.start.y + (l.end.y-l.start.y)*part}
			middle := boxOf(f.text, on)
			beside := middle.width/2 + 4 + labelHeight/2*math.Abs((l.end.x-l.start.x)/(l.end.y-
				l.start.y))
			if l.From == l.To {
				beside = 0
			}
			for j, aside := range [...]float64{0, beside, -beside} {
				b := middle
				b.centre.x += aside
				if c := s.cost(b, lines, taken, lanes) + float64(i)*3 + float64(j); c < cost {
					best, cost = b, c
				}
			}
		}
	}
	return best
}

// cost returns how much a label would cover: other labels weigh most, then the lines of processes,
// then arrows.
func (s scale) cost(b box, lines []line, taken []box, lanes int) (cost float64) {
	for _, other := range taken {
		cost += 4 * b.overlap(other)
	}
	for lane := range lanes {
		if math.Abs(b.centre.y-s.y(lane)) < labelHeight/2+1 {
			cost += 25
		}
	}
	for _, l := range lines {
		if b.crosses(l.start, l.end) {
			cost += 12
		}
	}
	if b.centre.x-b.width/2 < s.left-20 || b.centre.x+b.width/2 > s.width-4 {
		cost += 200
	}
	return cost
}

// crosses reports whether the line from p to q passes through the box. It clips the line to the
// box's two strips.
func (b box) crosses(p, q point) bool {
	from, to := 0.0, 1.0
	clip := func(start, delta, low, high float64) bool {
		if delta == 0 {
			return low < start && start < high
		}
		t0, t1 := (low-start)/delta, (high-start)/delta
		from, to = max(from, min(t0, t1)), min(to, max(t0, t1))
		return from < to
	}
	return clip(p.x, q.x-p.x, b.centre.x-b.width/2, b.centre.x+b.width/2) &&
		clip(p.y, q.y-p.y, b.centre.y-b.height/2, b.centre.y+b.height/2)
}
