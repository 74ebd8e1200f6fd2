// Command mutants puts known bugs into internal/election, one at a time, and sees whether the tests notice: the goldens and
// unit tests, and the simulator. It changes nothing in the tree: the compiler is given the mutant as an overlay.
//
//	go run ./hack/mutants [-o docs/mutants.md] [-only NAME]
//
// It fails if a mutant survives, or if the text that a mutant replaces is not in the code exactly once (then the list wants
// mending).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const pkg = "internal/election"

func main() {
	out := flag.String("o", "", "write the table to this file as well")
	only := flag.String("only", "", "try only mutants whose name has this in it")
	check := flag.Bool("check", false, "only see that the mutants compile")
	seeds := flag.Int("seeds", 3000, "how many seeds of each algorithm the simulator has for a mutant")
	flag.Parse()
	if err := run(*out, *only, *seeds, *check); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(out, only string, seeds int, check bool) (err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var table strings.Builder
	survived := 0
	begun := time.Now()
	tried := 0
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		if tried++; check {
			if err := m.compiles(dir); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			continue
		}
		v, err := m.try(dir, seeds)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if !v.caught() {
			survived++
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", m.name, m.hazard, m.why, v.tests, v.simulator, v.took.Round(100*time.Millisecond))
		fmt.Print(row)
		table.WriteString(row)
	}
	if check {
		fmt.Printf("%d mutants compile\n", tried)
		return nil
	}
	fmt.Printf("%d mutants, %d survived, %s\n", tried, survived, time.Since(begun).Round(time.Second))
	if out != "" {
		page := fmt.Sprintf(head, tried, tried-survived, seeds) + table.String()
		if err := os.WriteFile(out, []byte(page), 0o644); err != nil {
			return err
		}
	}
	if survived > 0 {
		return fmt.Errorf("%d survived: strengthen a test, or say why it does no harm and take it off the list", survived)
	}
	return nil
}

const head = `# Mutants

Written by ` + "`make mutants`" + `; do not edit. Each row is a bug that was put into the real code of ` + "`internal/election`" + `
(` + "`hack/mutants/list.go`" + ` has the edits), with the hazard it stands for. "Tests" is the first golden or unit test that
failed; "simulator" is a seed that failed, with the invariant it broke (replay it on the mutant with
` + "`-algorithm … -seed …`" + `). A dash: that one did not notice. Some of the bugs are real ones that the simulator found in this code before
it was released; they are marked "found".

%d mutants, %d caught; the simulator had %d seeds of each algorithm concerned, and ten times as many where the tests had noticed
nothing.

| mutant | hazard | what is wrong | tests | simulator | time |
|---|---|---|---|---|---|
`

// verdict is who noticed a mutant.
type verdict struct {
	tests, simulator string
	took             time.Duration
}

const nobody = "–"

func (v verdict) caught() bool { return v.tests != nobody || v.simulator != nobody }

func (m mutant) compiles(dir string) error {
	overlay, err := m.overlay(dir)
	if err != nil {
		return err
	}
	return build("build", "-overlay", overlay, "./"+pkg)
}

// build runs the go command.
func build(args ...string) error {
	text, err := exec.CommandContext(context.Background(), "go", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	return nil
}

// try builds the tests with a mutant, and runs them.
func (m mutant) try(dir string, seeds int) (verdict, error) {
	begun := time.Now()
	overlay, err := m.overlay(dir)
	if err != nil {
		return verdict{}, err
	}
	binary := filepath.Join(dir, "mutant.test")
	if err := build("test", "-c", "-overlay", overlay, "-o", binary, "./"+pkg); err != nil {
		return verdict{}, err
	}
	v := verdict{tests: nobody, simulator: nobody}
	if v.tests, err = test(binary, testFailures, "-test.skip=TestSimulate|TestSeedsThatFailed|TestSameSeed|TestExplore|TestChaos|Fuzz"); err != nil {
		return verdict{}, err
	}
	if v.simulator, err = m.simulate(binary, seeds); err == nil && !v.caught() {
		v.simulator, err = m.simulate(binary, 10*seeds)
	}
	v.took = time.Since(begun)
	return v, err
}

var (
	testFailures = []*regexp.Regexp{
		regexp.MustCompile(`--- FAIL: (\S+/\S+)`), regexp.MustCompile(`--- FAIL: (\S+)`), regexp.MustCompile(`(panic: .*)`),
	}
	seedFailures = []*regexp.Regexp{regexp.MustCompile(`(\w+ seed \d+) at \d+: ([^:]*):`), regexp.MustCompile(`(panic: .*)`)}
)

// algorithms are those whose page is in a file; a mutant of another file is one of all algorithms.
var algorithms = map[string]string{
	"bully.go": "Bully", "statustable.go": "StatusTableBully", "lelann.go": "LeLann", "changroberts.go": "ChangRoberts",
	"ringlist.go": "RingList", "activelist.go": "ActiveListRing",
}

// simulate says which seed notices a mutant.
func (m mutant) simulate(binary string, seeds int) (string, error) {
	return test(binary, seedFailures, "-test.run=TestSimulate", "-algorithm="+algorithms[m.file], fmt.Sprint("-seeds=", seeds),
		"-failures=1", "-lines=0")
}

// overlay writes the mutated file, and what tells the compiler to use it.
func (m mutant) overlay(dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(pkg, m.file))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s has this text %d times, not once:\n%s", m.file, n, m.old)
	}
	mutated := filepath.Join(dir, m.file)
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// limit is how long a mutant may take: one that does not end is caught, too.
const limit = 5 * time.Minute

// test runs tests and says by which of the patterns they failed, or nobody. Tests that end in any other way say nothing about
// the mutant: that is an error.
func test(binary string, failures []*regexp.Regexp, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, binary, append(args, "-test.failfast")...)
	c.Dir = pkg
	text, err := c.CombinedOutput()
	switch {
	case err == nil:
		return nobody, nil
	case ctx.Err() != nil:
		return "does not end", nil
	}
	for _, p := range failures {
		if found := p.FindStringSubmatch(string(text)); found != nil {
			return strings.Join(found[1:], ", "), nil
		}
	}
	return "", fmt.Errorf("the tests ended without a verdict: %w\n%s", err, text)
}
