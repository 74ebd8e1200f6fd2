package page

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/test/chaos/report"
)

// problems are all that a report calls wrong: its own list, then strikes that are not OK, then
// broken rules. The same thing may be there in other words twice: better than to take two for one.
func problems(run report.Run) []string {
	all := slices.Clone(run.Problems)
	for _, s := range run.Strikes {
		if s.OK {
			continue
		}
		what := s.Problem
		if what == "" {
			what = "not OK, and the report does not say why"
		}
		all = append(all, fmt.Sprintf("second %.1f, %s, %s: %s", s.Second, struck(s), s.Group, what))
	}
	for _, g := range run.Groups {
		for _, v := range g.Became.Violations {
			all = append(all, fmt.Sprintf("%s: %s: %s", g.Name, v.Rule, v.Text))
		}
	}
	var once []string
	for _, p := range all {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return once
}

// struck is what was done, and to whom.
func struck(s report.Strike) string {
	if s.Victim == "" {
		return s.Fault
	}
	return s.Fault + " of " + s.Victim
}
