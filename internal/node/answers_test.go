package node_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
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
