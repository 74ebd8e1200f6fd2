package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verdict is who noticed a mutant.
type verdict struct {
	tests  string        // of the mutant's package: one that failed, in every run of them
	missed string        // of several runs in which they did not all fail; empty: there is none
	ran    time.Duration // the longest of these runs, without the build
	search string        // what the history and the searches found
	passed string        // a history that the mutant names, and that did not fail
	took   time.Duration // altogether
}

// What stands for the name of who noticed a mutant.
const (
	nobody    = "–"
	notNeeded = "not run" // the tests had noticed it
)

func (v verdict) caught() bool { return v.tests != nobody || v.search != nobody }

// try builds the tests of a mutant's package, and those of its hunts, with the mutant in it, and
// runs them.
func (m *mutant) try(ctx context.Context, dir string, o options) (verdict, error) {
	begun := time.Now()
	overlay, err := m.overlay(dir)
	if err != nil {
		return verdict{}, err
	}
	v, err := unitTests(ctx, m.pkg, dir, o.shuffles, "-overlay", overlay)
	if err != nil {
		return verdict{}, err
	}
	if o.searches != searchNone {
		if err := m.replay(ctx, dir, overlay, &v, o.without); err != nil {
			return verdict{}, err
		}
	}
	switch {
	case o.searches == searchNone, len(hunts[m.pkg]) == 0, v.search != nobody:
	case o.searches == searchNeeded && v.caught():
		v.search = notNeeded
	default:
		if v.search, err = m.hunt(ctx, dir, overlay, v.caught(), o); err != nil {
			return verdict{}, err
		}
	}
	v.took = time.Since(begun)
	return v, nil
}

// replay plays the histories that a mutant names. Each must fail, whatever else does.
func (m *mutant) replay(
	ctx context.Context, dir, overlay string, v *verdict, w *without,
) error {
	var failed []string
	for _, name := range m.histories() {
		binary, err := build(ctx, simulator, dir, "-overlay", overlay)
		if err != nil {
			return err
		}
		history := search{
			pkg:      simulator,
			limit:    testTimeout,
			failures: testFailures,
			args: []string{"-test.run=^TestHistory$/" + name,
				"-test.timeout=" + testTimeout.String()},
		}
		what, err := history.run(ctx, binary)
		if err == nil && what != nobody {
			err = w.look(ctx, history)
		}
		switch {
		case err != nil:
			return err
		case what == nobody:
			v.passed = name
		default:
			failed = append(failed, what)
		}
	}
	if len(failed) > 0 {
		v.search = strings.Join(failed, ", ")
	}
	return nil
}

// hunt runs the searches of a mutant's package, and returns what they found, or nobody.
func (m *mutant) hunt(
	ctx context.Context, dir, overlay string, caught bool, o options,
) (string, error) {
	var found []string
	for _, h := range hunts[m.pkg] {
		if h.last && (caught || len(found) > 0) {
			continue
		}
		binary, err := build(ctx, h.pkg, dir, "-overlay", overlay)
		if err != nil {
			return "", err
		}
		s := search{
			pkg:      h.pkg,
			limit:    h.limit,
			failures: h.failures,
			args:     h.args(m, o.effort),
		}
		what, err := s.run(ctx, binary)
		if err != nil {
			return "", err
		}
		if what == nobody {
			continue
		}
		if err := o.without.look(ctx, s); err != nil {
			return "", err
		}
		found = append(found, h.name+what)
	}
	if len(found) == 0 {
		return nobody, nil
	}
	return strings.Join(found, "; "), nil
}

// unitTests runs the tests of a package that are no searches: once, or so many times in an order
// that is drawn each time. They have noticed the mutant if some test fails in every run.
func unitTests(
	ctx context.Context, pkg, dir string, shuffles int, flags ...string,
) (verdict, error) {
	v := verdict{tests: nobody, search: nobody}
	binary, err := build(ctx, pkg, dir, flags...)
	if err != nil {
		return v, err
	}
	orders := []string{"off"}
	if shuffles > 0 {
		orders = nil
		for i := range shuffles {
			orders = append(orders, strconv.Itoa(i+1)) // the seed of the order, so that it can be repeated
		}
	}
	var found []string
	for _, order := range orders {
		begun := time.Now()
		all := search{
			pkg:      pkg,
			limit:    2 * testTimeout,
			failures: testFailures,
			args: []string{"-test.skip=" + searches, "-test.shuffle=" + order,
				"-test.timeout=" + testTimeout.String()},
		}
		what, err := all.run(ctx, binary)
		if err != nil {
			return v, err
		}
		v.ran = max(v.ran, time.Since(begun))
		if what != nobody {
			found = append(found, what)
		}
	}
	v.missed = missed(found, len(orders))
	if len(found) == len(orders) {
		slices.Sort(found)
		v.tests = strings.Join(slices.Compact(found), ", ")
	}
	return v, nil
}

// testTimeout is how long the tests of a package may take with a mutant. They take seconds: a test
// that never ends fails then, so the mutant is caught, and needs a test that fails sooner.
const testTimeout = 5 * time.Minute

// missed says that tests failed in some runs only.
func missed(found []string, runs int) string {
	if len(found) == 0 || len(found) == runs {
		return ""
	}
	slices.Sort(found)
	return fmt.Sprintf("noticed in %d of %d runs, by %s", len(found), runs,
		strings.Join(slices.Compact(found), ", "))
}

// sound reports an error if the tests of a package fail without a mutant: they would catch each of
// them.
func sound(ctx context.Context, pkg, dir string, shuffles int) error {
	v, err := unitTests(ctx, pkg, dir, shuffles)
	if err == nil && (v.tests != nobody || v.missed != "") {
		err = fmt.Errorf("%s fails without a mutant: %s", pkg, v.tests+v.missed)
	}
	return err
}

// build builds the tests of a package into a directory, if they are not there.
func build(ctx context.Context, pkg, dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	args := append([]string{"test", "-c", "-p", "1", "-ldflags=-s", "-o", binary}, flags...)
	text, err := goIn(ctx, pkg, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	return binary, nil
}

// compiles reports an error if the package does not compile with the mutant.
func (m *mutant) compiles(ctx context.Context, dir string) error {
	overlay, err := m.overlay(dir)
	if err != nil {
		return err
	}
	text, err := goIn(ctx, m.pkg, "build", "-p", "1", "-overlay", overlay).CombinedOutput()
	if err != nil {
		return fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	return nil
}

// goIn is a go command for a package, in the module that the package belongs to.
func goIn(ctx context.Context, pkg string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", append(args, ".")...)
	c.Dir = pkg
	return c
}

// overlay writes the mutated file, and what tells the compiler to use it.
func (m *mutant) overlay(dir string) (string, error) {
	path, text, err := m.apply()
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, m.file)
	if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// search is some of the tests of a package, and how they fail.
type search struct {
	pkg      string
	limit    time.Duration
	failures []*regexp.Regexp
	args     []string
}

// run runs them on one processor and says by which of the patterns they failed, that they did not
// end within the limit, or nobody. Tests that end in any other way say nothing about the mutant:
// that is an error.
func (s search) run(ctx context.Context, binary string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	c := exec.CommandContext(limited, binary, append(slices.Clone(s.args), "-test.failfast")...)
	c.Dir = s.pkg
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	text, err := c.CombinedOutput()
	switch {
	case err == nil:
		return nobody, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "does not end", nil
	}
	for _, p := range s.failures {
		if found := p.FindStringSubmatch(string(text)); found != nil {
			return strings.Join(found[1:], ", "), nil
		}
	}
	return "", fmt.Errorf("the tests ended without a verdict: %w\n%s", err, text)
}
