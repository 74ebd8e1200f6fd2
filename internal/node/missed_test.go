package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// C8: a leaseholder stops right after it has answered the failure detector, which would miss it
// later than the voters do. The process before it on the ring does not send it the messages of the
// election, for which it would wait for T: those of its own, and those of another one that has
// missed the leaseholder sooner.
func TestARingSkipsALeaseholderThatNobodyHears(t *testing.T) {
	for name, c := range map[string]struct {
		algorithm string
		kind      election.Kind
		called    bool // by P1, before this process misses the leaseholder
	}{
		"it misses it first":    {"RingList", election.Election, false},
		"another one has first": {"ActiveListRing", election.Elect, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoster(true)
			r.Algorithm = c.algorithm
			p := start(t, "P2", r)
			for _, name := range []string{"P1", "P3"} {
				p.step(node.Event{Type: node.LinkUp, From: name})
			}
			answered := false
			for end := p.now + 3*leaseTime; p.now < end || !answered; {
				p.renewedShortly("P3")
				p.did()
				p.pass(25 * ms)
				answered = strings.Contains(p.did(), "question to P3")
				p.answerQuestions("P3")
			}
			if c.called {
				m := electionMessage(c.kind, "P1")
				m.Algorithm, m.Election.Hops = c.algorithm, 5
				p.receive("P1", m)
			}
			p.pass(90 * ms)
			if did := p.did(); !strings.Contains(did, "PREVOTE 1.0 to P1") {
				t.Fatalf("P3 is not heard any more, and P1 is not asked: %s", did)
			}
			p.deny("P1")
			if did := p.did(); !strings.Contains(did, string(c.kind)+" to P1") ||
				strings.Contains(did, "to P3") {
				t.Errorf("nobody hears P3, and the message went to: %s", did)
			}
			p.pass(500 * ms)
			silent := func(n node.Note) bool { return n.Type == node.Silent && n.Process == "P3" }
			if n := len(p.notes) - len(slices.DeleteFunc(slices.Clone(p.notes), silent)); n != 1 {
				t.Errorf("it says %d times that P3 is silent, want once", n)
			}
			p.answerQuestions("P3")
			if !p.node.Election().Linked("P3") {
				t.Error("P3 answers again, and is skipped")
			}
		})
	}
}

// renewedShortly brings a renewal of a lease of 100 ms.
func (p *process) renewedShortly(from string) {
	p.receive(from, node.Message{
		Type:    node.LeaseRequest,
		ReplyTo: from,
		Request: lease.Request{
			Kind:      lease.Renew,
			Group:     "g",
			Epoch:     lease.NewEpoch(1, 1),
			Lease:     100 * ms,
			Heartbeat: 25 * ms,
		},
	})
}

// answerQuestions has a process answer what it was asked since the last time.
func (p *process) answerQuestions(from string) {
	for _, m := range p.sent {
		if m.To == from && m.Type == node.Question {
			p.receive(from, node.Message{
				Type:       node.Answer,
				Sequence:   m.Sequence,
				Generation: 1,
				Follows:    from,
			})
		}
	}
	p.sent = nil
}
