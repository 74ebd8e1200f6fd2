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

// verdict is who noticed a mutant.
type verdict struct {
	tests, search string
	took          time.Duration
}

const nobody = "–"

func (v verdict) caught() bool { return v.tests != nobody || v.search != nobody }

// try builds the tests of a mutant's package, and those of its hunts, with the mutant in it, and runs them.
func (m *mutant) try(ctx context.Context, dir string, e effort) (verdict, error) {
	begun := time.Now()
	overlay, err := m.overlay(dir)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{tests: nobody, search: nobody}
	if v.tests, err = unitTests(ctx, m.pkg, dir, "-overlay", overlay); err != nil {
		return verdict{}, err
	}
	var found []string
	for _, h := range hunts[m.pkg] {
		if h.last && (v.caught() || len(found) > 0) {
			continue
		}
		binary, err := build(ctx, h.pkg, dir, "-overlay", overlay)
		if err != nil {
			return verdict{}, err
		}
		what, err := test(ctx, binary, h.pkg, h.failures, h.args(m, e)...)
		if err != nil {
			return verdict{}, err
		}
		if what != nobody {
			found = append(found, h.name+what)
		}
	}
	if len(found) > 0 {
		v.search = strings.Join(found, "; ")
	}
	v.took = time.Since(begun)
	return v, nil
}

// unitTests runs the tests of a package that are no searches.
func unitTests(ctx context.Context, pkg, dir string, flags ...string) (string, error) {
	binary, err := build(ctx, pkg, dir, flags...)
	if err != nil {
		return "", err
	}
	return test(ctx, binary, pkg, testFailures, "-test.skip="+searches)
}

// sound reports an error if the tests of a package fail without a mutant: they would catch each of them.
func sound(ctx context.Context, pkg, dir string) error {
	found, err := unitTests(ctx, pkg, dir)
	if err == nil && found != nobody {
		err = fmt.Errorf("%s: %s fails without a mutant", pkg, found)
	}
	return err
}

// build builds the tests of a package into a directory, if they are not there.
func build(ctx context.Context, pkg, dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	args := append([]string{"test", "-c", "-p", "1", "-o", binary}, flags...)
	text, err := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...).CombinedOutput()
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
	text, err := exec.CommandContext(ctx, "go", "build", "-p", "1", "-overlay", overlay, "./"+m.pkg).CombinedOutput()
	if err != nil {
		return fmt.Errorf("does not compile: %w\n%s", err, text)
	}
	return nil
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

// limit is how long a mutant may take: one that does not end is caught, too. It is far above what a busy
// machine takes.
const limit = 20 * time.Minute

// test runs tests of a package on one processor and says by which of the patterns they failed, or nobody.
// Tests that end in any other way say nothing about the mutant: that is an error.
func test(ctx context.Context, binary, pkg string, failures []*regexp.Regexp, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(limited, binary, append(args, "-test.failfast")...)
	c.Dir = pkg
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
	for _, p := range failures {
		if found := p.FindStringSubmatch(string(text)); found != nil {
			return strings.Join(found[1:], ", "), nil
		}
	}
	return "", fmt.Errorf("the tests ended without a verdict: %w\n%s", err, text)
}
