package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// leading is P3 of five, which has held the lease for a second while the named ones answered its
// renewals. It asks for 100 ms.
func leading(t *testing.T, answer ...string) *solo {
	t.Helper()
	r := rosterOf(5)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	s.elected()
	s.answered(time.Second, answer...)
	return s
}

// answered lets time pass, in which the named processes answer all renewals, as candidates.
func (s *solo) answered(d time.Duration, names ...string) {
	s.t.Helper()
	renewals := 0
	for end := s.now + d; s.now < end; {
		asked := s.after(25 * ms)
		for _, name := range names {
			if p, ok := sent(asked, lease.Renew, name); ok {
				s.response(name, s.answer(p, true))
				renewals++
			}
		}
	}
	if renewals < len(names) {
		s.t.Fatalf("in %v it has sent %d renewals to %v", d, renewals, names)
	}
}

// LH8: a leaseholder that has just taken the lease names nobody: a higher process may not have had the
// time to answer.
func TestAYoungLeaseHasNoHeir(t *testing.T) {
	for _, c := range []struct {
		led  time.Duration
		heir string
	}{{300 * ms, ""}, {500 * ms, "P2"}} {
		r := rosterOf(5)
		r.LeaseMinimum = 100 * ms
		s := newSolo(t, r, "P3")
		s.elected()
		s.answered(c.led, "P1", "P2")
		s.do(lease.Event{Type: lease.Withdrawn})
		if p := s.sent(lease.StepDown, "P1"); p.Heir != c.heir {
			t.Errorf("after %v its heir is %q, want %q", c.led, p.Heir, c.heir)
		}
	}
}

// LH8: a leaseholder that steps down names the highest candidate that answers it as its heir.
func TestWhoIsTheHeir(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer []string
		then   func(*solo)
		heir   string
	}{
		{
			name:   "the highest of all, though nobody may take over from a living leaseholder",
			answer: []string{"P1", "P2", "P4", "P5"},
			heir:   "P5",
		},
		{
			name:   "the highest of those below",
			answer: []string{"P1", "P2"},
			heir:   "P2",
		},
		{
			name:   "not one that is no candidate",
			answer: []string{"P1", "P2", "P5"},
			then: func(s *solo) {
				p, _ := sent(s.after(25*ms), lease.Renew, "P5")
				v := s.answer(p, true)
				v.Candidate = false
				s.response("P5", v)
			},
			heir: "P2",
		},
		{
			name:   "not one that has been silent for a lease",
			answer: []string{"P1", "P2", "P5"},
			then:   func(s *solo) { s.answered(125*ms, "P1", "P2") },
			heir:   "P2",
		},
		{
			name:   "not one whose link has been closed",
			answer: []string{"P1", "P2", "P5"},
			then:   func(s *solo) { s.do(lease.Event{Type: lease.LinkDown, Process: "P5"}) },
			heir:   "P2",
		},
		{
			name:   "one whose link has been closed, and that has answered since",
			answer: []string{"P1", "P2", "P5"},
			then: func(s *solo) {
				s.do(lease.Event{Type: lease.LinkDown, Process: "P5"})
				s.answered(50*ms, "P1", "P2", "P5")
			},
			heir: "P5",
		},
		{
			name:   "the same as before, if a new roster's epoch has just begun in place",
			answer: []string{"P1", "P2"},
			then: func(s *solo) {
				s.roster = next(s.roster, func(*lease.Roster) {})
				s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
				vote := s.sent(lease.Vote, "P1")
				s.response("P1", s.answer(vote, true))
				s.response("P2", s.answer(vote, true))
			},
			heir: "P2",
		},
		{
			name:   "not one whose priority is 0 by now",
			answer: []string{"P1", "P2", "P5"},
			then: func(s *solo) {
				s.roster = next(s.roster, func(r *lease.Roster) { r.Members[4].Priority = 0 })
				s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
			},
			heir: "P2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := leading(t, c.answer...)
			if c.then != nil {
				c.then(s)
			}
			if !s.may() {
				t.Fatal("it does not hold the lease")
			}
			s.do(lease.Event{Type: lease.Withdrawn})
			if p := s.sent(lease.StepDown, "P1"); p.Heir != c.heir {
				t.Errorf("the heir is %q, want %q", p.Heir, c.heir)
			}
		})
	}
}

// LH8: of equal candidates the one is the heir whose pod was made last. Of older pods a rollout makes
// the next leaseholder step down soon.
func TestTheYoungestOfEqualsIsTheHeir(t *testing.T) {
	for _, c := range []struct {
		name    string
		created [5]int64 // of P1 to P5; P3 leads
		higher  string   // has a higher priority than the others
		heir    string
	}{
		{"the youngest, not the highest name", [5]int64{7, 9, 0, 8, 6}, "", "P2"},
		{"of two that were made in one second the higher name", [5]int64{9, 9, 0, 8, 6}, "", "P2"},
		{"nobody knows their ages", [5]int64{}, "", "P5"},
		{"an older one of higher priority", [5]int64{7, 9, 0, 1, 6}, "P4", "P4"},
		{"the leaseholder itself is the youngest", [5]int64{1, 2, 9, 1, 1}, "", "P2"},
	} {
		r := rosterOf(5)
		r.LeaseMinimum = 100 * ms
		for i := range r.Members {
			m := &r.Members[i]
			m.Priority, m.Created = 1, c.created[i]
			if m.Name == c.higher {
				m.Priority = 2
			}
		}
		s := newSolo(t, r, "P3")
		s.elected()
		s.answered(time.Second, "P1", "P2", "P4", "P5")
		s.do(lease.Event{Type: lease.Withdrawn})
		if p := s.sent(lease.StepDown, "P1"); p.Heir != c.heir {
			t.Errorf("%s: its heir is %q, want %q", c.name, p.Heir, c.heir)
		}
	}
}

// LH8, PR5: one that was offered the lease, and could not take it over, is no heir for a while.
func TestWhoDeclinedIsNoHeir(t *testing.T) {
	s, offer := offering(t)
	v := s.answer(offer, false)
	s.response("P3", v)
	s.answered(500*ms, "P1", "P3")
	s.do(lease.Event{Type: lease.Withdrawn})
	if p := s.sent(lease.StepDown, "P1"); p.Heir != "P1" {
		t.Errorf("the heir is %q, want P1", p.Heir)
	}
}

// awaiting is P1 of three: P3, which led, has named P2 its heir, and has released.
func awaiting(t *testing.T) *solo {
	t.Helper()
	s := newSolo(t, rosterOf(3), "P1")
	s.askBy("P3", held(epoch(1, 1)))
	handOver := lease.Request{
		Kind:  lease.StepDown,
		Epoch: epoch(1, 1),
		Heir:  "P2",
	}
	s.askBy("P3", handOver)
	s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
	handOver.Kind = lease.Release
	s.askBy("P3", handOver)
	s.waits(true, "the RELEASE")
	return s
}

// waits fails the test unless the process waits for an heir.
func (s *solo) waits(want bool, after string) {
	s.t.Helper()
	if waits := s.IgnoresElections(); waits != want {
		s.t.Errorf("%v: after %s it waits for its heir: %t", s.now-start, after, waits)
	}
}

// F3: while the heir asks for votes it is waited for, but no longer than the promises to its
// predecessor may run.
func TestAnHeirThatAsksIsWaitedFor(t *testing.T) {
	s := awaiting(t)
	begun := s.now
	for s.now < begun+900*ms {
		s.after(300 * ms)
		s.waits(true, "a PREVOTE 300 ms before")
		s.askBy("P2", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)})
	}
	s.after(begun + lease1 + s.T - 1 - s.now)
	s.waits(true, "the last PREVOTE")
	s.after(1)
	s.waits(false, "a lease and T")

	s = awaiting(t)
	s.after(2*s.T - 1)
	s.waits(true, "2 T of silence")
	s.asleep(1)
	if out := s.do(lease.Event{Type: lease.Tick}); out.Suspect != "P2" {
		t.Errorf("it is to suspect %q", out.Suspect)
	}
	s.waits(false, "2 T of silence")
}

// F3: an heir is not waited for any more when the link to it is closed.
func TestAnHeirThatIsGoneIsNotWaitedFor(t *testing.T) {
	s := awaiting(t)
	s.do(lease.Event{Type: lease.LinkDown, Process: "P3"})
	s.waits(true, "the link to another process was closed")
	s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
	s.waits(false, "the link to it was closed")
}

// F3: a voter that is bound to the heir can vote for nobody else, and does not suspect it.
func TestAnHeirThatHasThisVoteIsWaitedFor(t *testing.T) {
	s := awaiting(t)
	s.want(true, "P2", epoch(1, 2))
	s.after(lease1 - 1)
	s.waits(true, "a VOTE")
	s.after(1)
	s.waits(false, "a lease")
}

// F3: a process that has stood still first reads what has arrived.
func TestAnHeirIsNotSuspectedAfterAStandstill(t *testing.T) {
	s := awaiting(t)
	s.asleep(3 * s.T)
	if out := s.do(lease.Event{Type: lease.Tick}); out.Suspect != "" {
		t.Errorf("it is to suspect %q", out.Suspect)
	}
	s.after(s.T - 1)
	s.waits(true, "a standstill")
	s.after(1)
	s.waits(false, "a standstill and T")
}

// C6: an heir to which a new roster comes while it asks for votes asks again at once.
func TestARosterWhileVotesAreAskedFor(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.seeking()
	s.roster = next(s.roster, func(*lease.Roster) {})
	out := s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	_, releases := sent(out.Requests, lease.Release, "P1")
	_, asks := sent(out.Requests, lease.PreVote, "P1")
	if !releases || !asks {
		t.Errorf("it releases: %t, and asks again: %t", releases, asks)
	}
}

// F3: an heir that the next roster does not have, or gives priority 0, is not waited for any more.
func TestAnHeirThatTheNextRosterDoesNotHave(t *testing.T) {
	for name, change := range map[string]func(*lease.Roster){
		"priority 0": func(r *lease.Roster) { r.Members[1].Priority = 0 },
		"removed":    func(r *lease.Roster) { r.Members = append(r.Members[:1:1], r.Members[2]) },
		"the same":   func(*lease.Roster) {},
	} {
		s := awaiting(t)
		s.roster = next(s.roster, change)
		s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		if waits := s.IgnoresElections(); waits != (name == "the same") {
			t.Errorf("%s: it waits for its heir: %t", name, waits)
		}
	}
}

// F3: the election algorithm is told who has stepped down in favour of the heir.
func TestThePredecessorIsNamed(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	s.askBy("P3", held(epoch(1, 1)))
	s.askBy("P3", lease.Request{
		Kind:  lease.StepDown,
		Epoch: epoch(1, 1),
		Heir:  "P2",
	})
	if s.out.Appoint != "P2" || s.out.Predecessor != "P3" {
		t.Errorf("P1 is to name %q after %q", s.out.Appoint, s.out.Predecessor)
	}
	s = leading(t, "P1", "P2")
	out := s.do(lease.Event{Type: lease.Withdrawn})
	if out.Predecessor != "P3" {
		t.Errorf("P3 is to name %q after %q", out.Appoint, out.Predecessor)
	}
}
