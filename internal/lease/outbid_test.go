package lease_test

import (
	"testing"

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
