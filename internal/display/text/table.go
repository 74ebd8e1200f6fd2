package text

import (
	"strings"
)

// cell is an entry of a table.
type cell struct {
	text  string
	style style
	whole bool // it is not cut
}

// column is a column of a table.
type column struct {
	title string
	// gives orders the columns that give way where there is too little room: the highest first. A
	// column with 0 stays.
	gives int
	// names is true if the entries are names, which are shortened in the middle first: their ends
	// tell the pods of a workload apart.
	names bool
}

// maxCell is how many characters of an entry are shown; names become as short as shortName before
// columns give way, and as shortestName after that.
const (
	maxCell      = 63
	shortName    = 24
	shortestName = 9
)

// gap is what separates columns. Terminals are narrow, and these tables are not.
const gap = "  "

// table writes rows with aligned columns. Columns that are empty below the heading are left out. On
// a terminal, names are shortened and columns give way until the table fits. A line below it names
// the columns that are hidden. With Wide it is as wide as it is.
func (o Options) table(b *strings.Builder, columns []column, rows [][]cell) {
	for i := range rows {
		for j := range rows[i] {
			if c := &rows[i][j]; !c.whole {
				c.text = shortened(c.text, maxCell, columns[j].names)
			}
		}
	}
	widths, hidden := o.widths(columns, rows)
	if !o.NoHeaders {
		head := make([]cell, len(columns))
		for j := range columns {
			head[j] = cell{text: columns[j].title, style: faint}
		}
		o.row(b, head, widths, columns)
	}
	for _, row := range rows {
		o.row(b, row, widths, columns)
	}
	if len(hidden) > 0 && !o.NoHeaders {
		o.hang(b, "", "… ", faint, "hidden for lack of room: "+strings.Join(hidden, ", ")+
			". -o wide shows all columns")
	}
}

// widths returns how wide each column is, 0 if it is not shown, and the titles of those that gave
// way.
func (o Options) widths(columns []column, rows [][]cell) (widths []int, hidden []string) {
	widths = make([]int, len(columns))
	for j, c := range columns {
		for _, row := range rows {
			widths[j] = max(widths[j], cells(row[j].text))
		}
		if widths[j] > 0 && !o.NoHeaders {
			widths[j] = max(widths[j], cells(c.title))
		}
	}
	if o.Width == 0 || o.Wide {
		return widths, nil
	}
	narrow(widths, columns, o.Width, shortName)
	for total(widths) > o.Width {
		least := -1
		for j, c := range columns {
			if widths[j] > 0 && c.gives > 0 && (least < 0 || c.gives > columns[least].gives) {
				least = j
			}
		}
		if least < 0 {
			break
		}
		widths[least], hidden = 0, append(hidden, columns[least].title)
	}
	narrow(widths, columns, o.Width, shortestName)
	return widths, hidden
}

// narrow takes from the widest columns of names what a table is too wide, but leaves them so much.
func narrow(widths []int, columns []column, room, least int) {
	for total(widths) > room {
		widest := -1
		for j, c := range columns {
			if c.names && widths[j] > max(least, cells(c.title)) &&
				(widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// total returns how wide a table is.
func total(widths []int) (sum int) {
	for _, w := range widths {
		if w > 0 {
			sum += w + len(gap)
		}
	}
	return max(sum-len(gap), 0)
}

func (o Options) row(b *strings.Builder, row []cell, widths []int, columns []column) {
	pad := 0
	for j, c := range row {
		if widths[j] == 0 {
			continue
		}
		text := shortened(c.text, widths[j], columns[j].names)
		if text != "" { // blanks at the end of a line help nobody
			b.WriteString(strings.Repeat(" ", pad) + o.paint(c.style, text))
			pad = 0
		}
		pad += widths[j] - cells(text) + len(gap)
	}
	b.WriteString("\n")
}

// shortened returns a text that takes at most so much room, with a mark where something is left
// out: in the middle of a name, and at the end of other texts.
func shortened(text string, most int, name bool) string {
	if cells(text) <= most {
		return text
	}
	runes := []rune(text)
	tail := 0
	if name {
		tail = most / 2
	}
	head := max(most-1-tail, 0)
	for cells(string(runes[:head]))+1+cells(string(runes[len(runes)-tail:])) > most && head+tail > 0 {
		if head >= tail {
			head--
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// or is a dash for what is empty.
func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
