// Package docs checks the pages of this repository: what they refer to exists.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const root = ".."

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	anchorID = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// what generated pages say of themselves; a guide may tell its reader not to edit something
	notToEdit = regexp.MustCompile(`(?i)[;.] do not edit\.`)
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	dropped   = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	page      = regexp.MustCompile(`\bdocs/[\w/-]+\.(?:md|svg)\b`)
	retired   = regexp.MustCompile(`(?i)\b(?:tenures?|petitions?|nominees?|soundings?|incumbents?)\b`)
)

// TestLinks follows every relative link of every page, and every anchor.
func TestLinks(t *testing.T) {
	for _, file := range tracked(t, "*.md") {
		if strings.Contains(file, "/testdata/") {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(prose(t, file), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", file, found[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, path), anchor) {
				t.Errorf("%s links to %s, and %s has no such heading", file, found[1], path)
			}
		}
	}
}

// TestMentions looks up every page that code, manifests and pages mention by its path.
func TestMentions(t *testing.T) {
	for _, file := range tracked(t, "*.go", "*.md", "*.yaml", "*.txt", "*.tmpl", "Makefile") {
		for _, path := range page.FindAllString(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s mentions %s, which does not exist", file, path)
			}
		}
	}
}

// TestRetiredWords: pages use the glossary's words. What a word replaced is named there only, and
// in the decision that the word came with.
func TestRetiredWords(t *testing.T) {
	for _, file := range tracked(t, "*.md") {
		if generated(read(t, file)) || strings.Contains(file, "/testdata/") ||
			file == "docs/glossary.md" || file == "docs/adr/0003-lease.md" {
			continue
		}
		for _, word := range retired.FindAllString(prose(t, file), -1) {
			t.Errorf("%s says %q: docs/glossary.md has the word to use instead", file, word)
		}
	}
}

// anchors are the anchors of a page, by GitHub's rules.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	text := prose(t, path)
	var all []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		slug := dropped.ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(strings.TrimSpace(slug), " ", "-"))
	}
	for _, found := range anchorID.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// generated reports whether a program wrote a page. Whatever writes it checks it.
func generated(text string) bool { return notToEdit.MatchString(text) }

// prose is a page without its code blocks.
func prose(t *testing.T, path string) string {
	t.Helper()
	return fence.ReplaceAllString(read(t, path), "")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tracked lists the files of the repository that match a pattern, by their paths from its root.
func tracked(t *testing.T, patterns ...string) []string {
	t.Helper()
	list := exec.Command("git", append([]string{"ls-files", "--"}, patterns...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	files := strings.Fields(string(out))
	if len(files) == 0 {
		t.Fatalf("no file matches %v", patterns)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(filepath.Join(root, file))
		return err != nil // deleted, and not committed yet
	})
}

// TestLinesEndAt100Columns: prose is read beside other things. Rows of tables, pictures, links and
// code stay whole.
func TestLinesEndAt100Columns(t *testing.T) {
	for _, file := range tracked(t, "*.md") {
		text := prose(t, file)
		if generated(text) || strings.Contains(file, "/testdata/") {
			continue
		}
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			whole := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") ||
				strings.HasPrefix(line, "!") || !strings.Contains(strings.TrimSpace(line), " ")
			if utf8.RuneCountInString(line) > 100 && !whole {
				t.Errorf("%s: a line of more than 100 columns: %s", file, line)
			}
		}
	}
}
