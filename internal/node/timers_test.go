package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// linked starts a process of a Classic group whose links are open.
func linked(t *testing.T, name string) *process {
	p := boot(t, name, lease.State{})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(false)})
	for _, m := range newRoster(false).Members {
		if m.Name != name {
			p.step(node.Event{Type: node.LinkUp, From: m.Name})
		}
	}
	return p
}

// answered has P3 answer the last ELECTION of a process, and say no more.
func (p *process) answered() {
	p.t.Helper()
	for _, m := range slices.Backward(p.sent) {
		if m.Type == node.Election && m.Election.Kind == election.Election && m.To == "P3" {
			answer := electionMessage(election.OK, "P3")
			answer.Election.Election = m.Election.Election
			p.receive("P3", answer)
			return
		}
	}
	p.t.Fatal("P3 was not asked")
}

// timedOut are the timers of the election algorithm that have run out.
func (p *process) timedOut() (timers []election.Timer) {
	for _, n := range p.notes {
		if n.Type == node.TimedOut {
			timers = append(timers, n.Timer)
		}
	}
	return timers
}

// A process waits for answers for T, no shorter and no longer.
func TestATimerRunsOutAfterT(t *testing.T) {
	p := linked(t, "P2")
	if !p.node.Election().State().Electing {
		p.receive("P1", electionMessage(election.Election, "P1"))
	}
	if did := p.did(); !strings.Contains(did, "ELECTION to P3") ||
		!p.node.Election().State().Electing {
		t.Fatalf("it waits for nobody, and did: %s", did)
	}
	begun := p.now
	p.pass(p.node.T() - 1)
	if timers := p.timedOut(); len(timers) > 0 {
		t.Fatalf("%v after it has asked %v has run out", p.now-begun, timers)
	}
	p.pass(1)
	if timers := p.timedOut(); len(timers) != 1 || timers[0] != election.AwaitAnswer ||
		p.named() != "P2" {
		t.Errorf("after T %v have run out, and it names %q", timers, p.named())
	}
}

// A timer of a group that the process has left does not run out in the next one, whose election has
// just begun.
func TestATimerEndsWithTheGroup(t *testing.T) {
	waiting := func() *process {
		p := linked(t, "P2")
		p.receive("P1", electionMessage(election.Election, "P1"))
		p.answered()
		return p
	}
	announced := func(p *process) bool { return slices.Contains(p.timedOut(), election.AwaitAnnouncement) }
	p, twin := waiting(), waiting()
	twin.until("nobody announces itself", func() bool { return announced(twin) })
	p.pass(twin.now - p.now - ms)
	p.step(node.Event{Type: node.RosterReceived})
	other := newRoster(false)
	other.Group, other.Algorithm = "h", "StatusTableBully" // which waits for an answer first
	p.step(node.Event{Type: node.RosterReceived, Roster: other})
	if !p.node.Election().State().Electing {
		t.Fatal("it holds no election in the new group")
	}
	p.pass(10 * ms)
	if announced(p) {
		t.Error("the timer of the group that it has left has run out")
	}
}

// While a process takes part in an election, nobody is nominated: it asks no voters, even if it was
// the coordinator before.
func TestNobodyIsNominatedDuringAnElection(t *testing.T) {
	p := start(t, "P2", newRoster(true))
	asks := func() bool { return strings.Contains(strings.Join(p.said, ""), "PREVOTE") }
	p.until("it asks the voters", asks)
	p.deny("P1")
	p.deny("P3")
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.until("its announcement is older than T", func() bool {
		return slices.Contains(p.timedOut(), election.AwaitStragglers)
	})
	p.receive("P1", electionMessage(election.Coordinator, "P1"))
	if s := p.node.Election().State(); !s.Electing || s.Coordinator != "P2" {
		t.Fatalf("a second coordinator makes no election: %+v", s)
	}
	p.answered() // it waits for P3's announcement, for longer than voters are left alone
	p.did()
	for p.node.Election().State().Electing {
		if did := p.did(); strings.Contains(did, "PREVOTE") {
			t.Fatalf("it takes part in an election, and did: %s", did)
		}
		p.now = max(p.next, p.now+ms)
		p.step(node.Event{Type: node.Tick})
	}
	p.until("it asks again", asks)
}
