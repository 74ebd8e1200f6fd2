package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var plain = regexp.MustCompile("(?m)(?:^ {4,}|`)(kubectl [^`\n]+)")

// TestKubectlOfTheRunbooks: each command of plain kubectl that a runbook names exists, with these
// flags. (cmd/kubectl-election looks up those of the plugin.)
func TestKubectlOfTheRunbooks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*.md"))
	must(t, err)
	options, commands, help := runs(t, "", "kubectl options"), 0, map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		must(t, err)
		for _, found := range plain.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(found[1], " |")
			words := strings.Fields(line)
			if words[1] == "election" {
				continue
			}
			commands++
			name := words[1]
			if name == "rollout" {
				name += " " + words[2]
			}
			if help[name] == "" {
				help[name] = runs(t, "", "kubectl "+name+" --help")
			}
			if !strings.Contains(help[name], "kubectl "+name+" ") {
				t.Errorf("%s: there is no %s in %s", page, name, line)
			}
			for _, word := range words[2:] {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && !offers(help[name]+options, flag+"=") ||
					strings.HasPrefix(flag, "-") && !strings.HasPrefix(flag, "--") && !offers(help[name]+options, flag+", ") {
					t.Errorf("%s: kubectl %s has no flag %s", page, name, flag)
				}
			}
		}
	}
	if commands < 20 {
		t.Errorf("the runbooks name %d commands of kubectl", commands)
	}
	if offers(options, "--nonsense=") {
		t.Error("every flag is taken for one")
	}
}

// offers reports whether a help text lists a flag.
func offers(help, flag string) bool { return strings.Contains(help, " "+flag) }
