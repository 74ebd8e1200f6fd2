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
		return cmp.Or(cmp.Compare(severity(a), severity(b)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// severity is that of a group's state, or of the last one that a manager has left.
func severity(g display.Group) int {
	return cmp.Or(g.LastState, g.State).Severity()
}

// List returns a line for each group, in the order given.
func List(groups []display.Group, o Options) string {
	var b strings.Builder
	if len(groups) > 0 && groups[0].State == display.NotUpdated && groups[0].Current != nil {
		o.Stale(&b, *groups[0].Current, "these groups")
	}
	columns := []column{
		{title: "NAMESPACE", names: true},
		{title: "NAME", names: true},
		{title: "STATE"},
		{title: "COORDINATOR", names: true},
		{title: "SINCE", gives: 3},
		{title: "RUNNING", gives: 2},
		{title: "VOTERS", gives: 4},
		{title: "MAY FAIL", gives: 5},
		{title: "NEXT", gives: 6, names: true},
		{title: "REASON", gives: 1},
		{title: "EPOCH"}, {title: "SAFETY"}, {title: "ALGORITHM"}, {title: "PRIORITY"},
		{title: "ROSTER"},
	}
	rows := make([][]cell, 0, len(groups))
	for _, g := range groups {
		rows = append(rows, o.group(g))
	}
	o.table(&b, columns, rows)
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
	reason := g.Reason
	if g.LastState != "" {
		reason = strings.TrimSpace(fmt.Sprintf("was %s %s", g.LastState, reason))
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
		{text: reason, style: stateStyle(g.State)},
	}
	if !o.Wide {
		return append(row, cell{}, cell{}, cell{}, cell{}, cell{})
	}
	return append(row, cell{text: epoch}, cell{text: g.Safety}, cell{text: g.Algorithm},
		cell{text: priority}, cell{text: strconv.FormatInt(g.Generation, 10)})
}
