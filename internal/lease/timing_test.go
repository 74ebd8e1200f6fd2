package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// The window is L·(1−ρ)/(1+ρ): a holder whose clock is slow by ρ stops when a voter whose clock is
// fast by ρ does, not later.
func TestWindow(t *testing.T) {
	if w := lease.Window(1100 * ms); w != 900*ms {
		t.Errorf("the window of 1.1 s is %v", w)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		l := time.Duration(rng.Int64N(int64(time.Minute)))
		holder, voter := float64(lease.Window(l))/0.9, float64(l)/1.1 // true time, at the worst
		if holder > voter+1e-3 || holder < voter-10 {
			t.Fatalf(
				"lease %v: the holder acts for %v ns of true time, the voter is bound for %v ns",
				l,
				holder,
				voter,
			)
		}
	}
}

// LH1: a response counts for the round of claims that it answers. Later rounds, and rounds long
// past, count from their own.
func TestEachRoundHasItsSendInstant(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	first := s.sent(lease.Renew, "P1")
	s.after(300 * ms)
	s.asleep(50 * ms)
	s.response("P1", s.answer(first, true)) // the answer to the first round comes late
	if _, deadline, _ := s.Permission(); deadline != start+lease.Window(lease1) {
		t.Errorf("a late answer makes it %v", deadline-start)
	}
	renewal, _ := sent(s.after(100*ms), lease.Renew, "P1")
	begun := s.now
	s.asleep(20 * ms)
	s.response("P1", s.answer(renewal, true))
	if _, deadline, _ := s.Permission(); deadline < begun-100*ms+lease.Window(lease1) ||
		deadline > begun+lease.Window(lease1) {
		t.Errorf("a renewal makes it %v", deadline-start)
	}
	forged := s.answer(renewal, true)
	forged.Round += 1000
	before := s.now
	s.asleep(10 * ms)
	s.response("P1", forged)
	if _, deadline, _ := s.Permission(); deadline > before+lease.Window(lease1) {
		t.Error("an answer to no round counts")
	}
}

// LH1: the answer to a round so long past that its send instant is forgotten counts for nothing.
func TestForgottenRounds(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	for i := range 40 {
		late := s.sent(lease.Renew, "P2")
		for range 20 + i {
			renewal, ok := sent(s.after(100*ms), lease.Renew, "P1")
			if !ok {
				t.Fatal("no renewal")
			}
			s.response("P1", s.answer(renewal, true))
		}
		s.response("P2", s.answer(late, true))
		if until := s.believed("P2"); until > 0 {
			t.Fatalf(
				"the answer to a claim of %d heartbeats ago counts until %v",
				20+i,
				until-s.now,
			)
		}
		s.out.Requests = s.after(100 * ms)
		s.response("P1", s.answer(s.sent(lease.Renew, "P1"), true))
		s.out.Requests = s.after(100 * ms)
	}
}

// LH2: the majority-th best promise counts: of 3 the second, of 4 the third, of 5 the third.
func TestDeadlineIsTheMajorityThBest(t *testing.T) {
	for n, later := range map[int][]time.Duration{3: {10, 30}, 4: {10, 20, 30}, 5: {10, 20, 30, 40},
		2: {25}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rosterOf(n)
			self := r.Members[n-1].Name
			s := newSolo(t, r, self)
			s.do(lease.Event{Type: lease.Nominated, Process: self})
			asked := s.out.Requests
			for _, q := range r.Members[:n/2] { // with its own, a majority
				p, _ := sent(asked, lease.PreVote, q.Name)
				s.response(q.Name, s.answer(p, true))
			}
			claim := s.sent(lease.Vote, "P1")
			for _, q := range r.Members[:n/2] {
				s.response(q.Name, s.answer(claim, true))
			}
			if !s.may() {
				t.Fatal("a majority has promised, and it may not act")
			}
			// The renewals of the others are promised one after the other; its own counts at once.
			for i, d := range later {
				all := s.after(s.Next() - s.now + 1)
				p, ok := sent(all, lease.Renew, r.Members[i].Name)
				if !ok {
					t.Fatalf("round %d: no renewal after %v", i, d)
				}
				s.response(r.Members[i].Name, s.answer(p, true))
			}
			_, deadline, _ := s.Permission()
			if want := s.nthBest(n); deadline != want {
				t.Errorf(
					"it may act until %v, the majority-th best is %v",
					deadline-start,
					want-start,
				)
			}
		})
	}
}

// nthBest works out the deadline from each promise.
func (s *solo) nthBest(n int) time.Duration {
	var all []time.Duration
	s.Believed(0, func(_ lease.Member, until lease.Instant) { all = append(all, until) })
	slices.Sort(all)
	slices.Reverse(all)
	return all[n/2]
}

// LH4: what lapsed is over, even if the answer to a renewal comes a moment later; the next epoch is
// a higher one.
func TestLapsedLeaseIsOver(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	e := s.holding()
	renewals := s.after(100 * ms)
	s.asleep(lease.Window(lease1) - 100*ms)
	p, ok := sent(renewals, lease.Renew, "P1")
	if !ok {
		p = s.sent(lease.Renew, "P1")
	}
	s.response("P1", s.answer(p, true))
	if s.may() {
		t.Error("it resumes an epoch that lapsed")
	}
	if !s.out.Revoke {
		t.Error("it does not say that it has stopped")
	}
	for range 40 {
		if p, ok := sent(s.after(100*ms), lease.PreVote, "P1"); ok {
			s.response("P1", s.answer(p, true))
		}
		if p, ok := sent(s.out.Requests, lease.Vote, "P1"); ok {
			if p.Epoch <= e {
				t.Errorf("it claims %s after %s", p.Epoch, e)
			}
			return
		}
	}
	t.Error("it never claims again")
}

// LH1: whose responses count for the present epoch.
func TestWhoseResponsesCount(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  func(*lease.Incarnation)
		v     func(*lease.Response)
		holds bool
	}{
		{"a voter", func(*lease.Incarnation) {}, func(*lease.Response) {}, true},
		{"a voter in a later incarnation, with its state directory",
			func(l *lease.Incarnation) { l.Number++ }, func(*lease.Response) {}, true},
		{"a denial", func(*lease.Incarnation) {}, func(v *lease.Response) { v.Granted = false },
			false},
		{"with another state directory", func(l *lease.Incarnation) { l.StateID = "another" },
			func(*lease.Response) {}, false},
		{"another pod", func(l *lease.Incarnation) { l.UID = "another" }, func(*lease.Response) {},
			false},
		{"no voter", func(l *lease.Incarnation) { *l = incarnationOf(rosterOf(4), "P4") },
			func(*lease.Response) {}, false},
		{"nobody of the roster", func(l *lease.Incarnation) { l.Name = "P9" },
			func(*lease.Response) {}, false},
		{"of another epoch", func(*lease.Incarnation) {}, func(v *lease.Response) { v.Epoch++ },
			false},
		{"of another round", func(*lease.Incarnation) {}, func(v *lease.Response) { v.Round++ },
			false},
		{"of a PREVOTE", func(*lease.Incarnation) {},
			func(v *lease.Response) { v.Kind = lease.PreVote }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(4)
			r.Members[0].Voter, r.Members[3].Voter = true, false
			s := newSolo(t, r, "P3")
			p := s.seeking()
			from, v := incarnationOf(r, "P1"), s.answer(p, true)
			c.from(&from)
			c.v(&v)
			s.responseOf(from, v)
			if s.may() != c.holds {
				t.Errorf("may act is %v", s.may())
			}
		})
	}
}
