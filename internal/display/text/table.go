package text

import "strings"

// cell is an entry of a table.
type cell struct {
	text  string
	style style
	whole bool // it is not cut
}

// maxCell is how many characters of an entry are shown.
const maxCell = 63

// gap is what separates columns. Terminals are narrow, and these tables are not.
const gap = "  "

// table writes rows with aligned columns. Columns that are empty below the heading are left out.
func (o Options) table(b *strings.Builder, heading []string, rows [][]cell) {
	widths := make([]int, len(heading))
	for i := range rows {
		for j := range rows[i] {
			c := &rows[i][j]
			if short := []rune(c.text); len(short) > maxCell && !c.whole {
				c.text = string(short[:maxCell-1]) + "…"
			}
			widths[j] = max(widths[j], cells(c.text))
		}
	}
	all := make([][]cell, 0, len(rows)+1)
	head := make([]cell, len(heading))
	for j, title := range heading {
		head[j] = cell{text: title, style: faint}
		if widths[j] > 0 {
			widths[j] = max(widths[j], cells(title))
		}
	}
	all = append(append(all, head), rows...)
	for _, row := range all {
		o.row(b, row, widths)
	}
}

func (o Options) row(b *strings.Builder, row []cell, widths []int) {
	pad := 0
	for j, c := range row {
		if widths[j] == 0 {
			continue
		}
		if c.text != "" { // blanks at the end of a line help nobody
			b.WriteString(strings.Repeat(" ", pad) + o.paint(c.style, c.text))
			pad = 0
		}
		pad += widths[j] - cells(c.text) + len(gap)
	}
	b.WriteString("\n")
}

// or is a dash for what is empty.
func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
