package main

import "testing"

// A mutant whose text has gone from the code proves nothing any more. (That each compiles: go run ./hack/mutants -check.)
func TestEveryMutantFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	names := map[string]bool{}
	for _, s := range suites {
		for _, m := range s.mutants {
			if names[m.name] {
				t.Errorf("two mutants are called %s", m.name)
			}
			names[m.name] = true
			if _, err := s.overlay(m, t.TempDir()); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}
