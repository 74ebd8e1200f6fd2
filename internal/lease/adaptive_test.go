package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// adaptive is a group of five whose leases last from 100 ms to 1 s.
func adaptive() *play {
	r := rosterOf(5)
	r.LeaseMinimum = 100 * ms
	g := newPlay(r, false)
	g.nominate("P5")
	g.run(2 * time.Second)
	return g
}

// takesOver is how long nobody who runs holds the lease after something happened. What the app of a
// process that was killed had been told does not count.
func (g *play) takesOver(t *testing.T) time.Duration {
	t.Helper()
	for begun := g.now; g.now < begun+10*time.Second; g.run(ms) {
		if name, _ := g.holder(); name != "" {
			return g.now - begun
		}
	}
	t.Fatalf("nobody holds the lease for 10 s:\n%s", g.out.String())
	return 0
}

// LH10: on a quick network the lease is the shortest two seconds after an election, and a process
// that ends is replaced when it has run out. (In the harness T is 200 ms, whatever is heard.)
func TestAShortLease(t *testing.T) {
	g := adaptive()
	held, _ := g.holder()
	if held != "P5" {
		t.Fatalf("%q holds the lease:\n%s", held, g.out.String())
	}
	_, deadline, _ := g.actor("P5").Permission()
	if left := deadline - g.clock(g.actor("P5")); left > lease.Window(100*ms) {
		t.Errorf("it may act for another %v, want at most the window of 100 ms", left)
	}
	g.kill("P5")
	g.nominate("P4")
	if took := g.takesOver(t); took > 130*ms {
		t.Errorf("after %v somebody acts, want a lease of 100 ms and some messages:\n%s", took, g.out.String())
	}
}

// V9, LH10: a renewal that says when the next one is due is not waited for any longer than that,
// and a liar cannot make it longer than the roster's heartbeat.
func TestHowLongALeaseholderIsHeard(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{
		0:         200*ms + 2*100*ms,
		25 * ms:   200*ms + 2*25*ms,
		time.Hour: 200*ms + 2*100*ms,
	} {
		s := newSolo(t, rosterOf(3), "P1")
		heard := func() bool {
			v := s.askBy("P3", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)})
			return v != nil && v.Heard
		}
		s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1, Heartbeat: every})
		s.after(want - 2*ms)
		if !heard() {
			t.Errorf("with a heartbeat of %v it is not heard any more after %v", every, want-2*ms)
		}
		s.after(2 * ms)
		if heard() {
			t.Errorf("with a heartbeat of %v it is heard after %v still", every, want)
		}
	}
}

// V9: a voter that is bound for less than T and two heartbeats hears the leaseholder for as long as
// it is bound. One that does not vote is bound to nobody.
func TestALeaseholderIsHeardWhileThePromiseRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		voter bool
		votes time.Duration // the lease that a VOTE before asked for
		until time.Duration
	}{
		{"a voter", true, 0, 100 * ms},
		{"a voter that is bound for longer", true, lease1, 200*ms + 2*25*ms},
		{"not a voter", false, 0, 200*ms + 2*25*ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(3)
			r.Members[0].Voter = c.voter
			s := newSolo(t, r, "P1")
			if c.votes > 0 {
				s.askBy("P2", lease.Request{Kind: lease.Vote, Epoch: epoch(1, 1), Lease: c.votes})
			}
			s.askBy("P2", lease.Request{
				Kind:      lease.Renew,
				Epoch:     epoch(1, 1),
				Lease:     100 * ms,
				Heartbeat: 25 * ms,
			})
			heard := func() bool {
				return s.askBy("P3", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}).Heard
			}
			s.asleep(c.until - 1)
			if !heard() {
				t.Errorf("it is not heard any more before %v", c.until)
			}
			s.asleep(1)
			if heard() {
				t.Errorf("it is still heard after %v", c.until)
			}
			if s.Next() > s.now+ms {
				t.Errorf("it looks again %v later", s.Next()-s.now)
			}
		})
	}
}

// LH10: the only voter hears from nobody when it has stood still, and knows for how long it did,
// whether or not it asks again at once (LH4).
func TestTheOnlyVoterStandsStill(t *testing.T) {
	for _, c := range []struct{ led, stood, want time.Duration }{
		{3 * time.Second, 700 * ms, lease1},
		{3 * time.Second, 2 * time.Second, 100 * ms},
		{900 * ms, 700 * ms, lease1},
	} {
		r := rosterOf(1)
		r.LeaseMinimum = 100 * ms
		s := newSolo(t, r, "P1")
		s.do(lease.Event{Type: lease.Nominated, Process: "P1"})
		s.after(c.led)
		if asks := s.Asks(); asks != 100*ms {
			t.Fatalf("it asks for %v", asks)
		}
		s.asleep(c.stood)
		s.after(time.Second)
		if asks := s.Asks(); asks != c.want {
			t.Errorf("it led for %v and stood still for %v: it asks for %v, want %v", c.led, c.stood, asks, c.want)
		}
	}
}

// LH10: a process that holds no lease asks for votes for the longest one, since it knows little of
// the network; a renewal is for a short one, and says when the next is due.
func TestFirstVotesAreForTheLongestLease(t *testing.T) {
	r := rosterOf(3)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	if p := s.seeking(); p.Lease != lease1 || p.Heartbeat != 0 {
		t.Errorf("VOTE asks for %v, heartbeat %v", p.Lease, p.Heartbeat)
	}
	s = newSolo(t, r, "P3")
	s.holding()
	if p, ok := sent(s.after(r.Heartbeat), lease.Renew, "P1"); !ok || p.Lease != 100*ms || p.Heartbeat != 25*ms {
		t.Errorf("RENEW asks for %v, heartbeat %v", p.Lease, p.Heartbeat)
	}
}

// LH10: what such a VOTE asks for: no less than what is left of the lease, and the longest lease if
// the roster has a voter that the leaseholder has measured nothing of.
func TestHowMuchIsAskedForBesideALease(t *testing.T) {
	for _, c := range []struct {
		name   string
		held   time.Duration // for how long it has held the lease
		change func(*lease.Roster)
		least  time.Duration
		most   time.Duration
	}{
		{
			name:   "a second after its election",
			held:   1100 * ms,
			change: func(*lease.Roster) {},
			least:  100 * ms,
			most:   101 * ms,
		},
		{
			name:   "just elected",
			held:   100 * ms,
			change: func(*lease.Roster) {},
			least:  870 * ms,
			most:   901 * ms,
		},
		{
			name: "a voter less, which has answered until now",
			held: 1100 * ms,
			change: func(r *lease.Roster) {
				r.Members = append(r.Members[:1:1], r.Members[2:]...)
			},
			least: lease1,
			most:  lease1,
		},
		{
			name:   "a voter less, which has been silent",
			held:   1100 * ms,
			change: func(r *lease.Roster) { r.Members = r.Members[:4] },
			least:  100 * ms,
			most:   101 * ms,
		},
		{
			name:   "another state directory",
			held:   1100 * ms,
			change: func(r *lease.Roster) { r.Members[0].StateID = "another" },
			least:  lease1,
			most:   lease1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := leading(t, "P1", "P2")
			if c.held < time.Second {
				s = newSolo(t, s.roster, "P3")
				s.elected()
				s.answered(c.held, "P1", "P2")
			} else {
				s.answered(c.held-time.Second, "P1", "P2")
			}
			s.roster = next(s.roster, c.change)
			s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
			if p := s.sent(lease.Vote, "P1"); p.Lease < c.least || p.Lease > c.most {
				t.Errorf("VOTE asks for %v, want %v to %v", p.Lease, c.least, c.most)
			}
		})
	}
}

// LH5, V4: a roster with a shorter longest lease, and votes that wait for slow disks. Voters that have
// the roster deny what asks for more than it allows, so the renewals ask for no more.
func TestAShorterLongestLeaseWhileDisksAreSlow(t *testing.T) {
	r := rosterOf(3)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	old := s.holding()
	s.answered(lease1, "P1") // the votes have run out
	s.slow = true
	s.roster = next(r, func(r *lease.Roster) { r.Lease /= 2 })
	asked := s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}).Requests
	for written := s.now + 200*ms; s.now < written; asked = s.after(5 * ms) {
		for _, a := range asked {
			if a.To == "P1" && a.Request.Epoch == old {
				s.response("P1", s.answer(a.Request, a.Request.Lease <= s.roster.Lease))
			}
		}
		if !s.may() {
			t.Fatalf("it has lost its lease %v before the votes are written", written-s.now)
		}
	}
}

// LH10: the epoch changes in place while renewals go on. That its votes waited for disks says nothing
// of how long a lease must be.
func TestVotesInPlaceDoNotMakeTheLeaseLonger(t *testing.T) {
	r := rosterOf(3)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	old := s.holding()
	s.answered(lease1, "P1")
	s.slow = true
	s.roster = next(r, func(*lease.Roster) {})
	asked := s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}).Requests
	var votes []lease.Request
	for written := s.now + 60*ms; s.now < written; asked = s.after(5 * ms) {
		for _, a := range asked {
			switch {
			case a.To != "P1":
			case a.Request.Kind == lease.Vote:
				votes = append(votes, a.Request)
			case a.Request.Kind == lease.Renew:
				s.response("P1", s.answer(a.Request, true))
			}
		}
	}
	renewed := s.Renewed()
	s.do(s.write())
	for _, p := range votes {
		s.response("P1", s.answer(p, true))
	}
	if e, _, _ := s.Permission(); e == old || len(votes) < 2 {
		t.Fatalf("it acts under %s, after %d rounds of votes", e, len(votes))
	}
	if at := s.Renewed(); at < renewed {
		t.Errorf("the newest renewal was sent at %v, and counts as sent at %v", renewed, at)
	}
	if s.Asks() != 100*ms {
		t.Errorf("it asks for %v", s.Asks())
	}
}

// LH5: voters deny renewals as soon as they have a second new roster. If disks are slow, the lease is
// long by then.
func TestTwoRostersWhileDisksAreSlow(t *testing.T) {
	s := leading(t, "P1", "P2")
	s.answered(time.Second, "P1", "P2")
	old, _, _ := s.Permission()
	s.slow = true
	var asked []lease.Addressed
	change := func() {
		s.roster = next(s.roster, func(*lease.Roster) {})
		asked = s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}).Requests
	}
	change()
	second, written := s.now+100*ms, s.now+400*ms
	for s.now < written+50*ms {
		if s.now == second {
			change()
		}
		for s.now >= written && len(s.writes) > 0 {
			s.do(s.write())
		}
		for _, a := range asked {
			renewed := a.Request.Epoch == old && s.now < second
			voted := a.Request.Epoch.Generation() == s.roster.Generation && s.now >= written
			if (a.To == "P1" || a.To == "P2") && (renewed || voted) {
				s.response(a.To, s.answer(a.Request, true))
			}
		}
		if !s.may() {
			t.Fatalf("it does not hold the lease %v after the first roster", s.now-second+100*ms)
		}
		asked = s.after(5 * ms)
	}
	if e, _, _ := s.Permission(); e.Generation() != s.roster.Generation {
		t.Errorf("it holds %s", e)
	}
}
