package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

func held(e lease.Epoch) lease.Request {
	return lease.Request{Kind: lease.Renew, Epoch: e, Lease: lease1}
}

// F1: whom a process does not follow.
func TestNotFollowed(t *testing.T) {
	for _, c := range []struct {
		name string
		self string
		do   func(*solo)
		p    lease.Request
	}{
		{"a claim that is not held", "P1", func(*solo) {},
			lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: lease1}},
		{"its promise is to another one", "P1", func(s *solo) { s.want(true, "P3", epoch(1, 1)) },
			held(epoch(1, 2))},
		{"it asks for votes itself", "P3", func(s *solo) { s.seeking() }, held(epoch(1, 1))},
		{"one that never coordinates", "P3", func(s *solo) {
			s.roster = next(s.roster, func(r *lease.Roster) { r.Members[1].Priority = 0 })
			s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		}, held(epoch(2, 1))},
		{"F2 a lower epoch", "P4", func(s *solo) { s.askBy("P3", held(epoch(1, 5))) },
			held(epoch(1, 4))},
		{"T11 no voter: a newer generation than its roster", "P4", func(*solo) {},
			held(epoch(1<<30, 1))},
	} {
		r := rosterOf(4)
		r.Members[3].Voter = false
		s := newSolo(t, r, c.self)
		c.do(s)
		before, _, _ := s.Following()
		s.askBy("P2", c.p)
		if holder, _, _ := s.Following(); holder != before || holder == "P2" ||
			s.out.Appoint == "P2" {
			t.Errorf("%s: it follows %q", c.name, holder)
		}
	}
}

// F1: what a voter follows without having promised it is not bound.
func TestUnboundFollower(t *testing.T) {
	r := rosterOf(3)
	s := startSolo(t, r, "P1", lease.State{}) // new: silent for a lease
	s.askBy("P2", held(epoch(1, 1)))
	if holder, _, bound := s.Following(); holder != "P2" || bound {
		t.Errorf("a new voter follows %q, bound %v", holder, bound)
	}
	r.Members[2].Voter = false
	s = newSolo(t, r, "P3")
	s.askBy("P2", held(epoch(1, 1)))
	if holder, _, bound := s.Following(); holder != "P2" || !bound {
		t.Errorf("one that is no voter follows %q, bound %v", holder, bound)
	}
}

// F1: a leaseholder that was killed, and is back before its voter may vote for another one (V6),
// follows the next leaseholder at once: its app need not be told that nobody leads.
func TestAProcessFollowsWhoReplacedItsLastIncarnation(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	e := s.holding()
	s.restart()
	later := epoch(e.Generation(), e.Ballot()+1)
	v := s.askBy("P2", held(later))
	if holder, _, bound := s.Following(); holder != "P2" || bound || s.out.Appoint != "P2" {
		t.Errorf("it follows %q, bound %v, and appoints %q", holder, bound, s.out.Appoint)
	}
	if v.Granted || s.State().Highest != e {
		t.Errorf("it has promised %s to %v", s.State().Highest, s.State().To)
	}
	s.asleep(lease1)
	s.askBy("P2", held(later))
	if holder, _, bound := s.Following(); holder != "P2" || !bound {
		t.Errorf("after its promise has run out it follows %q, bound %v", holder, bound)
	}
}

// F3: a holder that stepped down is followed no more; an heir is nominated, unless it may not
// coordinate.
func TestSteppedDown(t *testing.T) {
	for _, c := range []struct {
		name, heir, appoint string
		e                   lease.Epoch
		follows             string
	}{
		{"without an heir", "", "", epoch(1, 3), ""},
		{"with an heir", "P3", "P3", epoch(1, 3), ""},
		{"an heir of priority 0", "P4", "", epoch(1, 3), ""},
		{"an heir that nobody knows", "P9", "", epoch(1, 3), ""},
		{"an earlier lease of it", "P3", "", epoch(1, 2), "P2"},
	} {
		r := rosterOf(4)
		r.Members[3].Priority = 0
		s := newSolo(t, r, "P1")
		s.askBy("P2", held(epoch(1, 3)))
		s.askBy("P2", lease.Request{Kind: lease.StepDown, Epoch: c.e, Heir: c.heir})
		if s.out.Appoint != c.appoint {
			t.Errorf("%s: its election machine is told %q", c.name, s.out.Appoint)
		}
		if holder, _, _ := s.Following(); holder != c.follows {
			t.Errorf("%s: it follows %q", c.name, holder)
		}
	}
	s := newSolo(t, rosterOf(3), "P1")
	s.askBy("P2", held(epoch(1, 3)))
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 3), Heir: "P3"})
	if holder, _, _ := s.Following(); holder != "P2" {
		t.Error("another process stepped down for the holder")
	}
}

// A request of another group object says nothing, even if names, pods and epochs are the same.
func TestAnotherGroupObject(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	p := held(epoch(1, 1))
	p.Group = "an earlier object"
	if v := s.askBy("P2", p); v != nil || s.State().Highest != 0 {
		t.Errorf("it answers %+v", v)
	}
}

// F2: a late RENEW of the previous generation, which the voter still grants (V4), is not followed.
func TestALateRenewalIsNotFollowed(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.askBy("P2", held(epoch(1, 1)))
	s.roster = next(s.roster, func(*lease.Roster) {})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.askBy("P2", held(epoch(2, 1)))
	s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
	if v := s.askBy("P2", held(epoch(1, 1))); !v.Granted {
		t.Fatal("the previous epoch is not renewed")
	}
	if _, e, _ := s.Following(); e != epoch(2, 1) || s.out.Heard != "" {
		t.Errorf("it follows %s, and has heard %q", e, s.out.Heard)
	}
}

// F3: a RENEW that arrives after the STEP DOWN of its epoch is not followed; a later epoch is.
func TestARenewalAfterTheStepDownIsNotFollowed(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.askBy("P2", held(epoch(1, 3)))
	s.askBy("P2", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 3)})
	s.askBy("P2", held(epoch(1, 3)))
	if holder, _, _ := s.Following(); holder != "" {
		t.Errorf("it follows %q again", holder)
	}
	s.askBy("P2", held(epoch(1, 4)))
	if holder, e, _ := s.Following(); holder != "P2" || e != epoch(1, 4) {
		t.Errorf("it follows %q %s", holder, e)
	}
}

// F3: voters that have yet to get the STEP DOWN still hear the last leaseholder. Its heir does not
// follow it again by hearsay.
func TestTheHeirDoesNotFollowTheLastLeaseholder(t *testing.T) {
	s := newSolo(t, rosterOf(4), "P4")
	s.askBy("P3", held(epoch(1, 3)))
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 3), Heir: "P4"})
	s.do(lease.Event{Type: lease.Nominated, Process: "P4"})
	v := s.answer(s.sent(lease.PreVote, "P1"), false)
	v.Heard, v.Holder, v.HolderEpoch = true, "P3", epoch(1, 3)
	for _, voter := range []string{"P1", "P2"} {
		s.response(voter, v)
		if holder, _, _ := s.Following(); holder != "" || s.out.Appoint != "" {
			t.Fatalf("it follows %q, and nominates %q", holder, s.out.Appoint)
		}
	}
}
