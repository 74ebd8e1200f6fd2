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
