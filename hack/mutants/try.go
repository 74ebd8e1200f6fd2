package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// suite is a package with its mutants, and what is tried on them besides its goldens and unit tests.
type suite struct {
	pkg     string
	head    string // of its table
	mutants []mutant
	long    string // tests that are no unit tests
	hunt    func(s *suite, m mutant, dir string, e effort, caught bool) (string, error)
}

var suites = []*suite{
	{"internal/election", electionHead, mutants, "TestSimulate|TestSeedsThatFailed|TestSameSeed|TestExplore|TestChaos|Fuzz", huntElection},
	{"internal/lease", leaseHead, leaseMutants, "TestWander|TestExplore|Fuzz", huntLease},
}

// response is who noticed a mutant.
type response struct {
	tests, simulator string
	took             time.Duration
}

const nobody = "–"

func (v response) caught() bool { return v.tests != nobody || v.simulator != nobody }

func (s *suite) compiles(m mutant, dir string) error {
	overlay, err := s.overlay(m, dir)
	if err != nil {
		return err
	}
	return build("build", "-overlay", overlay, "./"+s.pkg)
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
func (s *suite) try(m mutant, dir string, e effort) (response, error) {
	begun := time.Now()
	binary, err := s.binary(m, s.pkg, dir)
	if err != nil {
		return response{}, err
	}
	v := response{tests: nobody, simulator: nobody}
	if v.tests, err = test(binary, s.pkg, testFailures, "-test.skip="+s.long); err != nil {
		return response{}, err
	}
	v.simulator, err = s.hunt(s, m, dir, e, v.caught())
	v.took = time.Since(begun)
	return v, err
}

// sound sees that the tests pass without a mutant: else they would catch each of them.
func (s *suite) sound(dir string) error {
	binary := filepath.Join(dir, "sound.test")
	if err := build("test", "-c", "-o", binary, "./"+s.pkg); err != nil {
		return err
	}
	found, err := test(binary, s.pkg, testFailures, "-test.skip="+s.long)
	if err == nil && found != nobody {
		err = fmt.Errorf("%s: %s fails without a mutant", s.pkg, found)
	}
	return err
}

// binary builds the tests of a package with a mutant.
func (s *suite) binary(m mutant, pkg, dir string) (string, error) {
	overlay, err := s.overlay(m, dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, filepath.Base(pkg)+".test")
	return binary, build("test", "-c", "-overlay", overlay, "-o", binary, "./"+pkg)
}

var (
	testFailures = []*regexp.Regexp{
		regexp.MustCompile(`--- FAIL: (\S+/\S+)`), regexp.MustCompile(`--- FAIL: (\S+)`), regexp.MustCompile(`(panic: .*)`),
	}
	seedFailures    = []*regexp.Regexp{regexp.MustCompile(`(\w+ seed \d+) at \d+: ([^:]*):`), regexp.MustCompile(`(panic: .*)`)}
	wanderFailures  = []*regexp.Regexp{regexp.MustCompile(`(seed \d+): (G\d+)`), regexp.MustCompile(`(panic: .*)`)}
	exploreFailures = []*regexp.Regexp{regexp.MustCompile(`explore_test.go:\d+: (G\d+)`), regexp.MustCompile(`(panic: .*)`)}
)

// algorithms are those whose page is in a file; a mutant of another file is one of all algorithms.
var algorithms = map[string]string{
	"bully.go": "Bully", "statustable.go": "StatusTableBully", "lelann.go": "LeLann", "changroberts.go": "ChangRoberts",
	"ringlist.go": "RingList", "activelist.go": "ActiveListRing",
}

// huntElection says which seed notices a mutant.
func huntElection(s *suite, m mutant, dir string, e effort, caught bool) (string, error) {
	binary := filepath.Join(dir, filepath.Base(s.pkg)+".test")
	simulate := func(seeds int) (string, error) {
		return test(binary, s.pkg, seedFailures, "-test.run=^TestSimulate$/Classic", "-algorithm="+algorithms[m.file], fmt.Sprint("-seeds=", seeds),
			"-failures=1", "-lines=0")
	}
	found, err := simulate(e.seeds)
	if err == nil && !caught && found == nobody {
		return simulate(10 * e.seeds)
	}
	return found, err
}

// huntLease says which random schedule notices a mutant, or else the exploration; and which seed of the Guarded simulator.
func huntLease(s *suite, m mutant, dir string, e effort, caught bool) (string, error) {
	binary := filepath.Join(dir, filepath.Base(s.pkg)+".test")
	var all []string
	found, err := test(binary, s.pkg, wanderFailures, "-test.run=TestWander", fmt.Sprint("-wanders=", e.wanders))
	if err != nil {
		return "", err
	}
	if found != nobody {
		all = append(all, "wander "+found)
	} else if !caught {
		if found, err = test(binary, s.pkg, exploreFailures, "-test.run=TestExplore", "-states=30000"); err != nil {
			return "", err
		}
		if found != nobody {
			all = append(all, "explore "+found)
		}
	}
	if e.guarded > 0 {
		const simulator = "internal/election"
		if binary, err = s.binary(m, simulator, dir); err != nil {
			return "", err
		}
		found, err = test(binary, simulator, seedFailures, "-test.run=^TestSimulate$/Guarded", fmt.Sprint("-seeds=", e.guarded), "-failures=1", "-lines=0")
		if err != nil {
			return "", err
		}
		if found != nobody {
			all = append(all, found)
		}
	}
	if len(all) == 0 {
		return nobody, nil
	}
	return strings.Join(all, "; "), nil
}

// overlay writes the mutated file, and what tells the compiler to use it.
func (s *suite) overlay(m mutant, dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(s.pkg, m.file))
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

// limit is how long a mutant may take: one that does not end is caught, too. It is far above what a busy machine takes.
const limit = 20 * time.Minute

// test runs tests of a package and says by which of the patterns they failed, or nobody. Tests that end in any other way say nothing about
// the mutant: that is an error.
func test(binary, pkg string, failures []*regexp.Regexp, args ...string) (string, error) {
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
	return "", fmt.Errorf("the tests ended without a response: %w\n%s", err, text)
}
