package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// asksAgain brings the PREVOTE of P12, whose lease has lapsed.
func (s *solo) asksAgain() {
	s.askBy("P12", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0), Round: 1})
}

// missed has the link to P12 closed, so that this process asks the voters.
func (s *solo) missed() {
	s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
	s.do(lease.Event{Type: lease.Tick})
}

// succeeds has a majority say that it does not hear P12, and the algorithm name this process.
func (s *solo) succeeds() {
	s.t.Helper()
	p := s.sent(lease.PreVote, "P2")
	for _, q := range []string{"P2", "P3", "P4", "P5", "P6", "P7"} {
		s.response(q, s.answer(p, false))
	}
	s.do(lease.Event{Type: lease.Nominated, Process: "P11"})
	s.sent(lease.PreVote, "P2")
}

// C8: if the leaseholder asks for its lease again, a process leaves it T to get it.
func TestTheLeaseholderAsksFirst(t *testing.T) {
	for name, c := range map[string]struct{ before, then func(*solo) }{
		"before it is missed":              {func(*solo) {}, (*solo).missed},
		"while the voters are asked":       {(*solo).missed, func(*solo) {}},
		"while another one asks for votes": {func(s *solo) { s.missed(); s.succeeds() }, func(*solo) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := lostIn(t, "P11")
			c.before(s)
			s.asksAgain()
			c.then(s)
			if took := s.asksAfter(time.Second); took < s.T || took > s.T+2*ms {
				t.Errorf("it asks after %v, want %v", took, s.T)
			}
		})
	}
}

// C8: it does so once, until somebody leads: a leaseholder that gets no answers must not keep the
// others from replacing it.
func TestTheLeaseholderAsksFirstOnce(t *testing.T) {
	s := lostIn(t, "P11")
	s.missed()
	s.asksAgain()
	s.after(s.T / 2)
	s.asksAgain()
	if took := s.asksAfter(time.Second); took > s.T/2+2*ms {
		t.Errorf("when it has been asked twice it asks after %v, want %v", took, s.T/2)
	}
	s.askBy("P12", held(epoch(1, 2)))
	s.asksAgain()
	s.missed()
	if took := s.asksAfter(time.Second); took < s.T {
		t.Errorf("when P12 has led again it asks after %v, want %v", took, s.T)
	}
}

// C8: what voters answer to a question that was given up does not bring the next one forward.
func TestWhoGivesWayHearsNoLateAnswers(t *testing.T) {
	s := lostIn(t, "P11")
	s.missed()
	s.succeeds()
	p := s.sent(lease.PreVote, "P2")
	for _, q := range []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7"} {
		v := s.answer(p, false)
		v.Holder, v.Remaining = "P12", 50*ms
		s.response(q, v)
	}
	s.asksAgain()
	v := s.answer(p, false)
	v.Holder, v.Remaining = "P12", ms
	s.response("P8", v)
	if took := s.asksAfter(time.Second); took < s.T {
		t.Errorf("it asks after %v, want %v", took, s.T)
	}
}

// C8: who gives way asks for no votes, whatever the voters answer to what it has asked before.
func TestWhoGivesWayAsksForNoVotes(t *testing.T) {
	s := lostIn(t, "P11")
	s.missed()
	s.succeeds()
	p := s.sent(lease.PreVote, "P2")
	s.asksAgain()
	for _, q := range []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7"} {
		if n := count(s.response(q, s.answer(p, true)).Requests, lease.Vote); n > 0 {
			t.Fatalf("%s would vote for it, and it asks %d processes for votes", q, n)
		}
	}
}

// C8: nobody else is given way so.
func TestAnotherProcessIsNotWaitedFor(t *testing.T) {
	s := lostIn(t, "P11")
	s.askBy("P10", lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0), Round: 1})
	s.missed()
	if took := s.asksAfter(time.Second); took > 2*ms {
		t.Errorf("it asks after %v, want at once", took)
	}
}
