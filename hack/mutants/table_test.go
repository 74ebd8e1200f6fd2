package main

import (
	"strings"
	"testing"
)

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
