package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// lie is a RENEW under the highest epoch of a generation, by a process that does not hold it.
var lie = held(epoch(1, lease.MaxBallot))

// observer starts P4 of four processes, the only one that does not vote.
func observer(t *testing.T) *solo {
	r := rosterOf(4)
	r.Members[3].Voter = false
	return newSolo(t, r, "P4")
}

// renews has a process renew every half of a heartbeat for so long.
func (s *solo) renews(d time.Duration, name string, p lease.Request) {
	for end := s.now + d; s.now < end; s.after(s.roster.Heartbeat / 2) {
		s.askBy(name, p)
	}
}

// F2, T11: a process that does not vote has no promise by which it could tell that a RENEW lies. It
// is deaf to the leaseholder for a lease after the liar's last word, and not until the next
// generation.
func TestALiarIsForgotten(t *testing.T) {
	s := observer(t)
	s.askBy("P3", lie)
	s.renews(lease1-s.roster.Heartbeat, "P2", held(epoch(1, 7)))
	if _, e, _ := s.Following(); e != epoch(1, lease.MaxBallot) {
		t.Errorf("it follows %s within a lease: the higher epoch may still be held", e)
	}
	s.renews(2*s.roster.Heartbeat, "P2", held(epoch(1, 7)))
	if holder, e, _ := s.Following(); holder != "P2" || e != epoch(1, 7) {
		t.Errorf("it follows %q %s", holder, e)
	}
}

// F3: a lie that has ended by a STEP DOWN ends no lease of the liar's next incarnation.
func TestALiarComesBack(t *testing.T) {
	s := observer(t)
	s.askBy("P3", lie)
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: lie.Epoch})
	s.asleep(lease1)
	restarted := incarnationOf(s.roster, "P3")
	restarted.Number++
	s.ask(restarted, held(epoch(1, 7)))
	if holder, e, _ := s.Following(); holder != "P3" || e != epoch(1, 7) {
		t.Errorf("it follows %q %s", holder, e)
	}
}

// F2, G3: what it reports to the manager never goes back all the same.
func TestWhoHasBelievedALiarReportsNoLowerEpoch(t *testing.T) {
	s := observer(t)
	s.askBy("P3", lie)
	if _, _, bound := s.Following(); !bound {
		t.Error("it reports nothing of the highest epoch that it knows")
	}
	s.asleep(lease1)
	for range 2 {
		s.askBy("P2", held(epoch(1, 7)))
		if holder, _, bound := s.Following(); holder != "P2" || bound {
			t.Errorf("it follows %q, and reports the epoch: %v", holder, bound)
		}
	}
	s.roster = next(s.roster, func(*lease.Roster) {})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	s.askBy("P2", held(epoch(2, 1)))
	if holder, _, bound := s.Following(); holder != "P2" || !bound {
		t.Errorf("in the next generation it follows %q, and reports the epoch: %v", holder, bound)
	}
}

// F2, C8: nor does it disbelieve the voters for longer than a lease, if it does not hear the
// leaseholder itself.
func TestALiarIsForgottenByHearsay(t *testing.T) {
	s := observer(t)
	s.askBy("P3", lie)
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{lease1 / 2, "P3"}, {lease1, "P2"}} {
		for end := s.now + c.after; s.now < end; {
			s.hearsay("P2", epoch(1, 7), "P1", "P2")
		}
		if holder, _, _ := s.Following(); holder != c.want {
			t.Errorf("after %v it follows %q", s.now-start, holder)
		}
	}
}

// F2: a voter believes nothing below what it has promised and followed, however long ago.
func TestHearsayBelowTheFloor(t *testing.T) {
	s := newSolo(t, rosterOf(4), "P1")
	s.askBy("P3", held(epoch(1, 9)))
	for end := s.now + 2*lease1; s.now < end; {
		s.hearsay("P2", epoch(1, 7), "P2", "P3", "P4")
	}
	if _, e, _ := s.Following(); e != epoch(1, 9) {
		t.Errorf("it follows %s", e)
	}
}

// hearsay lets a heartbeat pass, and has voters answer a PREVOTE, if there is one, that they hear a
// leaseholder.
func (s *solo) hearsay(holder string, e lease.Epoch, voters ...string) {
	asked := s.after(s.roster.Heartbeat)
	for _, name := range voters {
		if p, ok := sent(asked, lease.PreVote, name); ok {
			v := s.answer(p, false)
			v.Heard, v.Holder, v.HolderEpoch = true, holder, e
			s.response(name, v)
		}
	}
}

// F3: a voter that was told that it had no vote to give for an epoch, and then that the epoch has
// ended, follows the leaseholder that it has promised a lower epoch.
func TestALiarEndsNoEpochButItsOwn(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	p := lie
	p.Lease = 2 * lease1 // too long, so it gets no vote
	s.askBy("P3", p)
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: p.Epoch})
	if v := s.askBy("P2", held(epoch(1, 1))); !v.Granted {
		t.Fatal("the leaseholder gets no vote")
	}
	if holder, e, bound := s.Following(); holder != "P2" || e != epoch(1, 1) || !bound {
		t.Errorf("it follows %q %s, bound %v", holder, e, bound)
	}
}
