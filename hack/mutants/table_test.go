package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "have docs/evidence/mutants.md list the mutants that there are")

// A mutant whose text has gone from the code proves nothing any more. (That each compiles:
// go run ./hack/mutants -check.)
func TestEveryMutantFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	all, err := tables(".")
	if err != nil {
		t.Fatal(err)
	}
	packages := make(map[string]bool)
	for _, m := range all {
		packages[m.pkg] = true
		if _, _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	for pkg := range hunts { // a package that has moved must not lose its mutants in silence
		if !packages[pkg] {
			t.Errorf("%s has no %s", pkg, tableName)
		}
	}
}

// The page has a row for each mutant that there is, with its sentence, and none that is gone.
func TestThePageListsTheMutants(t *testing.T) {
	t.Chdir("../..")
	const file = "docs/evidence/mutants.md"
	all, err := tables(".")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := keep(file, all, nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page(all, trials(string(text))) != string(text) {
		t.Errorf("%s does not list the mutants as they are: go test ./hack/mutants -rewrite", file)
	}
}

// What is tried replaces its row; one that survived has none, and one that could not be tried keeps
// what it has.
func TestKeep(t *testing.T) {
	file := t.TempDir() + "/page.md"
	all := []mutant{
		{pkg: "p", name: "one", hazard: "T1", why: "wrong"},
		{pkg: "p", name: "two", hazard: "T2", why: "wrong, too"},
		{pkg: "q", name: "three", hazard: "equivalent", why: "harmless"},
	}
	results := func(first, second verdict) []result {
		return []result{{mutant: &all[0], verdict: first}, {mutant: &all[1], verdict: second},
			{mutant: &all[2], verdict: verdict{tests: nobody, search: nobody}}}
	}
	found, survived := verdict{tests: "TestA", search: notNeeded}, verdict{tests: nobody, search: nobody}
	for _, step := range []struct {
		results []result
		at      string
		want    []string
	}{
		{nil, "", []string{"3 mutants: 0 caught, 0 equivalent, 3 not tried yet.", "| one | T1 | wrong |  |  | not yet |\n"}},
		{results(found, survived), "monday", []string{"3 mutants: 1 caught, 1 equivalent, 1 not tried yet.",
			"| one | T1 | wrong | TestA | not run | monday |\n", "| two | T2 | wrong, too |  |  | not yet |\n",
			"| three | equivalent | harmless | – | – | monday |\n"}},
		{results(survived, found)[1:2], "tuesday", []string{"3 mutants: 2 caught, 1 equivalent, 0 not tried yet.",
			"| TestA | not run | monday |\n", "| TestA | not run | tuesday |\n", "\n## q\n"}},
		{results(survived, found)[:1], "wednesday", []string{"3 mutants: 1 caught, 1 equivalent, 1 not tried yet."}},
		{[]result{{mutant: &all[1], err: os.ErrNotExist}}, "thursday", []string{"| TestA | not run | tuesday |\n"}},
	} {
		if err := keep(file, all, step.results, step.at); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range step.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("after %q there is no %q in\n%s", step.at, want, text)
			}
		}
	}
}

func TestATableIsRead(t *testing.T) {
	found, err := parse("p", "# a comment\n== one | a.go | T1, found\nwhat is wrong\n-\tif x {\n-\n+\tif y {\n\n"+
		"== two | b.go | –\nit is deleted\n- && z\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []mutant{
		{pkg: "p", name: "one", file: "a.go", hazard: "T1, found", why: "what is wrong", old: "\tif x {\n", new: "\tif y {"},
		{pkg: "p", name: "two", file: "b.go", hazard: "–", why: "it is deleted", old: " && z"},
	}
	if len(found) != 2 || found[0] != want[0] || found[1] != want[1] {
		t.Errorf("mutants %+v", found)
	}
}

func TestABadTableIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"== one | a.go\n":                        "1: want ==",
		"what is wrong\n":                        "1: before the first",
		"== one | a.go | T1\n-x\n":               "one: want a sentence",
		"== one | a.go | T1\nwhy\n":              "one: want a sentence",
		"== one | a.go | T1\nwhy\n-x\n+x\n":      "must differ",
		"== one | a.go | T1\nwhy\n-x\n+y\n-z\n":  "5: want one sentence",
		"== one | a.go | T1\nwhy\n+y\n-z\n":      "3: want one sentence",
		"== one | a.go | T1\nwhy\nagain\n-x\n":   "3: want one sentence",
		"== one | a.go | T1\n== two | a.go | T1": "2: one: want a sentence",
	} {
		if _, err := parse("p", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

// What is listed as harmless must not be noticed, everything else must, and in every run.
func TestWhatTheResultsMean(t *testing.T) {
	for _, test := range []struct {
		name   string
		hazard string
		v      verdict
		want   string
	}{
		{"noticed", "T1", verdict{tests: "TestA", search: nobody}, ""},
		{"found by a search only", "T1", verdict{tests: nobody, search: "seed 1"}, ""},
		{"not noticed", "T1", verdict{tests: nobody, search: nobody}, "survived"},
		{"noticed by luck", "T1", verdict{tests: nobody, search: nobody, missed: missed([]string{"TestA"}, 5)},
			"noticed in 1 of 5 runs, by TestA"},
		{"found by its history only", "T1", verdict{tests: nobody, search: "TestHistory/A"}, ""},
		{"its history passes", "T1", verdict{tests: "TestA", search: nobody, passed: "Classic Bully/x"},
			"Classic Bully/x does not fail"},
		{"harmless", "equivalent", verdict{tests: nobody, search: nobody}, ""},
		{"called harmless", "equivalent", verdict{tests: "TestA", search: nobody}, "is not"},
		{"called harmless, and noticed once", "equivalent",
			verdict{tests: nobody, search: nobody, missed: missed([]string{"TestA"}, 5)}, "is not"},
	} {
		m := &mutant{name: test.name, hazard: test.hazard}
		_, err := conclude([]result{{mutant: m, verdict: test.v}}, 1, false)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q in it", test.name, err, test.want)
		}
	}
	if got := missed([]string{"TestA", "TestB"}, 2); got != "" {
		t.Errorf("noticed in all runs: %q", got)
	}
}
