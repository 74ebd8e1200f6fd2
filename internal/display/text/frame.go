package text

import (
	"fmt"
	"strings"
)

// Frame draws text in place on a terminal. It moves the cursor home and overwrites what was there,
// so that nothing flickers. What does not fit is left out: a line that wraps would shift the
// others.
type Frame struct {
	// Columns and Lines are the terminal's, in characters.
	Columns, Lines int
	// First clears the terminal, whatever is there.
	First bool
	Options
}

// Draw returns what to write to the terminal. The note stands below the text.
func (f Frame) Draw(text, note string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if room := max(f.Lines-3, 1); len(lines) > room {
		left := len(lines) - room + 1
		lines = append(lines[:room-1], f.paint(faint, fmt.Sprintf("… %d more lines", left)))
	}
	var b strings.Builder
	if f.First {
		b.WriteString("\x1b[2J")
	}
	b.WriteString("\x1b[H")
	for _, line := range append(lines, "", f.paint(faint, note)) {
		b.WriteString(clip(line, f.columns()) + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// columns returns how many columns are written to. The last one stays empty: terminals differ in
// what they do when it is full.
func (f Frame) columns() int { return max(f.Columns-1, 1) }

// clip cuts a line, and marks that. Escape sequences for colours take no room.
func clip(line string, width int) string {
	used, escape, last := 0, false, 0
	for i, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			if used += cells(string(r)); used > width {
				return line[:last] + "…\x1b[0m"
			}
			if used < width {
				last = i + len(string(r))
			}
		}
	}
	return line
}
