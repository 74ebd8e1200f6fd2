package membership

import (
	"strings"
	"testing"
	"time"
)

// Voters that do not report are given up after a while, if those that report have nobody to follow.
func TestVotersThatDoNotReport(t *testing.T) {
	for _, test := range []struct {
		name  string
		what  func(*scene)
		lost  string
		again time.Duration
	}{
		{"they have just stopped", func(*scene) {}, "", silentWithin},
		{"they stopped a while ago", func(s *scene) { s.later(silentWithin) }, "p-1 p-2", unreachedWithin - silentWithin},
		{"the other one follows somebody: it may be the manager that has lost sight", func(s *scene) {
			s.edit(0, func(r *Report) { r.Coordinator = "p-2" })
			s.later(time.Hour)
		}, "", 0},
		{"nobody reports", func(s *scene) { s.loses(0, 0); s.later(time.Hour) }, "", 0},
		{"the manager has just started", func(s *scene) {
			s.later(time.Hour)
			s.Begun = s.Now.Add(-time.Second)
		}, "", silentWithin - time.Second},
		{"a minority stopped", func(s *scene) { s.joins(1); s.later(time.Hour) }, "", 0},
	} {
		s := voting(3)
		s.loses(1, 0).loses(2, 0)
		test.what(s)
		d := s.pass()
		if got := strings.Join(d.Lost, " "); got != test.lost || d.Again != test.again {
			t.Errorf("%s: lost %q, again in %v; want %q, %v", test.name, got, d.Again, test.lost,
				test.again)
		}
		if got := strings.Join(d.Silent, " "); got != test.lost {
			t.Errorf("%s: silent %q, though all pods exist", test.name, got)
		}
	}
}
