package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// runbooks are the runbooks of alerts, and their list.
func runbooks(t *testing.T) (alerts []string, list string) {
	t.Helper()
	alerts, err := filepath.Glob("../../docs/runbooks/Podesta*.md")
	if err != nil || len(alerts) == 0 {
		t.Fatalf("no runbooks: %v", err)
	}
	return alerts, "../../docs/runbooks/README.md"
}

// TestExamplesOfThePages runs the command lines that pages show, those of observe.md and of the
// runbooks against the groups of the goldens. -rewrite writes what they print now.
func TestExamplesOfThePages(t *testing.T) {
	groups := append(readGroupFiles(t), tracedGroups(t)...)
	in := around(fakeCluster(t, interceptor.Funcs{}, groups...))
	checkPicture(t, in, "trace scheduler -n prod -o svg", "../../docs/guides/election.svg")
	pages := []string{"../../docs/guides/simulate.md", "../../docs/guides/observe.md"}
	alerts, _ := runbooks(t)
	for _, page := range alerts {
		if text, err := os.ReadFile(page); err == nil && strings.Contains(string(text), "$ kubectl election") {
			pages = append(pages, page)
		}
	}
	if len(pages) < 8 {
		t.Errorf("few runbooks show what the command prints: %v", pages)
	}
	for _, page := range pages {
		compareExamples(t, page, func(arguments string) string {
			out, _, err := runIn(t.Context(), in, arguments)
			if err != nil {
				t.Fatalf("%s: %s: %v", page, arguments, err)
			}
			return out
		})
	}
}

// compareExamples compares the examples of a page with what the commands print.
func compareExamples(t *testing.T, page string, run func(arguments string) string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	parts := strings.Split(string(text), "```\n")
	examples := 0
	for i, part := range parts {
		line, _, _ := strings.Cut(part, "\n")
		arguments, ok := strings.CutPrefix(line, "$ kubectl election ")
		if i%2 == 0 || !ok {
			continue
		}
		examples++
		if want := line + "\n" + run(arguments); part != want {
			parts[i] = want
			if !rewrite {
				t.Errorf("%s is stale; see what changed with go test ./cmd/kubectl-election -rewrite && "+
					"git diff docs\n%s", page, want)
			}
		}
	}
	if examples == 0 {
		t.Errorf("%s shows no example", page)
	}
	if fresh := strings.Join(parts, "```\n"); rewrite && fresh != string(text) {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPicture compares a picture of a page with what a command line draws.
func checkPicture(t *testing.T, in surroundings, line, file string) {
	t.Helper()
	drawn, _, err := runIn(t.Context(), in, line)
	if err != nil {
		t.Fatal(err)
	}
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != drawn {
		t.Errorf("%s is stale (%v): go test ./cmd/kubectl-election -rewrite", file, err)
	}
}

var (
	quoted = regexp.MustCompile("`(kubectl election [^`\n]+)`")
	typed  = regexp.MustCompile(`(?m)^ {4,}(kubectl election .+)$`)
)

// TestCommandsOfTheRunbooks: each command of the plugin that a runbook names exists, has these flags,
// and takes as many arguments. Somebody who was woken up copies them.
func TestCommandsOfTheRunbooks(t *testing.T) {
	alerts, list := runbooks(t)
	all := 0
	for _, page := range append(alerts, list, "../../docs/guides/on-call.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []*regexp.Regexp{quoted, typed} {
			for _, found := range pattern.FindAllStringSubmatch(string(text), -1) {
				all++
				if err := understood(found[1]); err != nil {
					t.Errorf("%s: %s: %v", page, found[1], err)
				}
			}
		}
	}
	if all < 5 {
		t.Errorf("the runbooks name %d commands", all)
	}
	for _, wrong := range []string{"kubectl election show g", "kubectl election status g --most",
		"kubectl election forget -n x", "kubectl election explain g h"} {
		if understood(wrong) == nil {
			t.Errorf("%s is taken for a command", wrong)
		}
	}
}

// understood returns why the plugin would not take a command line; the words before a pipe only.
func understood(line string) error {
	line, _, _ = strings.Cut(line, " |")
	words := strings.Fields(strings.TrimPrefix(line, "kubectl election "))
	command, rest, err := newCommand(around(nil)).Find(words)
	if err != nil {
		return err
	}
	if !command.Runnable() {
		return fmt.Errorf("%s is not a command", words[0])
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	if command.Args == nil || len(words) == 1 && !strings.Contains(line, "-n") {
		return nil // named, not to be typed as it stands
	}
	return command.Args(command, command.Flags().Args())
}

// TestCallsOfTheConformancePage runs the calls that docs/evidence/conformance.md has, and compares
// the last line of what each prints: who coordinates, and how many messages of each kind and how
// much time that took.
func TestCallsOfTheConformancePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/evidence/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile("(?m)`kubectl election ([^`]+)`: (.*) \\|$").FindAllStringSubmatch(string(text), -1)
	if len(calls) < 15 {
		t.Errorf("%d calls", len(calls))
	}
	for _, call := range calls {
		out, err := run(call[1])
		if err != nil {
			t.Errorf("%s: %v", call[1], err)
			continue
		}
		said := strings.Split(strings.TrimSpace(out), "\n")
		if got := said[len(said)-1]; got != call[2] {
			t.Errorf("%s\nsays  %s\nwants %s", call[1], got, call[2])
		}
	}
}
