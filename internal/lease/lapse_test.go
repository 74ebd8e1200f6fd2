package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// lapsing is P3 of five, which has led for this long, and whose lease has just lapsed. It returns the
// epoch that it had.
func lapsing(t *testing.T, led time.Duration) (*solo, lease.Epoch) {
	t.Helper()
	r := rosterOf(5)
	r.LeaseMinimum = 100 * ms
	s := newSolo(t, r, "P3")
	s.elected()
	s.answered(led, "P1", "P2")
	e, _, _ := s.Permission()
	s.standStill()
	return s, e
}

// standStill has it stand still until its lease has lapsed, while its voters are still bound to it.
func (s *solo) standStill() {
	s.t.Helper()
	_, deadline, _ := s.Permission()
	s.asleep(deadline - s.now)
	if out := s.do(lease.Event{Type: lease.Tick}); s.may() || !out.Revoke {
		s.t.Fatalf("it may act: %t, and revokes: %t", s.may(), out.Revoke)
	}
}

// anotherLeads has three voters answer its PREVOTE that they hear P5.
func (s *solo) anotherLeads() {
	s.t.Helper()
	p := s.sent(lease.PreVote, "P1")
	for _, q := range []string{"P1", "P2", "P4"} {
		v := s.answer(p, false)
		v.Holder, v.HolderEpoch, v.Heard, v.Remaining = "P5", epoch(1, 9), true, 90*ms
		s.response(q, v)
	}
}

// LH4: a leaseholder that stood still for a moment too long asks for the lease again, under another
// epoch, and gives nothing back meanwhile. Nor does it listen to elections (F5). Then it goes on as
// if nothing had been: whoever answered before may be its heir (LH8).
func TestALapsedLeaseIsAskedForAgain(t *testing.T) {
	s, before := lapsing(t, 3*time.Second)
	if n := count(s.out.Requests, lease.Release); n > 0 || s.Rests() || !s.IgnoresElections() {
		t.Errorf("it releases %d times; it rests: %t; it listens: %t", n, s.Rests(), !s.IgnoresElections())
	}
	s.granted(lease.PreVote, lease.Vote)
	if e, _, _ := s.Permission(); !s.may() || e <= before || s.Rests() {
		t.Fatalf("it may act: %t, under %s after %s; it rests: %t", s.may(), e, before, s.Rests())
	}
	s.after(ms)
	if !s.may() || s.Rests() {
		t.Errorf("a moment later it may act: %t; it rests: %t", s.may(), s.Rests())
	}
	s.do(lease.Event{Type: lease.Withdrawn})
	if p := s.sent(lease.StepDown, "P1"); p.Heir != "P2" {
		t.Errorf("its heir is %q", p.Heir)
	}
}

// LH4: who asks for its lease in vain gives it back, with what it has sought since, and rests. It
// tries once.
func TestALapsedLeaseIsAskedForInVain(t *testing.T) {
	for name, c := range map[string]struct {
		sought bool
		then   func(*solo) []lease.Addressed
	}{
		"nobody answers": {false, func(s *solo) []lease.Addressed { return s.after(s.roster.Timeout + ms) }},
		"another one leads": {false, func(s *solo) []lease.Addressed {
			s.anotherLeads()
			return s.out.Requests
		}},
		"its votes are denied": {true, func(s *solo) []lease.Addressed {
			p := s.sent(lease.Vote, "P1")
			for _, q := range []string{"P1", "P2", "P4"} {
				s.response(q, s.answer(p, false))
			}
			return s.out.Requests
		}},
		"a roster comes": {false, func(s *solo) []lease.Addressed {
			s.roster = next(s.roster, func(*lease.Roster) {})
			return s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}).Requests
		}},
		"a roster comes while it seeks votes": {true, func(s *solo) []lease.Addressed {
			s.roster = next(s.roster, func(*lease.Roster) {})
			return s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster}).Requests
		}},
		"its app falls ill": {false, func(s *solo) []lease.Addressed {
			return s.do(lease.Event{Type: lease.Withdrawn}).Requests
		}},
		"its app falls ill while it seeks votes": {true, func(s *solo) []lease.Addressed {
			return s.do(lease.Event{Type: lease.Withdrawn}).Requests
		}},
		"its disk fails": {true, func(s *solo) []lease.Addressed {
			return s.do(lease.Event{Type: lease.WriteFailed}).Requests
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, epoch := lapsing(t, 3*time.Second)
			if c.sought {
				s.granted(lease.PreVote)
				epoch = s.sent(lease.Vote, "P1").Epoch
			}
			all := c.then(s)
			p, ok := sent(all, lease.Release, "P1")
			if !ok || count(all, lease.Release) != 4 || p.Epoch != epoch {
				t.Errorf("it releases %s (%t) %d times, want %s", p.Epoch, ok, count(all, lease.Release), epoch)
			}
			if s.may() || !s.Rests() || count(all, lease.PreVote) > 0 && name != "nobody answers" {
				t.Errorf("it may act: %t; it rests: %t; it sends %v", s.may(), s.Rests(), all)
			}
		})
	}
}

// LH4, C8: who learns in its rest that another one leads asks about that one as anybody does.
func TestWhoHasAskedInVainWatchesTheNextLeaseholder(t *testing.T) {
	s, _ := lapsing(t, 3*time.Second)
	s.anotherLeads()
	if holder, _, _ := s.Following(); holder != "P5" || !s.Rests() {
		t.Fatalf("it follows %q; it rests: %t", holder, s.Rests())
	}
	if count(s.after(s.T*3/2+ms), lease.PreVote) == 0 || !s.Rests() {
		t.Errorf("it asks nobody whether P5 leads still; it rests: %t", s.Rests())
	}
}

// LH4: who stands still every now and then must not keep the lease.
func TestWhoStandsStillAgainGivesItsLeaseBack(t *testing.T) {
	for _, c := range []struct {
		name      string
		led, then time.Duration // until its lease lapses, and until the next one does; 0: it does not
		rests     bool
	}{
		{"it has led for long", 1200 * ms, 0, false},
		{"it has just taken the lease", 900 * ms, 0, true},
		{"a lease has just lapsed", 3 * time.Second, 900 * ms, true},
		{"a lease lapsed long ago", 3 * time.Second, 1200 * ms, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := lapsing(t, c.led)
			if c.then > 0 {
				s.granted(lease.PreVote, lease.Vote)
				s.answered(c.then, "P1", "P2")
				s.standStill()
			}
			if n := count(s.out.Requests, lease.Release); n > 0 != c.rests || s.Rests() != c.rests {
				t.Errorf("it releases %d times; it rests: %t", n, s.Rests())
			}
		})
	}
}

// LH4: a leaseholder that lapses rests for a rival that has answered lately, and also when it stood
// still itself, because then it cannot know. It does not rest for rivals that are dead. If it asks
// again first, the same holds afterwards.
func TestLapsedLeaseholderRestsForWhoAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		beat  func(*solo) // what happens in a heartbeat after the others have promised
		rests bool
	}{
		{"the others are dead", func(s *solo) { s.after(s.roster.Heartbeat) }, false},
		{"it stands still", func(s *solo) { s.asleep(2 * s.roster.Lease); s.after(ms) }, true},
		{"one of four answers", func(s *solo) {
			p, ok := sent(s.after(s.roster.Heartbeat), lease.Renew, "P1")
			if ok {
				s.response("P1", s.answer(p, true))
			}
		}, true},
	} {
		for _, led := range []time.Duration{0, 3 * time.Second} {
			t.Run(fmt.Sprint(c.name, " after ", led), func(t *testing.T) {
				s := newSolo(t, rosterOf(5), "P3")
				s.elected()
				if led > 0 {
					s.answered(led, "P1", "P2")
				}
				for end := s.now + 4*s.roster.Lease; s.may(); c.beat(s) {
					if s.now > end {
						t.Fatal("it holds on")
					}
				}
				s.after(s.roster.Timeout + ms)
				if s.Rests() != c.rests {
					t.Errorf("it rests: %t", s.Rests())
				}
			})
		}
	}
}

// LH7: a lease that lapses while the clocks of the machine disagree is not asked for again.
func TestWhoseClocksDisagreeDoesNotAskAgain(t *testing.T) {
	s := leading(t, "P1", "P2")
	s.answered(2*time.Second, "P1", "P2")
	s.drift.Raw -= 90 * ms // it was suspended for so long
	s.standStill()
	if p, ok := sent(s.out.Requests, lease.PreVote, "P1"); ok || !s.Rests() {
		t.Errorf("it asks again (%t): %v; it rests: %t", ok, p, s.Rests())
	}
}

// LH4: a lease that lapses while an epoch of the next roster is sought beside it is given back to
// that roster's members: the newcomers among them may have promised the new epoch.
func TestALapsedLeaseIsGivenBackToTheNewcomers(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	s.answered(3*lease1, "P1", "P2")
	s.roster = next(s.roster, func(r *lease.Roster) {
		r.Members = append(r.Members, lease.Member{
			Name:     "P4",
			UID:      "uid-P4",
			StateID:  "state-P4",
			Priority: 1,
			Voter:    true,
		})
	})
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	sought := s.sent(lease.Vote, "P4")
	s.asleep(lease1)
	out := s.do(lease.Event{Type: lease.Tick})
	if p, ok := sent(out.Requests, lease.Release, "P4"); !ok || p.Epoch != sought.Epoch || s.may() {
		t.Errorf("it sought %s, and releases %v (%t)", sought.Epoch, p.Epoch, ok)
	}
}
