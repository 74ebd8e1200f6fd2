package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/display"
)

// Sort orders groups: those that need somebody first, then by namespace and name.
func Sort(groups []display.Group) {
	slices.SortFunc(groups, func(a, b display.Group) int {
		return cmp.Or(cmp.Compare(a.State.Severity(), b.State.Severity()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// List returns a line for each group, in the order given.
func List(groups []display.Group, o Options) string {
	var b strings.Builder
	heading := []string{"NAMESPACE", "NAME", "STATE", "COORDINATOR", "SINCE", "RUNNING", "VOTERS",
		"MAY FAIL", "NEXT", "REASON", "EPOCH", "SAFETY", "ALGORITHM", "PRIORITY", "ROSTER"}
	rows := make([][]cell, 0, len(groups))
	for _, g := range groups {
		rows = append(rows, o.group(g))
	}
	o.table(&b, heading, rows)
	return b.String()
}

func (o Options) group(g display.Group) []cell {
	namespace, held, priority := "", "-", "-"
	if o.Namespaces {
		namespace = or(g.Namespace)
	}
	coordinator, epoch := "-", "-"
	if c := g.Coordinator; c != nil {
		coordinator, epoch, priority = c.Name, or(c.Epoch), strconv.Itoa(int(c.Priority))
		if c.Since != nil {
			held = ago(c.Seconds)
		}
	}
	voters, spare := "-", "-"
	if v := g.Voters; v != nil {
		voters, spare = fmt.Sprintf("%d/%d", v.Reporting, v.Total), strconv.Itoa(v.MayFail)
	}
	row := []cell{
		{text: namespace},
		{text: g.Name},
		{text: string(g.State), style: stateStyle(g.State)},
		{text: coordinator},
		{text: held},
		{text: or(g.Running)},
		{text: voters},
		{text: spare},
		{text: or(g.Next.Process)},
		{text: g.Reason, style: stateStyle(g.State)},
	}
	if !o.Wide {
		return append(row, cell{}, cell{}, cell{}, cell{}, cell{})
	}
	return append(row, cell{text: epoch}, cell{text: g.Safety}, cell{text: g.Algorithm},
		cell{text: priority}, cell{text: strconv.FormatInt(g.Generation, 10)})
}
