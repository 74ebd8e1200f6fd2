package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// An answer that comes after this process has elected itself says how long T should have been, so T
// becomes twice as long; but not if the answer may have waited for a link.
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
		p.openFront()
		p.pass(600 * ms)
		c.then(p, called)
		if got := p.node.T(); (got == 1000*ms) != c.long || !c.long && got != 500*ms {
			t.Errorf("%s: T is %v", name, got)
		}
	}
}

// When a second process answers late, too, it is not only the first one that stood still.
func TestTwoLateAnswersOfAnElection(t *testing.T) {
	p := start(t, "P001", large("Bully", 50))
	called := p.sent[0].Election.Election
	p.openFront()
	p.pass(800 * ms)
	for _, late := range []struct {
		from string
		want time.Duration
	}{{"P050", 1000 * ms}, {"P050", 1000 * ms}, {"P049", 1600 * ms}, {"P048", 1600 * ms}} {
		m := electionMessage(election.OK, late.from)
		m.Election.Election = called
		p.receive(late.from, m)
		if got := p.node.T(); got != late.want {
			t.Errorf("after an answer of %s T is %v, want %v", late.from, got, late.want)
		}
	}
}

// openFront opens the links of a crowd of fifty to its front.
func (p *process) openFront() {
	for i := range 12 {
		p.step(node.Event{Type: node.LinkUp, From: fmt.Sprintf("P%03d", 50-i)})
	}
}

// While a link of a crowd is being made, T is not over; nor does an answer of the next that are asked
// say anything of those that have not answered.
func TestAnswersThatWaitForALink(t *testing.T) {
	p := start(t, "P001", large("Bully", 50))
	called := p.sent[0].Election.Election
	ok := electionReply(election.OK, called)
	p.pass(600 * ms) // no link of the front is open
	p.receive("P050", ok)
	if got := p.node.T(); got != 500*ms {
		t.Errorf("links are being made, and T is %v", got)
	}

	p = start(t, "P001", large("Bully", 50))
	ok = electionReply(election.OK, p.sent[0].Election.Election)
	p.pass(700 * ms)
	p.openFront()
	p.pass(600 * ms)
	p.receive("P050", ok)
	if got := p.node.T(); got != 1000*ms {
		t.Errorf("P050 answers 600 ms after its link has opened, and T is %v", got)
	}
	p.receive("P049", ok)
	if got := p.node.T(); got != 1200*ms {
		t.Errorf("so does P049, and T is %v", got)
	}

	p = start(t, "P001", large("Bully", 50))
	ok = electionReply(election.OK, p.sent[0].Election.Election)
	p.openFront()
	p.pass(600 * ms) // the next twelve are asked
	p.step(node.Event{Type: node.LinkUp, From: "P030"})
	p.receive("P030", ok)
	if got := p.node.T(); got != 500*ms {
		t.Errorf("P030 answers in time, and T is %v", got)
	}
	p.receive("P050", ok)
	if got := p.node.T(); got != 1000*ms {
		t.Errorf("P050 answers after 600 ms, and T is %v", got)
	}
}

// That is so in a Guarded group, too, but not for the lease protocol: a pre-vote waits for the
// roster's timeout.
func TestTheLeaseProtocolDoesNotWaitForACrowd(t *testing.T) {
	p := start(t, "P049", guardedCrowd(50))
	called := p.sent[0].Election.Election
	p.step(node.Event{Type: node.LinkUp, From: "P050"})
	p.pass(600 * ms)
	p.receive("P050", electionReply(election.OK, called))
	if got := p.node.T(); got != 1000*ms {
		t.Errorf("T is %v", got)
	}
	for _, m := range guardedCrowd(50).Members {
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
