package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

const page = "../../docs/guides/simulate.md"

// TestExamplesOfThePage runs the command lines that docs/guides/simulate.md shows. -rewrite writes
// what they print now.
func TestExamplesOfThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "```\n")
	examples := 0
	for i, part := range parts {
		line, _, _ := strings.Cut(part, "\n")
		arguments, ok := strings.CutPrefix(line, "$ kubectl election ")
		if i%2 == 0 || !ok {
			continue
		}
		examples++
		said, err := run(arguments)
		if err != nil {
			t.Fatal(err)
		}
		if want := line + "\n" + said; part != want {
			parts[i] = want
			if flag.Lookup("rewrite").Value.String() != "true" {
				t.Errorf(
					"docs/guides/simulate.md is stale; see what changed with go test "+
						"./cmd/kubectl-election -rewrite && git diff docs\n%s",
					want,
				)
			}
		}
	}
	if examples == 0 {
		t.Error("docs/guides/simulate.md shows no example")
	}
	if fresh := strings.Join(parts, "```\n"); fresh != string(text) && !t.Failed() {
		if err := os.WriteFile(page, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
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
