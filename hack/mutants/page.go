package main

import (
	"fmt"
	"strings"
	"time"
)

const pageHead = `# Mutants

Written by ` + "`make mutants`" +
	`; do not edit. Each row is a bug that was put into the real code, with
the hazard that it stands for; the file ` + "`mutants.txt`" + ` of the package has the edit.

"Tests" is the golden or the unit test of the same package that failed first. With ` +
	"`-shuffles N`" + `
there are N runs in different orders; a test must fail in each of them, and all are named that were
first. "Search" is the history of the simulator that failed (a bug that was found once, played
again), or what a search found: a seed of the simulator with the invariant that it broke (replay it
on the mutant with ` + "`-algorithm … -seed …`" + `). A dash means that this one did not notice. The
tests of the package alone catch every mutant, apart from some of the algorithms, which are left to
the simulator. Only the algorithms and the lease are searched at all%s.

Some of the bugs are real ones that were found in this code before it was released; they are marked
"found". One that is marked "equivalent" does no harm, for the reason that is given, and nothing
notices it.

%d mutants, %d caught, %d equivalent. The simulator had %d seeds of each algorithm concerned, and
ten times as many where nothing else had noticed; a mutant of the lease had %d seeds of each
algorithm in Guarded mode.
`

// titles are the packages whose heading says more than their name.
var titles = map[string]string{
	"internal/election": "The algorithms\n",
	"internal/lease": "Lease\n\n\"Wander\" is a random schedule of three voters on clocks at the " +
		"edge of their bounds, \"explore\" the first\nof every schedule " +
		"(`internal/lease/explore_test.go`), each with the invariant that broke; then a seed of " +
		"the\nGuarded simulator. Rule numbers are those of [lease.md](../reference/lease.md).\n",
}

const tableHead = `
| mutant | hazard | what is wrong | tests | search | time |
|---|---|---|---|---|---|
`

// page is the document with a row for each result, a table for each package.
func page(results []result, o options) string {
	var b strings.Builder
	caught, equivalent := 0, 0
	for _, r := range results {
		switch {
		case r.caught():
			caught++
		case r.equivalent():
			equivalent++
		}
	}
	where := ""
	if o.searches == searchNeeded {
		where = ", and here only where\nthe tests had noticed nothing (`make mutants SEARCHES=all` " +
			"searches for each)"
	}
	fmt.Fprintf(&b, pageHead, where, len(results), caught, equivalent, o.seeds, o.guarded)
	for i, r := range results {
		if i == 0 || results[i-1].pkg != r.pkg {
			title := titles[r.pkg]
			if title == "" {
				title = r.pkg + "\n"
			}
			b.WriteString("\n## " + title + tableHead)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
			r.name, r.hazard, r.why, r.tests, r.search, r.took.Round(100*time.Millisecond))
	}
	return b.String()
}
