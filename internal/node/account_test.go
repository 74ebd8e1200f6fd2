package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// What a process sends of elections is numbered without a gap, VIEWs too. Its account gives each
// message the identity with which it was sent, and what it received that of the sender.
func TestMessagesOfAnAccountHaveAnIdentity(t *testing.T) {
	p := start(t, "P1", newRoster(false))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	asked := electionMessage(election.Election, "P1")
	asked.Sequence = 41
	p.step(node.Event{Type: node.Received, From: "P2", Incarnation: 9, Message: asked})
	told := electionMessage(election.Coordinator, "P3")
	told.Sequence, told.Election.Election.Incarnation = 7, 5
	p.step(node.Event{Type: node.Received, From: "P3", Incarnation: 5, Message: told})
	p.step(node.Event{Type: node.LinkUp, From: "P3"}) // a VIEW, which is of no election

	var sent []string
	for _, m := range p.sent {
		if m.Type != node.Election {
			continue
		}
		sent = append(sent, fmt.Sprintf("%s to %s", m.Election.Kind, m.To))
		if m.Sequence != uint64(len(sent)) {
			t.Errorf("message %d, %s, has the number %d", len(sent), sent[len(sent)-1], m.Sequence)
		}
	}
	if len(sent) < 2 || sent[len(sent)-1] != "VIEW to P3" {
		t.Fatalf("it sent %q", sent)
	}
	last := p.node.View().Last
	if last.Coordinator != "P3" || last.Number != 1 || last.Omitted != 0 || last.Begun == 0 {
		t.Errorf("the account is %+v", last)
	}
	received := map[string]string{}
	for _, m := range last.Messages {
		switch m.From {
		case "P1":
			if want := fmt.Sprintf("%s to %s", m.Kind, m.To); m.Incarnation != 1 || m.Sequence == 0 ||
				sent[m.Sequence-1] != want {
				t.Errorf("the account of what was sent has %+v, want %s", m, want)
			}
		default:
			received[m.From] = fmt.Sprintf("%d/%d to %s", m.Incarnation, m.Sequence, m.To)
		}
	}
	if received["P2"] != "9/41 to P1" || received["P3"] != "5/7 to P1" {
		t.Errorf("the account of what was received is %v", received)
	}
}

// unfinished is what a process tells of the election that it takes part in.
func (p *process) unfinished() *node.Account {
	a, _ := p.node.Latest(p.now)
	return a
}

// An account of an election that goes on has what was said so far; of none there is no account.
func TestAccountOfAnElectionThatGoesOn(t *testing.T) {
	p := boot(t, "P1", lease.State{Group: "g", Generation: 1, Voted: true})
	if a := p.unfinished(); a != nil {
		t.Errorf("without a roster it tells of %+v", a)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(false)})
	p.now += 3 * ms
	for i := range 70 {
		m := electionMessage("RUMOUR", "P2")
		m.Election.Process = fmt.Sprint(i)
		p.receive("P2", m)
	}
	a := p.unfinished()
	if a == nil || a.Coordinator != "" || a.Number != 1 || a.Duration != 3*ms ||
		len(a.Messages) != 64 || a.Omitted != 8 || a.Messages[63].Process != "69" {
		t.Fatalf("while it elects it tells %+v", a)
	}
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	if b := p.unfinished(); b != nil {
		t.Errorf("of an election that has ended it still says %+v", b)
	}
	if last := p.node.View().Last; last.Number != a.Number {
		t.Errorf("the number changed from %d to %d", a.Number, last.Number)
	}
}

// What is said soon after an election belongs to that one, and what is said soon before the next
// one to that. The rest belongs to none.
func TestMessagesAroundAnElection(t *testing.T) {
	p := start(t, "P1", newRoster(false))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	say := func(what string) {
		m := electionMessage("RUMOUR", "P2")
		m.Election.Process = what
		p.receive("P2", m)
	}
	p.now += 10 * ms
	say("late")
	if a, late := p.node.Latest(p.now); a != nil || kinds(late) != "RUMOUR late" {
		t.Errorf("soon after the election it tells %+v, and as late %q", a, kinds(late))
	}
	p.now += 5 * time.Second
	say("between")
	p.now += 5 * time.Second
	say("early")
	p.now += 10 * ms
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	p.until("it elects", func() bool { return p.unfinished() != nil && p.node.View().Electing })
	said := kinds(p.unfinished().Messages)
	if want := "RUMOUR early, ELECTION"; !strings.HasPrefix(said, want) {
		t.Errorf("its account is %q, want it to begin with %q", said, want)
	}
	if late := kinds(p.unfinished().Late); late != "RUMOUR late" {
		t.Errorf("late is %q", late)
	}
}

// Of two elections that follow each other soon, a message between them belongs to the nearer one.
func TestMessagesBetweenTwoElections(t *testing.T) {
	p := start(t, "P1", newRoster(false))
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	for _, what := range []string{"late", "early"} {
		p.now += 200 * ms
		m := electionMessage("RUMOUR", "P2")
		m.Election.Process = what
		p.receive("P2", m)
		p.now += 100 * ms
	}
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	p.until("it elects", func() bool { return p.unfinished() != nil })
	a := p.unfinished()
	if late := kinds(a.Late); late != "RUMOUR late" || !strings.HasPrefix(kinds(a.Messages),
		"RUMOUR early") {
		t.Errorf("late is %q, and the account is %q", late, kinds(a.Messages))
	}
}

// kinds are the messages of an account that are not VIEWs, in a line.
func kinds(all []node.Exchange) string {
	var said []string
	for _, m := range all {
		if m.Kind != election.View {
			said = append(said, fmt.Sprintf("%s %s", m.Kind, m.Process))
		}
	}
	return strings.Join(said, ", ")
}

// In a Guarded group, too, an election begins when the link to the leaseholder breaks, though its
// lease runs on for a while: what is said until that ends is of this election.
func TestAnAccountBeginsWithTheLoss(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.request("P3", lease.Renew, 1)
	if a := p.unfinished(); a != nil {
		t.Fatalf("it follows P3, and tells of an election: %+v", a)
	}
	p.pass(100 * ms)
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	lost := p.now
	p.pass(300 * ms)
	if a := p.unfinished(); a == nil || a.Begun != lost || p.node.View().Coordinator != "P3" {
		t.Errorf("the link broke at %v; it tells of %+v, and shows %+v", lost, a, p.node.View())
	}
}

// An election that names whom this process has followed all the time is none: an app that is
// healthy again has its algorithm start anew, and the leaseholder goes on. Otherwise the next
// election would seem to have begun with it.
func TestNothingChangedIsNoElection(t *testing.T) {
	p := start(t, "P2", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P1"})
	p.step(node.Event{Type: node.Unhealthy})
	p.request("P3", lease.Renew, 1)
	p.step(node.Event{Type: node.Healthy})
	if v := p.node.View(); p.named() == "P3" || v.Coordinator != "P3" || p.unfinished() == nil {
		t.Fatalf("it starts anew; the algorithm names %q, it shows %+v and tells of %+v", p.named(), v, p.unfinished())
	}
	p.request("P3", lease.Renew, 1)
	if a := p.unfinished(); a != nil || p.named() != "P3" {
		t.Errorf("P3 has gone on, and P2 names %q and tells of %+v", p.named(), a)
	}
}

// Nor does one go on while this process does not reach the leaseholder, and the voters say that
// they hear it.
func TestACutLinkIsNoElection(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.request("P3", lease.Renew, 1)
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	p.until("it asks the voters", func() bool { return strings.Contains(p.did(), "PREVOTE") })
	if p.unfinished() == nil {
		t.Fatal("its link broke, and it tells of no election")
	}
	p.answer("P2", func(r *lease.Response) {
		r.Holder, r.HolderEpoch, r.Remaining, r.Heard = "P3", lease.NewEpoch(1, 1), leaseTime/2, true
	})
	if v := p.node.View(); p.unfinished() != nil || v.Coordinator != "P3" || p.named() != "P3" {
		t.Errorf("P2 hears P3; P1 shows %+v, and tells of %+v", v, p.unfinished())
	}
}
