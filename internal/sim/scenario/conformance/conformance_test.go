package conformance

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the documents anew")

const docs = "../../../../docs/evidence"

// TestConformance measures every claim. It compares the figures with testdata/figures.txt, and what
// differs from the books with the page.
func TestConformance(t *testing.T) {
	page, figures, err := Conformance()
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, filepath.Join(docs, "conformance.md"), []byte(page))
	fresh(t, filepath.Join("testdata", "figures.txt"), []byte(figures))
}

// fresh fails if a file is not what would be generated now; with -rewrite it writes it.
func fresh(t *testing.T, path string, want []byte) {
	t.Helper()
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): look at what changed with go test ./internal/sim/scenario/conformance -rewrite && git diff", path, err)
	}
}

// TestCounterexamples plays every counterexample, sees that it shows what it claims and ends well,
// and compares with the page and its diagrams.
func TestCounterexamples(t *testing.T) {
	page, diagrams, err := Counterexamples()
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, filepath.Join(docs, "counterexamples.md"), []byte(page))
	for file, picture := range diagrams {
		fresh(t, filepath.Join(docs, "counterexamples", file), picture)
	}
	files, err := os.ReadDir(filepath.Join(docs, "counterexamples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if diagrams[file.Name()] == nil {
			t.Errorf("docs/evidence/counterexamples/%s belongs to no counterexample: remove it", file.Name())
		}
	}
}

// A claim must be able to fail: one that is wrong is told as such, and one that is explained away
// must need that.
func TestClaimsCanFail(t *testing.T) {
	measure := func(got int) func(*Finding) {
		return func(f *Finding) {
			f.columns("n")
			f.notices("Bully", 3, 1)
			f.row(compare(f, got, 3))
		}
	}
	for name, c := range map[string]struct {
		claim   Claim
		verdict Verdict
		fails   bool
	}{
		"no call":               {Claim{Measure: measure(3), Convention: "so"}, "", true},
		"a call for nothing":    {Claim{Measure: measure(3), Call: "--cold"}, "", true},
		"right":                 {Claim{Measure: measure(3)}, Holds, false},
		"right by a convention": {Claim{Measure: measure(3), Convention: "so", Call: "--cold"}, HoldsConvention, false},
		"wrong, explained":      {Claim{Measure: measure(4), Because: "so", Call: "--cold"}, Fails, false},
		"wrong, unexplained":    {Claim{Measure: measure(4)}, Fails, true},
		"right, explained away": {Claim{Measure: measure(3), Because: "so", Call: "--cold"}, Holds, true},
		"nothing compared":      {Claim{Measure: func(*Finding) {}}, "", true},
	} {
		if _, verdict, err := c.claim.Try(); verdict != c.verdict || (err != nil) != c.fails {
			t.Errorf("%s: %q, %v", name, verdict, err)
		}
	}
}
