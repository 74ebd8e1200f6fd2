package lease_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// another is a roster of another group object of the name.
func another(group string, generation int64) *lease.Roster {
	r := rosterOf(3)
	r.Group, r.Generation = group, generation
	return r
}

func vote(generation, ballot int64) lease.Request {
	return lease.Request{Kind: lease.Vote, Epoch: epoch(generation, ballot), Lease: lease1}
}

func (s *solo) serve(r *lease.Roster) {
	s.do(lease.Event{Type: lease.RosterChanged})
	s.roster = r
	s.do(lease.Event{Type: lease.RosterChanged, Roster: r})
}

// V12: a voter that comes back to a group object promises no epoch that it has promised there, to
// whomever, and does not go on with a promise that still runs. A restart makes no difference.
func TestReturnToAGroup(t *testing.T) {
	for _, restart := range []bool{false, true} {
		a := rosterOf(3)
		s := newSolo(t, a, "P1")
		s.want(true, "P2", epoch(1, 5))
		s.serve(another("B", 9))
		s.asleep(lease1)
		s.want(true, "P3", epoch(9, 1))
		if restart {
			s.restart()
		}
		s.serve(a)
		s.want(false, "P2", epoch(1, 6)) // what it promised in B may run
		s.want(false, "P3", epoch(1, 6))
		s.asleep(lease1 - 1)
		s.want(false, "P3", epoch(1, 6))
		s.asleep(1)
		s.want(false, "P3", epoch(1, 5))
		s.want(false, "P2", epoch(1, 5))
		s.want(true, "P3", epoch(1, 6))
		s.serve(another("B", 9))
		s.asleep(lease1)
		s.want(false, "P2", epoch(9, 1))
	}
}

// V4, V12: the generation that was used in a group object before it was left counts on.
func TestReturnWithAnOlderRoster(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.do(lease.Event{Type: lease.RosterChanged, Roster: next(rosterOf(3), func(*lease.Roster) {})})
	s.serve(another("B", 9))
	s.serve(rosterOf(3))
	s.asleep(2 * lease1)
	if v := s.askBy("P2", vote(1, 1)); v != nil {
		t.Errorf("it answers under generation 1 after it has used 2: %+v", v)
	}
	if used := s.Used(rosterOf(3).Group); used != 2 {
		t.Errorf("it has used generation %d, want 2", used)
	}
}

// C3, V12: an incarnation asks for no epoch twice, also if it was in another group object
// meanwhile.
func TestReturnSeeksNoEpochTwice(t *testing.T) {
	a := rosterOf(3)
	a.Members[2].Voter = false // P3 has no promise of its own to go by
	s := newSolo(t, a, "P3")
	seek := func() lease.Epoch {
		s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
		asked := s.sent(lease.PreVote, "P1")
		s.response("P1", s.answer(asked, true))
		s.response("P2", s.answer(asked, true))
		return s.sent(lease.Vote, "P1").Epoch
	}
	first := seek()
	s.serve(another("B", 9))
	s.serve(a)
	if again := seek(); again <= first {
		t.Errorf("it seeks %s after %s", again, first)
	}
}

// F2, V12: nor does it follow a lower epoch on return, or one whose leaseholder has stepped down.
func TestReturnFollowsNothingOlder(t *testing.T) {
	renew := func(ballot int64) lease.Request {
		return lease.Request{Kind: lease.Renew, Epoch: epoch(1, ballot), Lease: lease1}
	}
	a := rosterOf(3)
	s := newSolo(t, a, "P1")
	s.askBy("P3", renew(5))
	s.serve(another("B", 9))
	s.serve(a)
	s.askBy("P2", renew(4))
	if who, e, _ := s.Following(); who != "" {
		t.Errorf("it follows %s under %s after 1.5", who, e)
	}
	s.askBy("P3", renew(6))
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 6)})
	s.serve(another("B", 9))
	s.serve(a)
	s.askBy("P3", renew(6))
	if who, e, _ := s.Following(); who != "" {
		t.Errorf("it follows %s under %s, who has stepped down", who, e)
	}
}

// V12: a state directory that knows as many group objects as it may takes part in no further one,
// and goes on taking part in those. What it keeps is bounded.
func TestTooManyGroups(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.want(true, "P2", epoch(1, 5))
	for i := range lease.MaxGroups {
		s.serve(another(fmt.Sprint(i), 1))
	}
	last := another("one too many", 1)
	s.serve(last)
	if err := s.Admits(last.Group); !errors.Is(err, lease.ErrTooManyGroups) {
		t.Errorf("of one group too many it says %v", err)
	}
	s.asleep(2 * lease1)
	if v := s.askBy("P2", vote(1, 1)); v != nil {
		t.Errorf("it answers in one group too many: %+v", v)
	}
	s.serve(rosterOf(3))
	if err := s.Admits(rosterOf(3).Group); err != nil {
		t.Error(err)
	}
	s.want(false, "P3", epoch(1, 5))
	s.want(true, "P3", epoch(1, 6))
	n := 0
	for e := s.State().Earlier; e != nil; e = e.Next {
		n++
	}
	if n != lease.MaxGroups {
		t.Errorf("it keeps %d other group objects, want %d", n, lease.MaxGroups)
	}
}

// V12: of a candidate that votes in none of them, too, what it remembers is bounded.
func TestTooManyGroupsOfACandidate(t *testing.T) {
	groupOf := func(name string) *lease.Roster {
		r := another(name, 1)
		r.Members[2].Voter = false
		return r
	}
	s := startSolo(t, groupOf("first"), "P3", lease.State{})
	for i := range lease.MaxGroups {
		s.serve(groupOf(fmt.Sprint(i)))
	}
	s.do(lease.Event{Type: lease.RosterChanged})
	if s.Admits("one too many") == nil || s.Admits("first") != nil || s.Admits("0") != nil {
		t.Error("want every group object that it knows, and no other")
	}
	if s.State().Earlier != nil {
		t.Error("it keeps group objects in which it has never voted")
	}
}
