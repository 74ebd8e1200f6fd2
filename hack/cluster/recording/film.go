package recording

import (
	"slices"
	"time"

	"github.com/hinshun/vt10x"
)

// Film is what a terminal showed.
type Film struct {
	Command string
	Frames  []Frame
	Length  time.Duration
}

// Frame is a picture and when it appeared.
type Frame struct {
	At      time.Duration
	Picture Picture
}

// Picture is the lines of a terminal, without empty ones at the end.
type Picture []Line

// Line is a line of a terminal as runs of one style.
type Line []Run

// Run is some text in one style.
type Run struct {
	Column int
	Text   string
	Colour int // of the terminal's sixteen; -1: its own
	Bold   bool
}

// add adds a picture if it differs from the last one. One that came too soon after the last one
// replaces it: a program may write a screen in pieces.
func (f *Film) add(at time.Duration, p Picture) {
	const pieces = 20 * time.Millisecond
	if n := len(f.Frames); n > 0 {
		last := &f.Frames[n-1]
		switch {
		case equal(last.Picture, p):
			return
		case at-last.At < pieces:
			last.Picture = p
			return
		}
	}
	f.Frames = append(f.Frames, Frame{at, p})
}

func equal(a, b Picture) bool {
	return slices.EqualFunc(a, b, func(a, b Line) bool { return slices.Equal(a, b) })
}

// boldMode is vt10x's bit for bold text, which it does not export.
const boldMode = 1 << 2

// pictureOf reads a terminal's screen.
func pictureOf(t vt10x.View) Picture {
	t.Lock()
	defer t.Unlock()
	width, height := t.Size()
	p := make(Picture, height)
	for y := range height {
		for x := range width {
			p[y] = p[y].with(x, t.Cell(x, y))
		}
		p[y] = p[y].trimmed()
	}
	for len(p) > 0 && len(p[len(p)-1]) == 0 {
		p = p[:len(p)-1]
	}
	return p
}

// with adds a cell to a line.
func (l Line) with(x int, c vt10x.Glyph) Line {
	colour, bold, char := -1, c.Mode&boldMode != 0, c.Char
	if c.FG < 16 {
		colour = int(c.FG)
	}
	if char == 0 {
		char = ' '
	}
	if n := len(l); n > 0 && l[n-1].Colour == colour && l[n-1].Bold == bold {
		l[n-1].Text += string(char)
		return l
	}
	return append(l, Run{x, string(char), colour, bold})
}

// trimmed drops the spaces at a line's end.
func (l Line) trimmed() Line {
	for len(l) > 0 {
		last := &l[len(l)-1]
		for len(last.Text) > 0 && last.Text[len(last.Text)-1] == ' ' {
			last.Text = last.Text[:len(last.Text)-1]
		}
		if last.Text != "" {
			return l
		}
		l = l[:len(l)-1]
	}
	return nil
}
