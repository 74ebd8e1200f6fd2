package security

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRowIsTried: each row of the threat model names its tests, and every test that
// SECURITY.md and docs/reference/identity.md name exists.
func TestEveryRowIsTried(t *testing.T) {
	root := filepath.Join("..", "..")
	named := regexp.MustCompile("`((?:internal|test|cmd|controllers|client)/[a-z/-]+)`|\\b(Test[A-Z]\\w*)")
	for _, page := range []string{"SECURITY.md", filepath.Join("docs", "reference", "identity.md")} {
		content, err := os.ReadFile(filepath.Join(root, page))
		must(t, err)
		rows, all := 0, 0
		for line := range strings.Lines(string(content)) {
			tests, folder := 0, "test/security"
			for _, found := range named.FindAllStringSubmatch(line, -1) {
				if found[1] != "" {
					folder = found[1]
					continue
				}
				tests++
				if !exists(t, filepath.Join(root, folder), found[2]) {
					t.Errorf("%s names %s, which is not in %s", page, found[2], folder)
				}
			}
			all += tests
			if strings.HasPrefix(line, "| **") {
				if rows++; tests == 0 {
					t.Errorf("%s: no test tries\n%s", page, line)
				}
			}
		}
		if all == 0 || page == "SECURITY.md" && rows == 0 {
			t.Errorf("%s: %d rows and %d tests were found: has the page another form?", page, rows, all)
		}
	}
}

func exists(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	must(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(content), "func "+test+"(") {
			return true
		}
	}
	return false
}
