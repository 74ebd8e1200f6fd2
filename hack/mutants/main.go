// Command mutants puts known bugs into internal/election and internal/lease, one at a time, and sees whether the tests notice: the
// goldens and unit tests, the simulator, and for lease random schedules and the exploration of every schedule. It changes nothing in
// the tree: the compiler is given the mutant as an overlay.
//
//	go run ./hack/mutants [-o docs/mutants.md] [-only NAME]
//
// It fails if a mutant survives, or if the text that a mutant replaces is not in the code exactly once (then the list wants
// mending).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "", "write the table to this file as well")
	only := flag.String("only", "", "try only mutants whose name has this in it")
	of := flag.String("package", "", "try only mutants of this package: internal/election or internal/lease")
	check := flag.Bool("check", false, "only see that the mutants compile")
	seeds := flag.Int("seeds", 3000, "how many seeds of each algorithm the simulator has for a mutant of an algorithm")
	guarded := flag.Int("guarded", 300, "how many seeds of each algorithm the Guarded simulator has for a mutant of lease; 0: leave it out")
	wanders := flag.Int("wanders", 2000, "how many random schedules a mutant of lease gets")
	flag.Parse()
	if err := run(*out, *of, *only, effort{*seeds, *wanders, *guarded}, *check); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// effort is how many seeds a mutant gets.
type effort struct{ seeds, wanders, guarded int }

func run(out, of, only string, e effort, check bool) (err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var page strings.Builder
	sum := tally{}
	begun := time.Now()
	for _, s := range suites {
		if of != "" && of != s.pkg {
			continue
		}
		table, err := s.run(dir, only, e, check, &sum)
		if err != nil {
			return err
		}
		page.WriteString(s.head + table)
	}
	if check {
		fmt.Printf("%d mutants compile\n", sum.tried)
		return nil
	}
	fmt.Printf("%d mutants, %d survived, %s\n", sum.tried, sum.survived, time.Since(begun).Round(time.Second))
	if out != "" {
		text := fmt.Sprintf(head, sum.tried, sum.tried-sum.survived, e.seeds, e.guarded) + page.String()
		if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if sum.survived > 0 {
		return fmt.Errorf("%d survived: strengthen a test, or say why it does no harm and take it off the list", sum.survived)
	}
	return nil
}

// tally is how many mutants there were.
type tally struct{ tried, survived int }

// run tries the mutants of a package whose name has a text in it, and returns a row for each.
func (s *suite) run(dir, only string, e effort, check bool, sum *tally) (string, error) {
	var table strings.Builder
	if !check {
		if err := s.sound(dir); err != nil {
			return "", err
		}
	}
	for _, m := range s.mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		if sum.tried++; check {
			if err := s.compiles(m, dir); err != nil {
				return "", fmt.Errorf("%s: %w", m.name, err)
			}
			continue
		}
		v, err := s.try(m, dir, e)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
		if !v.caught() {
			sum.survived++
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", m.name, m.hazard, m.why, v.tests, v.simulator, v.took.Round(100*time.Millisecond))
		fmt.Print(row)
		table.WriteString(row)
	}
	return table.String(), nil
}

const head = `# Mutants

Written by ` + "`make mutants`" + `; do not edit. Each row is a bug that was put into the real code of ` + "`internal/election`" + ` or ` + "`internal/lease`" + `
(` + "`hack/mutants/list.go`" + ` and ` + "`lease.go`" + ` have the edits), with the hazard it stands for. "Tests" is the first golden or unit test that
failed; "simulator" is a seed that failed, with the invariant it broke (replay it on the mutant with
` + "`-algorithm … -seed …`" + `). A dash: that one did not notice. Some of the bugs are real ones that were found in this code before
it was released; they are marked "found".

%d mutants, %d caught; the simulator had %d seeds of each algorithm concerned, and ten times as many where the tests had noticed
nothing. A mutant of lease had %d seeds of each algorithm in Guarded mode.
`

const electionHead = `
## The algorithms

| mutant | hazard | what is wrong | tests | simulator | time |
|---|---|---|---|---|---|
`

const leaseHead = `
## Lease

"Wander" is a random schedule of three voters on clocks at the edge of their bounds, "explore" the first of every schedule
(` + "`internal/lease/explore_test.go`" + `), each with the invariant that broke; then a seed of the Guarded simulator. Rule numbers are those of
[lease.md](lease.md).

| mutant | hazard | what is wrong | tests | simulator | time |
|---|---|---|---|---|---|
`
