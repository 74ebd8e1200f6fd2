package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	ruleRow  = regexp.MustCompile(`^\| ((?:V|C|LH|PR|F|MC)\d+) \|`)
	ruleText = regexp.MustCompile(`(?m)^\s*// ((?:V|C|LH|PR|F|MC)\d+)[.:] `)
	goFile   = regexp.MustCompile("`((?:[\\w/]+/)?\\w+\\.go)`")
	folder   = regexp.MustCompile("`(internal/\\w+)`")
)

// TestRules: the text of a rule of the lease protocol, which begins with its number and a period or
// colon, stands once in the tree, in the file that the protocol's page names.
func TestRules(t *testing.T) {
	home := ruleFiles(t)
	written := map[string]string{} // the file of each text
	for _, file := range tracked(t, "internal/*.go", "controllers/*.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range ruleText.FindAllStringSubmatch(read(t, file), -1) {
			rule := found[1]
			switch {
			case written[rule] != "":
				t.Errorf("rule %s has a text in %s and in %s", rule, written[rule], file)
			case home[rule] == "":
				t.Errorf("%s has rule %s, which docs/reference/lease.md does not list", file, rule)
			case home[rule] != file:
				t.Errorf("rule %s is in %s; docs/reference/lease.md says %s", rule, file, home[rule])
			}
			written[rule] = file
		}
	}
	for rule, file := range home {
		if written[rule] == "" {
			t.Errorf("%s has no text of rule %s, which docs/reference/lease.md says is there", file, rule)
		}
	}
}

// ruleFiles are the rules that the page of the protocol lists, and the files that it names for
// them.
func ruleFiles(t *testing.T) map[string]string {
	t.Helper()
	home, section := map[string]string{}, ""
	for line := range strings.Lines(read(t, "docs/reference/lease.md")) {
		if strings.HasPrefix(line, "### ") {
			section = ""
			for _, pattern := range []*regexp.Regexp{folder, goFile} {
				if found := pattern.FindStringSubmatch(line); found != nil {
					section = found[1]
				}
			}
		}
		row := ruleRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		file := section
		if named := goFile.FindStringSubmatch(line); named != nil {
			if file = named[1]; !strings.Contains(file, "/") {
				file = filepath.Join(section, file)
			}
		}
		if !strings.HasSuffix(file, ".go") || home[row[1]] != "" {
			t.Fatalf("docs/reference/lease.md: rule %s: no file is named for it, or two", row[1])
		}
		home[row[1]] = file
	}
	if len(home) == 0 {
		t.Fatal("docs/reference/lease.md lists no rules")
	}
	return home
}
