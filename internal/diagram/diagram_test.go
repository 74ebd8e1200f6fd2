package diagram

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// story has three processes: P3 coordinates and crashes, P1 asks, P2 answers and coordinates.
func story() Diagram {
	return Diagram{
		Title: "a <small> story",
		Lanes: []string{"P1", "P2", "P3"},
		End:   6,
		Axis:  "time",
		Marks: []Mark{
			{
				Lane: 2,
				At:   0,
				Kind: Coordinate,
			}, {Lane: 2, At: 1, Kind: Crash}, {Lane: 0, At: 2, Kind: Notice, Label: "misses P3"},
			{Lane: 1, At: 5, Kind: Coordinate}, {Lane: 2, At: 5, Kind: Recover},
		},
		Arrows: []Arrow{
			{From: 0, To: 1, Sent: 2, Received: 3, Label: "ELECTION"},
			{From: 0, To: 2, Sent: 2, Received: 3, Label: "ELECTION", Lost: true},
			{From: 1, To: 0, Sent: 3, Received: 4, Label: "OK"},
			{From: 1, To: 2, Sent: 3, Received: 4, Label: "ELECT ME", Detail: "P1"},
			{From: 1, To: 2, Sent: 3, Received: 4, Label: "ELECT ME", Detail: "P2"},
		},
		Bars: []Bar{{At: 1.5, Label: "cut"}},
	}
}

func TestSVGIsWellFormedAndRepeatable(t *testing.T) {
	picture := story().SVG()
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, picture)
		}
	}
	if !bytes.Equal(picture, story().SVG()) {
		t.Error("drawn twice it differs")
	}
}

func TestSVGSaysWhatHappens(t *testing.T) {
	picture := string(story().SVG())
	for name, c := range map[string]struct {
		part  string
		times int
	}{
		"every process":                                {`font-weight="600" fill="#333333">P`, 3},
		"one label for what goes to many":              {`>ELECTION</text>`, 1},
		"one arrow for messages with the same ends":    {`>ELECT ME P1, P2</text>`, 1},
		"a lost message is dashed":                     {`stroke-dasharray="5 3"`, 1},
		"a coordinator's line is thick, twice":         {`stroke-width="6"`, 2},
		"nothing in the title is taken for markup":     {`a &lt;small&gt; story`, 2},
		"what happens to all":                          {`>cut</text>`, 1},
		"a crash":                                      {`stroke="#c0392b" stroke-width="2.6"`, 1},
		"no font or picture from elsewhere":            {`href`, 0},
		"arrows: those that arrive, and end in a head": {`marker-end=`, 3},
	} {
		if got := strings.Count(picture, c.part); got != c.times {
			t.Errorf("%s: %q is there %d times, want %d", name, c.part, got, c.times)
		}
	}
}

// What is not known is drawn as such: a process that tells nothing, and a message of whose receipt
// nobody tells. A long name has room.
func TestSVGSaysWhatIsNotKnown(t *testing.T) {
	name := "scheduler-with-a-long-name-4"
	d := Diagram{
		Lanes:     []string{"P1", name},
		End:       2,
		Axis:      "steps",
		Key:       "?: nobody tells",
		NoFigures: true,
		Silent:    map[int]bool{1: true},
		Arrows:    []Arrow{{From: 0, To: 1, Sent: 0, Received: 1, Label: "OK", Unknown: true}},
	}
	picture := string(d.SVG())
	for part, times := range map[string]int{
		">no account</text>":                  1,
		">?</text>":                           1,
		`stroke-dasharray="5 3"`:              1,
		`marker-end=`:                         0,
		"steps   ·   ?: nobody tells":         1,
		"thick line":                          0,
		`fill="#666666">0</text>`:             0,
		`stroke="#333333" stroke-width="1.4"`: 1, // the line of P1 only
	} {
		if got := strings.Count(picture, part); got != times {
			t.Errorf("%q is there %d times, want %d", part, got, times)
		}
	}
	if s := newScale(d.End, d.Lanes...); s.left < 7*float64(len(name)) {
		t.Errorf("a name of %d letters has %v pixels", len(name), s.left)
	}
}

// One of ten processes sends to all, and all answer: no two labels overlap.
func TestLabelsDoNotOverlap(t *testing.T) {
	d := Diagram{End: 5}
	for i := range 10 {
		if i != 3 {
			d.Arrows = append(d.Arrows,
				Arrow{
					From:     3,
					To:       i,
					Sent:     0,
					Received: 1,
					Label:    "ELECTION",
				}, Arrow{
					From:     i,
					To:       3,
					Sent:     1,
					Received: 2,
					Label:    "OK",
				})
		}
		d.Arrows = append(d.Arrows, Arrow{
			From:     i,
			To:       (i + 1) % 10,
			Sent:     float64(i)/4 + 2,
			Received: float64(i)/4 + 3,
			Label:    "NEW COORDINATOR",
			Detail:   "P9",
		})
	}
	s := newScale(d.End)
	labels := s.labels(s.lines(d.Arrows), nil, 10)
	if len(labels) < 20 {
		t.Fatalf("only %d labels", len(labels))
	}
	for i, a := range labels {
		for _, b := range labels[:i] {
			if a.box.overlap(b.box) > 0 {
				t.Errorf("%q at %v covers %q at %v", a.text, a.box.centre, b.text, b.box.centre)
			}
		}
	}
}

func TestBoxCrosses(t *testing.T) {
	b := box{
		centre: point{10, 10},
		width:  8,
		height: 4,
	}
	for name, c := range map[string]struct {
		p, q point
		want bool
	}{
		"through":       {point{0, 0}, point{20, 20}, true},
		"above":         {point{0, 5}, point{20, 5}, false},
		"ends before":   {point{0, 10}, point{5, 10}, false},
		"begins inside": {point{10, 10}, point{50, 50}, true},
		"past a corner": {point{0, 14}, point{14, 30}, false},
		"upright":       {point{10, 0}, point{10, 20}, true},
	} {
		if got := b.crosses(c.p, c.q); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
