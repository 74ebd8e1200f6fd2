package membership

import (
	"strings"
	"testing"
	"time"
)

// leave has the agents of pods that are being deleted say that they leave, once they know why.
func (s *scene) leave(pods ...int) {
	for _, i := range pods {
		s.edit(i, func(r *Report) { r.Leaving, r.Generation = true, s.Roster.Generation })
	}
}

// turn has the agents use the newest roster, and the manager wait until voters may change again.
func (s *scene) turn() {
	s.acknowledge()
	s.pass()
	s.later(Outlast(2 * second))
	s.pass()
}

// Three of five pods are deleted at once, and their agents vote on. They are removed one by one, and
// each set of voters has a majority that is connected.
func TestVotersThatLeaveAreRemovedWhileTheyVote(t *testing.T) {
	s := voting(5)
	for _, i := range []int{2, 3, 4} {
		s.deletes(i, s.Now, 30*second)
	}
	s.pass()
	s.leave(2, 3, 4)
	for _, want := range []string{"p-0 p-1 p-3 p-4", "p-0 p-1 p-4", "p-0 p-1"} {
		if s.voters() != want {
			t.Fatalf("voters %q, want %q", s.voters(), want)
		}
		s.turn()
	}
	if s.voters() != "p-0 p-1" {
		t.Errorf("voters %q", s.voters())
	}
}

// A newcomer may count on a voter that leaves, and that votes until it is removed: a single replica
// hands its group over to its successor.
func TestASingleVoterThatLeavesIsSucceeded(t *testing.T) {
	s := voting(1)
	s.Pods = append(s.Pods, podNumber(1))
	s.deletes(0, s.Now, 30*second)
	s.pass()
	s.leave(0)
	s.joins(1)
	s.pass()
	if s.voters() != "p-0 p-1" {
		t.Fatalf("voters %q", s.voters())
	}
	if s.turn(); s.voters() != "p-1" {
		t.Errorf("voters %q", s.voters())
	}
}

// An agent that leaves and does not know that its pod is being deleted ends soon: nobody counts on it.
func TestAnAgentThatDoesNotKnowItsEndIsNotCountedOn(t *testing.T) {
	s := voting(1)
	s.Pods = append(s.Pods, podNumber(1))
	s.edit(0, func(r *Report) { r.Leaving = true })
	s.joins(1)
	s.pass()
	if s.turn(); s.voters() != "p-0" {
		t.Errorf("voters %q", s.voters())
	}
}

// A voter is removed from when the deletion of its pod begins: an app that takes long to end leaves
// its agent no time later.
func TestAVoterIsRemovedWhenTheDeletionOfItsPodBegins(t *testing.T) {
	s := voting(3)
	s.deletes(1, s.Now, time.Minute)
	if d := s.pass(); s.voters() != "p-0 p-2" || len(d.Lost) > 0 {
		t.Errorf("voters %q, lost %v", s.voters(), d.Lost)
	}
}

// Agents are told how long their pods may take to end. A grace period that becomes another one makes
// another roster.
func TestAgentsAreToldOfTheGracePeriod(t *testing.T) {
	s := voting(3)
	s.Pods[1].Created = 12
	s.deletes(1, s.Now, time.Minute)
	s.pass()
	generation := s.Roster.Generation
	if m := s.member(t, "p-1"); m.Grace != time.Minute || m.Created != 12 {
		t.Errorf("told %+v", m)
	}
	s.acknowledge()
	s.deletes(1, s.Now, second)
	s.pass()
	if m := s.member(t, "p-1"); m.Grace != second || s.Roster.Generation == generation {
		t.Errorf("told %+v in generation %d", m, s.Roster.Generation)
	}
}

// A newcomer does not wait for ever for voters that cannot be reached: the decision names them once they
// have been silent for 30 s, though one that is left follows a leaseholder. A manager that has just
// begun names nobody before that.
func TestVotersThatNobodyReaches(t *testing.T) {
	s := voting(3)
	s.edit(0, func(r *Report) { r.Coordinator = "p-1" })
	s.loses(1, 0).loses(2, 0)
	s.Pods = append(s.Pods, podNumber(3))
	s.joins(3)
	d := s.pass()
	for range 5 {
		if len(d.Unreached) > 0 {
			t.Fatalf("at once: %v", d.Unreached)
		}
		if s.later(d.Again); s.Now.After(s.report("uid-1").Since.Add(unreachedWithin - 1)) {
			break
		}
		d = s.pass()
	}
	if d := s.pass(); strings.Join(d.Unreached, " ") != "p-1 p-2" || len(d.Lost) > 0 || s.voters() != "p-0 p-1 p-2" {
		t.Errorf("30 s later: unreached %v, lost %v, voters %s", d.Unreached, d.Lost, s.voters())
	}
	if s.joins(1); len(s.pass().Unreached) > 0 {
		t.Error("one of them is back")
	}
	s.acknowledge()
	s.pass()
	s.later(Outlast(2 * second))
	if s.pass(); s.voters() != "p-0 p-1 p-2 p-3" {
		t.Errorf("voters %s", s.voters())
	}
}

// Voters without which there is no majority, and that nobody expects back, are named at once.
func TestALostMajorityIsNotReached(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.drop(1)
	if d := s.pass(); strings.Join(d.Unreached, " ") != "p-1 p-2" {
		t.Errorf("unreached %v", d.Unreached)
	}
}

// Seven pods are deleted, and end at once: all are removed a lease later, in one change.
func TestAllVotersLeave(t *testing.T) {
	s := voting(7)
	for i := range 7 {
		s.deletes(i, s.Now, 30*second)
	}
	s.pass()
	for i := range 7 {
		s.edit(i, func(r *Report) {
			r.Left, r.Leaving, r.Connected, r.Since, r.Generation = true, true, false, s.Now, s.Roster.Generation
		})
	}
	s.pass()
	s.drop(0)
	s.later(Outlast(2 * second))
	if s.pass(); s.voters() != "" {
		t.Errorf("voters %q", s.voters())
	}
}
