package membership

import (
	"fmt"
	"testing"
	"time"
)

// ahead is by how much the newest generation is ahead of the clock.
func (s *scene) ahead() time.Duration {
	return GenerationsBegin.Add(time.Duration(s.Roster.Generation) * time.Second).Sub(s.Now)
}

// edits has a script edit the group 20 times a second.
func (s *scene) edits(n int) {
	for i := range n {
		s.later(50 * time.Millisecond)
		s.Settings = fmt.Sprintf("edit %d at %v", i, s.Now)
		s.pass()
		s.acknowledge()
	}
}

// A script that edits the group all the time has 60 rosters made at once, and then one a second. The
// newest edit is not lost. Generations used to be an hour ahead after three minutes.
func TestRostersArePaced(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		s := voting(3)
		s.Guarded = guarded
		s.pass()
		before := s.Roster.Generation
		s.edits(20 * 90)
		s.Pods[2].Finished = true
		s.ends("uid-2") // a change of voters makes no difference
		s.edits(20 * 90)
		if guarded && s.voters() != "p-0 p-1" {
			t.Errorf("voters %q", s.voters())
		}
		if ahead := s.ahead(); ahead > 61*time.Second || s.Roster.Generation < before+180 {
			t.Errorf("after three minutes generations are %v ahead", ahead)
		}
		d := s.pass()
		if d.Persist || !d.PutOff || d.Again <= 0 || d.Again > time.Second {
			t.Fatalf("the newest edit: %+v", d)
		}
		s.later(d.Again)
		if d := s.pass(); !d.Persist || d.Why != MembersChange {
			t.Errorf("a moment later: %+v", d)
		}
	}
}

// Who departs, and who is asked to step down, does not wait. A pod that hangs in Terminating departs
// once, and one that was never on a roster does not.
func TestDeparturesAndStepDownsAreNotPaced(t *testing.T) {
	s := voting(3)
	s.edits(100)
	s.deletes(2, s.Now, 30*time.Second)
	if d := s.pass(); !d.Persist || told(d) != "p-0:1+ p-1:2+ p-2:0" {
		t.Errorf("p-2 departs: %+v", d)
	}
	s.Settings = "another"
	if d := s.pass(); d.Persist {
		t.Errorf("an edit while it hangs: %+v", d)
	}
	s.Pods = append(s.Pods, podNumber(3))
	s.deletes(3, s.Now, 30*time.Second)
	if d := s.pass(); d.Persist {
		t.Errorf("one departs that was never on the roster: %+v", d)
	}

	s = asked()
	request := s.StepDown
	s.StepDown = StepDownRequest{}
	s.edits(100)
	request.Generation = s.Roster.Generation
	s.StepDown = request
	if d := s.pass(); !d.Persist {
		t.Errorf("p-2 is to step down: %+v", d)
	}
	s.wants(t, Standing, "[1 2 0]")
}

// A status that was wiped is restored at once.
func TestARestoredRosterIsNotPaced(t *testing.T) {
	s := voting(3)
	s.edits(100)
	s.Roster = nil
	if d := s.pass(); !d.Persist || d.Why != RosterLost {
		t.Errorf("%+v", d)
	}
}
