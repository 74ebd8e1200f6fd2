package node_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// An answer that comes after this process has elected itself says how long T should have been; but
// not if it may have waited for a link.
func TestALateAnswerOfAnElection(t *testing.T) {
	for name, c := range map[string]struct {
		then func(p *process, called election.ID)
		long bool
	}{
		"an answer": {func(p *process, called election.ID) {
			p.receive("P050", electionReply(election.OK, called))
		}, true},
		"of another election": {func(p *process, called election.ID) {
			called.Sequence++
			p.receive("P050", electionReply(election.OK, called))
		}, false},
		"of an earlier incarnation's election": {func(p *process, called election.ID) {
			called.Incarnation++
			p.receive("P050", electionReply(election.OK, called))
		}, false},
		"no answer": {func(p *process, called election.ID) {
			p.receive("P050", electionReply(election.View, called))
		}, false},
		"a link has opened": {func(p *process, called election.ID) {
			p.step(node.Event{Type: node.LinkUp, From: "P050"})
			p.receive("P050", electionReply(election.OK, called))
		}, false},
		"much later": {func(p *process, called election.ID) {
			p.now += 10_000 * ms
			p.receive("P050", electionReply(election.OK, called))
		}, false},
	} {
		p := start(t, "P001", large("Bully", 50))
		called := p.sent[0].Election.Election
		p.pass(600 * ms)
		c.then(p, called)
		if got := p.node.T(); (got == 1200*ms) != c.long || !c.long && got != 500*ms {
			t.Errorf("%s: T is %v", name, got)
		}
	}
}

// That is so in a Guarded group, too, but not for the lease protocol: a pre-vote waits for the
// roster's timeout.
func TestTheLeaseProtocolDoesNotWaitForACrowd(t *testing.T) {
	p := start(t, "P001", guardedCrowd(50))
	called := p.sent[0].Election.Election
	p.pass(600 * ms)
	p.receive("P050", electionReply(election.OK, called))
	if got := p.node.T(); got != 1200*ms {
		t.Errorf("T is %v", got)
	}
	for _, m := range guardedCrowd(50).Members[1:] {
		p.step(node.Event{Type: node.LinkUp, From: m.Name})
	}
	p.pass(600 * ms)
	if got := p.node.View().Phase; got != "NoMajority" {
		t.Errorf("600 ms after it has asked the voters it is %q", got)
	}
}

// One that comes in time, and another one after that, say nothing of T.
func TestAnAnswerInTime(t *testing.T) {
	p := start(t, "P001", large("Bully", 50))
	called := p.sent[0].Election.Election
	p.pass(300 * ms)
	for range 2 {
		p.receive("P050", electionReply(election.OK, called))
		p.pass(400 * ms)
	}
	if got := p.node.T(); got != 500*ms {
		t.Errorf("T is %v", got)
	}
}

func electionReply(k election.Kind, called election.ID) node.Message {
	m := electionMessage(k, "P050")
	m.Election.Election = called
	return m
}
