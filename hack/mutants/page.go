package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

const pageHead = `# Mutants

Written by ` + "`make mutants`" + `; do not edit. Each row is a bug that was put into the real code, with
the hazard that it stands for; the file ` + "`mutants.txt`" + ` of the package has the edit. The command
replaces the rows of those that it has tried, and a night tries some. "Tried" is when that was, and
at which commit.

"Tests" is the golden or the unit test of the same package that failed first. With ` +
	"`SHUFFLES=N`" + `
there are N runs in different orders; a test must fail in each of them, and all are named that were
first. "Search" is the history of the simulator that failed (a bug that was found once, played
again), or what a search found: a seed of the simulator with the invariant that it broke (replay it
on the mutant with ` + "`-algorithm … -seed …`" + `). A dash means that this one did not notice, and "not
run" that the tests had noticed already (` + "`make mutants SEARCHES=all`" + ` searches for each). The tests
of the package alone catch every mutant, apart from some of the algorithms, which are left to the
simulator. Only the algorithms and the lease are searched at all.

Some of the bugs are real ones that were found in this code before it was released; they are marked
"found". One that is marked "equivalent" does no harm, for the reason that is given, and nothing
notices it.

%d mutants: %d caught, %d equivalent, %d not tried yet.
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
| mutant | hazard | what is wrong | tests | search | tried |
|---|---|---|---|---|---|
`

// trial is what the last trial of a mutant found.
type trial struct{ tests, search, tried string }

// untried is the trial of a mutant that was not tried yet.
var untried = trial{tried: "not yet"}

// caught reports whether something noticed the mutant.
func (t trial) caught() bool { return t.tests+t.search != "" && t.tests+t.search != nobody+nobody }

// trials reads what a page says of each mutant.
func trials(page string) map[string]trial {
	all := make(map[string]trial)
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 6 && cells[0] != "mutant" {
			all[cells[0]] = trial{cells[3], cells[4], cells[5]}
		}
	}
	return all
}

// page is the document with a row for each mutant, a table for each package.
func page(mutants []mutant, known map[string]trial) string {
	var b strings.Builder
	caught, equivalent, waiting := 0, 0, 0
	for i, m := range mutants {
		t, ok := known[m.name]
		if !ok {
			t = untried
		}
		switch {
		case t == untried:
			waiting++
		case t.caught():
			caught++
		default:
			equivalent++
		}
		if i == 0 || mutants[i-1].pkg != m.pkg {
			title := titles[m.pkg]
			if title == "" {
				title = m.pkg + "\n"
			}
			b.WriteString("\n## " + title + tableHead)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n",
			m.name, m.hazard, m.why, t.tests, t.search, t.tried)
	}
	return fmt.Sprintf(pageHead, len(mutants), caught, equivalent, waiting) + b.String()
}

// keep writes what came of mutants into the page, beside what it has of the others.
func keep(file string, all []mutant, results []result, tried string) error {
	text, err := os.ReadFile(file) //nolint:gosec // of this very tree
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := trials(string(text))
	for _, r := range results {
		if r.sound() {
			known[r.name] = trial{r.tests, r.search, tried}
		}
	}
	//nolint:gosec // documentation is no secret
	return os.WriteFile(file, []byte(page(all, known)), 0o644)
}

// now is the day and the commit, as the page has it.
func now() (string, error) {
	commit, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w", err)
	}
	return time.Now().UTC().Format(time.DateOnly) + " " + strings.TrimSpace(string(commit)), nil
}
