// Package text writes what package display shows as text for people: a group, a line for each
// group, a line for each change, and an explanation. It aligns, wraps and colours, and decides
// nothing.
//
// What it is given is printable. It adds escape sequences for colours only, and only if it is told.
package text

import (
	"strings"
	"unicode"
)

// Options are how text is written.
type Options struct {
	// Width is where lines are wrapped, in characters; 0: at 100. Tables fit into it; if it is 0 they
	// are as wide as they are.
	Width int
	// Colour allows escape sequences for colours.
	Colour bool
	// Wide shows all columns, however wide, and all elections.
	Wide bool
	// NoHeaders leaves out the headings of tables.
	NoHeaders bool
	// Namespaces shows the namespace of each group of a list.
	Namespaces bool
}

// defaultWidth and leastWidth bound where lines are wrapped.
const defaultWidth, leastWidth = 100, 40

func (o Options) width() int {
	if o.Width == 0 {
		return defaultWidth
	}
	return max(min(o.Width, defaultWidth), leastWidth)
}

// style is a colour, as the parameters of its escape sequence; empty: none.
type style string

const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "1;31"
	green  style = "32"
	yellow style = "33"
)

// paint returns text in a colour.
func (o Options) paint(s style, text string) string {
	if !o.Colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// cells returns how many columns of a terminal a text takes.
func cells(text string) int {
	n := 0
	for _, r := range text {
		if n++; unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
			r >= 0xfe30 { // full width, and symbols that take two
			n++
		}
	}
	return n
}

// wrap breaks a text into lines of at most width columns. A longer word has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := cells(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// hang writes a text that hangs on a label: further lines begin where the first one's text does.
func (o Options) hang(b *strings.Builder, indent, label string, s style, text string) {
	room := max(o.width()-cells(indent)-cells(label), leastWidth/2)
	for i, line := range wrap(text, room) {
		lead := o.paint(s, label)
		if i > 0 {
			lead = strings.Repeat(" ", cells(label))
		}
		b.WriteString(indent + lead + line + "\n")
	}
}
