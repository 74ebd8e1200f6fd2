package main

import (
	"context"
	_ "embed" // how the page begins
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// pageHead is how the page begins, with the numbers of mutants: all, caught, equivalent, not tried.
//
//go:embed page.md.tmpl
var pageHead string

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
		case m.equivalent():
			equivalent++
		default:
			caught++
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
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := trials(string(text))
	for _, r := range results {
		switch {
		case r.sound():
			known[r.name] = trial{r.tests, r.search, tried}
		case r.err == nil: // what the page says of it is not so any more
			delete(known, r.name)
		}
	}
	return os.WriteFile(file, []byte(page(all, known)), 0o644)
}

// now is the day and the commit, as the page has it.
func now(ctx context.Context) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "", fmt.Errorf("git describe: %w", err)
	}
	return time.Now().UTC().Format(time.DateOnly) + " " + strings.TrimSpace(string(commit)), nil
}
