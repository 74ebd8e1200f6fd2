package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/podesta-dev/podesta/internal/view"
)

// TestExamplesOfThePages runs the command lines that pages show, those of observe.md against the
// groups of the goldens. -rewrite writes what they print now.
func TestExamplesOfThePages(t *testing.T) {
	groups := append(readGroupFiles(t), tracedGroups(t)...)
	in := around(fakeCluster(t, interceptor.Funcs{}, groups...))
	checkPicture(t, in, "trace scheduler -n prod -o svg", "../../docs/guides/election.svg")
	for _, page := range []string{"docs/guides/simulate.md", "docs/guides/observe.md"} {
		compareExamples(t, "../../"+page, func(arguments string) string {
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

// TestObservePage: what docs/guides/observe.md says of exit codes, states and watches is so.
func TestObservePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/observe.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.Contains(page, "\n    "+healthyLine) {
		t.Errorf("it does not show the line that a watch writes: %s", healthyLine)
	}
	for _, code := range []int{exitFailed, exitUsage, exitForbidden, exitNoCRD, exitNoGroup,
		exitUnreachable, exitRefused, exitNotDone, exitCheck, exitTooOld, exitNoElection,
		exitInterrupted} {
		if !strings.Contains(page, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("it does not explain exit code %d", code)
		}
	}
	for _, state := range []view.State{view.NoCoordinator, view.Disputed, view.Stalled, view.Unknown,
		view.Degraded, view.Changing, view.Healthy} {
		if !strings.Contains(page, fmt.Sprintf("\n| `%s` | ", state)) {
			t.Errorf("it does not explain state %s", state)
		}
	}
}

// TestCallsOfTheConformancePage runs the calls that docs/evidence/conformance.md names below its
// tables, and compares the last line of what each prints: who coordinates, and how many messages of
// each kind and how much time that took.
func TestCallsOfTheConformancePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/evidence/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := strings.Count(string(text), "\n|---|") - 1 // without the summary
	repeated := strings.Count(string(text), "<summary>Repeat it</summary>") +
		strings.Count(string(text), "\nNo call repeats it: ")
	if tables < 60 || tables != repeated {
		t.Errorf("the page has %d tables, and says of %d how to repeat them", tables, repeated)
	}
	calls := 0
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		arguments, ok := strings.CutPrefix(line, "$ kubectl election ")
		if !ok {
			continue
		}
		calls++
		out, err := run(arguments)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		said := strings.Split(strings.TrimSpace(out), "\n")
		if got, want := said[len(said)-1], lines[i+1]; got != want {
			t.Errorf("%s\nsays  %s\nwants %s", line, got, want)
		}
	}
	if calls < 4*tables {
		t.Errorf("%d calls for %d tables", calls, tables)
	}
}
