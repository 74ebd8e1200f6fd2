package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// LH9: a voter that has promised a higher ballot to one that came to nothing is got back with one
// ballot more, beside the epoch held.
func TestOutbid(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	e := s.holding()
	renewal, _ := sent(s.after(101*ms), lease.Renew, "P2")
	v := s.answer(renewal, false)
	v.Highest = e + 6
	s.response("P2", v)
	claim := s.sent(lease.Vote, "P2")
	if claim.Epoch != e+7 {
		t.Fatalf("it claims %s", claim.Epoch)
	}
	if got, _, _ := s.Permission(); got != e || !s.may() {
		t.Errorf("meanwhile it acts under %s", got)
	}
	s.response("P2", s.answer(claim, true))
	if got, _, _ := s.Permission(); got != e+7 || s.out.Revoke {
		t.Errorf("it acts under %s", got)
	}
}

// LH9, C3: if it is outbid again meanwhile, it asks for the lowest ballot that a majority of the
// voters can promise; a process that does not vote is none of them.
func TestOutbidTwice(t *testing.T) {
	r := rosterOf(4)
	r.Members[3].Voter = false
	s := newSolo(t, r, "P3")
	e := s.holding()
	renewal, _ := sent(s.after(101*ms), lease.Renew, "P2")
	v := s.answer(renewal, false)
	v.Highest = e + 6
	s.response("P2", v)
	claim := s.sent(lease.Vote, "P2")
	for name, highest := range map[string]lease.Epoch{"P1": e + 9, "P2": e + 12} {
		v := s.answer(claim, false)
		v.Highest = highest
		s.response(name, v)
	}
	if again := s.sent(lease.Vote, "P1"); again.Epoch != e+10 {
		t.Errorf("it claims %s after %s", again.Epoch, claim.Epoch)
	}
}

// LH9: also its own. It was silent at first (V1), so others made this process the leaseholder; then
// it promised a higher ballot, which came to nothing.
func TestOutbidsForItsOwnVoter(t *testing.T) {
	s := startSolo(t, rosterOf(3), "P3", lease.State{})
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	p := s.sent(lease.PreVote, "P1")
	for _, voter := range []string{"P1", "P2"} {
		s.response(voter, s.answer(p, true))
	}
	p = s.sent(lease.Vote, "P1")
	for _, voter := range []string{"P1", "P2"} {
		s.response(voter, s.answer(p, true))
	}
	e := p.Epoch
	for end := s.now + lease1 + 300*ms; s.now < end; { // its own voter renews nothing meanwhile
		if s.now == start+lease1-50*ms {
			s.asleep(50 * ms) // P2 asks before this process renews
			s.want(true, "P2", e+1)
			s.askBy("P2", lease.Request{Kind: lease.Release, Epoch: e + 1})
		}
		asked := append(s.out.Requests, s.after(50*ms)...)
		if claim, ok := sent(asked, lease.Vote, "P1"); ok && claim.Epoch > e {
			if claim.Epoch != e+2 {
				t.Errorf("it claims %s", claim.Epoch)
			}
			return
		}
		for _, voter := range []string{"P1", "P2"} {
			if renewal, ok := sent(asked, lease.Renew, voter); ok {
				s.response(voter, s.answer(renewal, true))
			}
		}
	}
	got, _, _ := s.Permission()
	t.Errorf("it acts under %s, and its own voter does not renew that", got)
}

// LH9: one that lies about its ballot, or uses a newer roster, moves nothing.
func TestNotOutbid(t *testing.T) {
	for name, lie := range map[string]func(*lease.Response, lease.Epoch){
		"far ahead": func(v *lease.Response, e lease.Epoch) { v.Highest = e + 5000 },
		"a newer roster": func(v *lease.Response, e lease.Epoch) {
			v.Highest, v.Generation = e,
				2
		},
		"just denies": func(v *lease.Response, _ lease.Epoch) { v.Highest = 0 },
		"bound to another one still": func(v *lease.Response, e lease.Epoch) {
			v.Highest, v.Holder, v.Remaining = e+1, "P1", 500*ms
		},
		"bound to another one, and hears this one": func(v *lease.Response, e lease.Epoch) {
			v.Highest, v.Holder, v.Heard, v.Remaining = e+1, "P3", true, 500*ms
		},
		"bound to nobody, because its write has failed": func(v *lease.Response, e lease.Epoch) {
			v.Highest, v.Remaining = e, 500*ms
		},
		"a lower promise": func(v *lease.Response, e lease.Epoch) { v.Highest = e - 1 },
	} {
		s := newSolo(t, rosterOf(3), "P3")
		e := s.holding()
		renewal, _ := sent(s.after(101*ms), lease.Renew, "P2")
		v := s.answer(renewal, false)
		lie(&v, e)
		s.response("P2", v)
		if p, ok := sent(append(s.out.Requests, s.after(101*ms)...), lease.Vote, "P2"); ok &&
			p.Epoch != e {
			t.Errorf("%s: it claims %s", name, p.Epoch)
		}
	}
}

// renewing answers what P3 asks of P1, as it should be, and of P2, for so long. It returns how many
// epochs P3 has acted under.
func (s *solo) renewing(d time.Duration, p2 func(lease.Request) lease.Response) (epochs int) {
	s.t.Helper()
	last := lease.Epoch(0)
	for end := s.now + d; s.now < end; {
		asked := s.after(50 * ms)
		for _, k := range []lease.Kind{lease.Renew, lease.Vote} {
			if p, ok := sent(asked, k, "P1"); ok {
				s.response("P1", s.answer(p, true))
				p, _ = sent(asked, k, "P2")
				s.response("P2", p2(p))
			}
		}
		e, _, ok := s.Permission()
		if !ok {
			s.t.Fatalf("%v after it began it holds nothing", s.now-start)
		}
		if e != last {
			epochs, last = epochs+1, e
		}
	}
	return epochs
}

// LH9: a voter that denies each renewal and claims 14 ballots more is outbid after 1, 2, 4, 8, 16
// and 32 leases. It used to be once a lease, without end: each time a new epoch, which each voter
// writes to its disk, and a write of the status.
func TestALyingVoterIsOutbidLessAndLess(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	honest := func(p lease.Request) lease.Response { return s.answer(p, true) }
	lies := func(p lease.Request) lease.Response {
		v := s.answer(p, false)
		v.Highest = p.Epoch + 14
		return v
	}
	if n := s.renewing(60*time.Second, lies); n < 3 || n > 7 {
		t.Errorf("%d epochs in 60 leases", n)
	}
	s.renewing(64*time.Second, honest)
	if n := s.renewing(40*time.Second, lies); n > 2 {
		t.Errorf("a minute later %d epochs in 40 leases", n)
	}
	s.renewing(time.Hour, honest)
	if n := s.renewing(3*time.Second, lies); n < 3 {
		t.Errorf("an hour later %d epochs in 3 leases", n)
	}
}

// LH9: a voter that lies does not keep others from being won back.
func TestALyingVoterDoesNotHinderAnotherOne(t *testing.T) {
	s := newSolo(t, rosterOf(5), "P5")
	s.elected()
	deniedBy := func(d time.Duration, name string) (e lease.Epoch) {
		for end := s.now + d; s.now < end; {
			asked := s.after(50 * ms)
			for _, k := range []lease.Kind{lease.Renew, lease.Vote} {
				if p, ok := sent(asked, k, "P1"); ok {
					s.response("P1", s.answer(p, true))
					s.response("P3", s.answer(p, true))
				}
			}
			if p, ok := sent(asked, lease.Renew, name); ok {
				v := s.answer(p, false)
				v.Highest = p.Epoch + 1
				s.response(name, v)
			}
		}
		e, _, _ = s.Permission()
		return e
	}
	before := deniedBy(20*time.Second, "P2")
	if e := deniedBy(time.Second, "P4"); e <= before {
		t.Errorf("P4 is not won back: it acts under %s, as before", e)
	}
}

// PR2: an epoch that changes in place with the same voters does not begin the time anew in which
// nobody is offered the lease; other voters do. With a lease that is shorter than that time, a voter
// that lied used to switch preemption off.
func TestAnEpochInPlaceDoesNotPutPreemptionOff(t *testing.T) {
	for voters, want := range map[string]bool{"the same": true, "others": false} {
		r := rosterOf(4)
		r.Preemption = lease.Always
		r.Members[3].Voter, r.Members[3].Priority = false, 0
		s := newSolo(t, r, "P2")
		s.holding()
		s.response("P3", s.answer(s.mustRenew("P3"), true))
		renewal := s.mustRenew("P1")
		s.response("P1", s.answer(renewal, true))
		s.response("P3", s.answer(renewal, true))
		if voters == "others" {
			next := *r
			next.Generation, next.Members = 2, append([]lease.Member(nil), r.Members...)
			next.Members[3].Voter = true
			s.roster = &next
			s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		} else {
			v := s.answer(renewal, false)
			v.Highest = renewal.Epoch + 14
			s.response("P1", v)
		}
		vote := s.sent(lease.Vote, "P3")
		s.response("P1", s.answer(vote, true))
		s.response("P3", s.answer(vote, true))
		if e, _, _ := s.Permission(); e != vote.Epoch {
			t.Fatalf("it acts under %s, not %s", e, vote.Epoch)
		}
		s.response("P3", s.answer(s.mustRenew("P3"), true))
		all := append(s.out.Requests, s.after(150*ms)...)
		if _, ok := sent(all, lease.Transfer, "P3"); ok != want {
			t.Errorf("%s: %v after it began to lead P3 is offered the lease: %t", voters, s.now-start, ok)
		}
	}
}

// mustRenew is the next renewal that a process gets.
func (s *solo) mustRenew(name string) lease.Request {
	s.t.Helper()
	renewal, ok := sent(s.after(101*ms), lease.Renew, name)
	if !ok {
		s.t.Fatalf("%s gets no renewal", name)
	}
	return renewal
}
