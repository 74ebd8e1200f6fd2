package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// tableName is the file of a package that lists its mutants:
//
//	== NAME | FILE | HAZARD
//	what is wrong, in a sentence
//	-text of the file that is replaced: it is there exactly once, and may be part of a line
//	+text that replaces it; nothing: the text is deleted
//
// A sentence that ends with "(history: MODE ALGORITHM/NAME)" names a history of internal/sim, or
// several with a "; " between them: each must fail with the mutant.
//
// Lines that belong together are - lines, then + lines. A line that begins with # is a comment. The
// hazard is "equivalent" if the edit does no harm; then the sentence says why, and no test may
// notice it.
const tableName = "mutants.txt"

// mutant is a bug: an edit of a file of a package.
type mutant struct {
	pkg    string // the package's folder
	name   string
	file   string
	hazard string
	why    string
	old    string
	new    string
}

// equivalent reports whether a mutant is listed as one that does no harm.
func (m *mutant) equivalent() bool { return m.hazard == "equivalent" }

var naming = regexp.MustCompile(`\(history: ([^)]+)\)`)

// histories are the tests of the simulator's TestHistory that play how the bug was found.
func (m *mutant) histories() []string {
	if found := naming.FindStringSubmatch(m.why); found != nil {
		return strings.Split(found[1], "; ")
	}
	return nil
}

// tables returns the mutants of all packages below a root that have a table.
func tables(root string) ([]mutant, error) {
	var all []mutant
	seen := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (entry.Name() == "bin" || entry.Name()[0] == '.') {
			return filepath.SkipDir // bin may have another version of the tree
		}
		if entry.IsDir() || entry.Name() != tableName {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // of this very tree
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		found, err := parse(pkg, string(text))
		if err != nil {
			return fmt.Errorf("%s:%w", path, err)
		}
		for _, m := range found {
			if seen[m.name] {
				return fmt.Errorf("%s: two mutants are called %s", path, m.name)
			}
			seen[m.name] = true
		}
		all = append(all, found...)
		return nil
	})
	return all, err
}

// parse reads the table of a package. An error begins with the number of the line.
func parse(pkg, text string) ([]mutant, error) {
	var all []mutant
	for i, line := range strings.Split(text, "\n") {
		var last *mutant
		if len(all) > 0 {
			last = &all[len(all)-1]
		}
		rest, isHead := strings.CutPrefix(line, "== ")
		switch {
		case isHead:
			head := strings.Split(rest, " | ")
			if len(head) != 3 {
				return nil, fmt.Errorf("%d: want == NAME | FILE | HAZARD", i+1)
			}
			if err := last.complete(); err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
			all = append(all, mutant{
				pkg:    pkg,
				name:   head[0],
				file:   head[1],
				hazard: head[2],
			})
		case line == "", strings.HasPrefix(line, "#"):
		case last == nil:
			return nil, fmt.Errorf("%d: before the first mutant there are comments only", i+1)
		case line[0] == '-' && last.new == "":
			last.old += line[1:] + "\n"
		case line[0] == '+' && last.old != "":
			last.new += line[1:] + "\n"
		case last.why == "":
			last.why = line
		default:
			return nil, fmt.Errorf("%d: want one sentence, then - lines, then + lines", i+1)
		}
	}
	for i := range all {
		all[i].old = strings.TrimSuffix(all[i].old, "\n")
		all[i].new = strings.TrimSuffix(all[i].new, "\n")
	}
	if len(all) == 0 {
		return nil, nil
	}
	if err := all[len(all)-1].complete(); err != nil {
		return nil, fmt.Errorf("%d: %w", strings.Count(text, "\n"), err)
	}
	return all, nil
}

// complete reports what is missing of a mutant; nil lacks nothing.
func (m *mutant) complete() error {
	if m != nil && (m.why == "" || m.old == "" || m.old == m.new) {
		return fmt.Errorf("%s: want a sentence and a - line, and what replaces it must differ", m.name)
	}
	return nil
}

// apply returns the file with the mutant in it.
func (m *mutant) apply() (path, mutated string, err error) {
	if path, err = filepath.Abs(filepath.Join(m.pkg, m.file)); err != nil {
		return "", "", err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", "", fmt.Errorf("%s has this text %d times, not once:\n%s",
			filepath.Join(m.pkg, m.file), n, m.old)
	}
	return path, strings.Replace(string(source), m.old, m.new, 1), nil
}
