package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// A process that does not answer is asked on, to learn when it is back. When it has left the roster
// it is not: nobody would ever answer.
func TestWhoLeftTheRosterIsNotAsked(t *testing.T) {
	r := newRoster(false)
	p := start(t, "P1", r)
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.receive("P3", electionMessage(election.Coordinator, "P3"))
	p.pass(3 * time.Second)
	p.did()
	p.pass(time.Second)
	if did := p.did(); !strings.Contains(did, "question to P3") {
		t.Fatalf("P3 has been silent for 4 s, and is not asked: %s", did)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(r, func(r *node.Roster) {
		r.Members = r.Members[:2]
	})})
	p.did()
	p.pass(time.Second)
	if did := p.did(); strings.Contains(did, "to P3") || slices.Contains(p.links, "P3") {
		t.Errorf("P3 has left; links to %v; %s", p.links, did)
	}
}
