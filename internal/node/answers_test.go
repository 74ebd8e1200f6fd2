package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// calls has P1 follow P3, whose answers to its questions say whom P3 follows: at first this one,
// and after a while itself. It returns after how long P1 calls an election; ok is false if it does
// not within a second.
func calls(t *testing.T, follows string, while time.Duration) (after time.Duration, ok bool) {
	t.Helper()
	p := start(t, "P1", newRoster(false))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	if p.named() != "P3" {
		t.Fatalf("it follows %q", p.named())
	}
	answer := func() {
		sent := p.sent
		p.sent = nil
		for _, m := range sent {
			if m.Type == node.Question && m.To == "P3" {
				says := node.Message{Type: node.Answer, Sequence: m.Sequence, Follows: "P3"}
				if after < while {
					says.Follows = follows
				}
				p.receive("P3", says)
			}
		}
	}
	for begun := p.now; after < time.Second; after = p.now - begun {
		answer()
		if p.node.Election().State().Electing {
			return after, true
		}
		p.pass(ms)
	}
	return after, false
}

// R8: a coordinator that takes part in an election may be about to win it: where nobody announces
// the outcome, those whose round ends first ask too early. It has T to say so. One that follows
// another process coordinates no more.
func TestACoordinatorThatStillElects(t *testing.T) {
	const patience = 200 * ms // T: two heartbeats
	for _, c := range []struct {
		name    string
		follows string
		while   time.Duration
		calls   bool
		least   time.Duration
		most    time.Duration
	}{
		{"it coordinates", "P3", time.Second, false, 0, 0},
		{"it elects for a moment", "", 100 * ms, false, 0, 0},
		{"it elects for long", "", time.Second, true, patience, patience + 110*ms},
		{"it follows another one", "P2", time.Second, true, 0, 20 * ms},
	} {
		after, called := calls(t, c.follows, c.while)
		if called != c.calls || called && (after < c.least || after > c.most) {
			t.Errorf("%s: an election is called: %t, after %v", c.name, called, after)
		}
	}
}

// An answer to a question of before the announcement says nothing of whom P3 follows now.
func TestAnAnswerFromBeforeTheAnnouncement(t *testing.T) {
	p := start(t, "P1", newRoster(false))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	p.pass(ms)
	again := electionMessage(election.Coordinator, "P3")
	again.Election.Election.Sequence++
	p.step(node.Event{Type: node.AppSuspects, From: "P3"}) // it calls an election, which P3 wins
	p.receive("P3", again)
	if p.named() != "P3" || !p.follow("P3", "P2") {
		t.Fatalf("it names %q, and did: %s", p.named(), p.did())
	}
	p.live(100 * ms)
	if p.node.Election().State().Electing || p.named() != "P3" {
		t.Errorf("it names %q, electing %t", p.named(), p.node.Election().State().Electing)
	}
}

// doubted has P1 follow P3, whose COORDINATOR has just come; a VIEW of P2 says that P2 follows itself.
func doubted(t *testing.T, r *node.Roster) *process {
	t.Helper()
	p := start(t, "P1", r)
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	p.receive("P2", electionMessage(election.View, "P2"))
	p.did()
	return p
}

// follow has a process answer the newest question to it, and reports whether there was one.
func (p *process) follow(from, coordinator string) bool {
	for i, m := range slices.Backward(p.sent) {
		if m.Type == node.Question && m.To == from {
			p.sent = slices.Delete(p.sent, i, i+1)
			p.receive(from, node.Message{Type: node.Answer, Sequence: m.Sequence, Follows: coordinator})
			return true
		}
	}
	return false
}

// live lets time pass, while P3 answers that it coordinates.
func (p *process) live(d time.Duration) {
	p.t.Helper()
	for end := p.now + d; p.now < end; {
		p.pass(min(10*ms, end-p.now))
		p.follow("P3", "P3")
	}
}

// A process whose VIEW may have been sent before the announcement is asked when T is over. If it
// agrees by then, no election is held, and it is asked no more. As long as it does not answer, it is
// asked, and not taken for failed.
func TestWhoeverDoubtedIsAsked(t *testing.T) {
	const patience = 500 * ms // T, before anything has been measured
	for _, c := range []struct {
		follows string
		elects  bool
		asks    bool // again
	}{
		{"P3", false, false},
		{"P2", true, false},
		{"", false, true},
	} {
		p := doubted(t, newRoster(false))
		p.live(patience - 10*ms)
		if strings.Contains(p.did(), "question to P2") {
			t.Fatal("P2 is asked before T is over")
		}
		p.live(20 * ms)
		if !p.follow("P2", c.follows) {
			t.Fatal("P2 is not asked when T is over")
		}
		if elects := p.node.Election().State().Electing; elects != c.elects {
			t.Errorf("P2 follows %q, and an election is called: %t", c.follows, elects)
		}
		if c.elects {
			continue
		}
		p.did()
		p.live(4 * patience)
		if did := p.did(); strings.Contains(did, "question to P2") != c.asks || strings.Contains(did, "ELECTION") {
			t.Errorf("P2 follows %q; want it asked again: %t; P1 does: %s", c.follows, c.asks, did)
		}
		for _, n := range p.notes {
			if n.Type == node.Silent {
				t.Errorf("%s is taken for silent", n.Process)
			}
		}
	}
}

// F5: nobody is asked while this process knows who holds the lease.
func TestTheLeaseSettlesDoubts(t *testing.T) {
	for _, held := range []bool{false, true} {
		p := doubted(t, newRoster(true))
		if held {
			p.request("P3", lease.Renew, 1)
		}
		p.live(600 * ms)
		if asked := strings.Contains(p.did(), "question to P2"); asked == held {
			t.Errorf("P3 holds the lease: %t; P2 is asked: %t", held, asked)
		}
		p.request("P3", lease.Renew, 1)
		p.did()
		p.live(300 * ms)
		if did := p.did(); strings.Contains(did, "question to P2") {
			t.Errorf("P3 has renewed its lease, and P2 is asked: %s", did)
		}
	}
}
