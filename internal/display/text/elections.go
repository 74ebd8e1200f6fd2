package text

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/display"
)

// maxElections is how many elections are shown unless all are asked for.
const maxElections = 3

// elections writes the last elections, newest first.
func (o Options) elections(b *strings.Builder, g display.Group) {
	shown := g.Elections
	if !o.Wide {
		shown = shown[:min(len(shown), maxElections)]
	}
	columns := []column{
		{title: "ELECTED", names: true},
		{title: "AGO"},
		{title: "AFTER", names: true},
		{title: "EPOCH", gives: 3},
		{title: "CALLED BY", gives: 4, names: true},
		{title: "REASON", gives: 1},
		{title: "MESSAGES", gives: 5},
		{title: "TOOK", gives: 2},
		{title: "ALGORITHM"},
	}
	rows := make([][]cell, 0, len(shown))
	for _, e := range shown {
		rows = append(rows, o.election(e))
	}
	o.table(b, columns, rows)
	if rest := len(g.Elections) - len(shown); rest > 0 {
		o.hang(b, "", "… ", faint, fmt.Sprintf("%d earlier; -o wide shows them", rest))
	}
}

func (o Options) election(e display.Election) []cell {
	row := []cell{
		{text: e.To},
		{text: "-"},
		{text: or(e.From)},
		{text: e.Epoch},
		{text: or(e.Initiator)},
		{text: or(e.Reason)},
		{text: "-"},
		{text: "-"},
		{},
	}
	if e.At != nil {
		row[1].text = ago(e.Seconds)
	}
	if e.Messages != nil {
		row[6].text = messages(*e.Messages, e.AtMost)
	}
	if e.Milliseconds != nil {
		row[7].text = fmt.Sprintf("%d ms", *e.Milliseconds)
	}
	if o.Wide {
		row[8].text = or(e.Algorithm)
	}
	return row
}

// messages writes how many messages an election took, and how many one takes by the algorithm's
// page if that is known: 18/24.
func messages(sent int32, atMost *int32) string {
	if atMost == nil {
		return strconv.Itoa(int(sent))
	}
	return fmt.Sprintf("%d/%d", sent, *atMost)
}
