package transport

import (
	"testing"
	"time"
)

// fileOf returns what a roster file of two fields says.
func fileOf(generation int64, guarded bool, safety, processes uint64) *RosterFile {
	return &RosterFile{
		Generation: generation,
		Guarded:    guarded,
		Fields:     []Field{{"safety", safety}, {"processes", processes}},
	}
}

func TestRosterFilesThatDiffer(t *testing.T) {
	const linked, unlinked = true, false
	for what, tc := range map[string]struct {
		own, other *RosterFile
		field      string // that is named; empty: there is none
		linked     bool
	}{
		"the same":               {fileOf(1, true, 1, 1), fileOf(1, true, 1, 1), "", linked},
		"another generation":     {fileOf(1, true, 1, 1), fileOf(2, true, 1, 2), "", linked},
		"a manager's roster":     {fileOf(1, true, 1, 1), nil, "", linked},
		"Guarded":                {fileOf(1, true, 1, 1), fileOf(1, true, 1, 2), "processes", unlinked},
		"Classic":                {fileOf(1, false, 1, 1), fileOf(1, false, 1, 2), "processes", linked},
		"Classic beside Guarded": {fileOf(1, false, 1, 1), fileOf(1, true, 2, 2), "safety", unlinked},
		"Guarded beside Classic": {fileOf(1, true, 2, 1), fileOf(1, false, 1, 1), "safety", unlinked},
	} {
		t.Run(what, func(t *testing.T) {
			inEachFabric(t, func(t *testing.T, f fabric) {
				saidA := begins(f, tc.own)
				a := f.join("a", 1)
				saidB := begins(f, tc.other)
				b := f.join("b", 1)
				introduce(f, []string{"a", "b"}, a, b) // only a makes a link: both are to notice
				if tc.linked {
					expect(t, a, Up{"b"})
				} else {
					expect(t, a, Down{"b", Rejected})
					<-time.After(10 * beat) // it goes on trying, and nothing tells how often
				}
				if !tc.linked && len(a.Events())+len(b.Events()) > 0 {
					t.Errorf("%d and %d events more", len(a.Events()), len(b.Events()))
				}
				want := 0
				if tc.field != "" {
					want = 1
				}
				if n := len(saidA.errors("process=b", "field="+tc.field, "generation=1")); n != want {
					t.Errorf("%d errors of a, want %d: %q", n, want, saidA.errors())
				}
				if n := len(saidB.errors("process=a", "field="+tc.field, "generation=1")); n != want {
					t.Errorf("%d errors of b, want %d: %q", n, want, saidB.errors())
				}
			})
		})
	}
}
