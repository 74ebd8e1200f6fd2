package membership

import (
	"testing"
	"time"
)

// founded returns a group whose first two of three pods have just become its voters.
func founded() *scene {
	s := newScene(3).joins(0, 1)
	s.Delayed = true
	s.pass()
	s.later(FoundWithin)
	s.pass()
	return s
}

// The third pod has not joined in time for the founding. Until ten seconds after that the roster
// says that preemption does not wait; then another one says that it does.
func TestForming(t *testing.T) {
	s := founded()
	d := s.pass()
	if !d.Forming || !d.Persist || s.voters() != "p-0 p-1" {
		t.Fatalf("a pod has not joined: %+v, voters %q", d, s.voters())
	}
	s.joins(2).edit(2, func(r *Report) { r.Since = s.Now })
	for range 2 {
		s.acknowledge()
		s.pass()
		s.later(Outlast(2 * second))
	}
	if d = s.pass(); !d.Forming || s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("it has joined: %+v, voters %q", d, s.voters())
	}
	forming := s.Roster.Generation
	if d = s.pass(); d.Persist || d.Again != FormsWithin-2*Outlast(2*second) {
		t.Fatalf("nothing happens: %+v", d)
	}
	s.later(d.Again)
	if d = s.pass(); d.Forming || !d.Persist || s.Roster.Generation == forming {
		t.Errorf("ten seconds after the founding: %+v", d)
	}
	if d = s.pass(); d.Forming || d.Persist {
		t.Errorf("afterwards: %+v", d)
	}
}

func TestWhatDoesNotForm(t *testing.T) {
	for name, what := range map[string]func(*scene){
		"preemption that does not wait": func(s *scene) { s.Delayed = false },
		"a newcomer that leaves":        func(s *scene) { s.deletes(2, s.Now, time.Minute) },
		"a newcomer that has ended":     func(s *scene) { s.Pods[2].Finished = true },
		"no newcomer":                   func(s *scene) { s.drop(2) },
		"a newcomer after ten seconds": func(s *scene) {
			pods := s.Pods
			s.drop(2)
			s.pass()
			s.later(FormsWithin)
			s.Pods = pods
		},
		"another manager": func(s *scene) { s.state = State{} },
	} {
		s := founded()
		what(s)
		for range 2 {
			if d := s.pass(); d.Forming {
				t.Errorf("%s: the group forms", name)
			}
		}
	}
}
