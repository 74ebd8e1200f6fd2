package node_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// onRingOfTen starts one of P1 to P10 of a Classic ring, with links to its two successors.
func onRingOfTen(t *testing.T, place int) *process {
	p := start(t, fmt.Sprintf("P%d", place), ringOfTen())
	for _, q := range p.links {
		p.step(node.Event{Type: node.LinkUp, From: q})
	}
	return p
}

func ringOfTen() *node.Roster {
	r := newRoster(false)
	r.Algorithm, r.Members = "ChangRoberts", nil
	for i := range 10 {
		name := fmt.Sprintf("P%d", i+1)
		r.Members = append(r.Members, lease.Member{
			Name: name, UID: "uid", StateID: "state-" + name, Priority: int32(i + 1), Voter: true,
		})
	}
	return r
}

// learns has a process hear the outcome of an election that the coordinator called.
func (p *process) learns(coordinator string) {
	p.receive(coordinator, announces("ChangRoberts", coordinator))
	if c := p.node.Election().State().Coordinator; c != coordinator {
		p.t.Fatalf("%s follows %q, want %s", p.name, c, coordinator)
	}
}

// Whoever hears of a new coordinator watches it, which takes a link.
func TestLinksToACoordinatorAreMadeAtOnce(t *testing.T) {
	p := onRingOfTen(t, 5)
	p.learns("P10")
	if !slices.Contains(p.links, "P10") {
		t.Errorf("P5 follows P10 and links to %v", p.links)
	}
}

// hearsALeaseholder starts P5 of a Guarded ring, and P10 renews its lease.
func hearsALeaseholder(t *testing.T) *process {
	r := ringOfTen()
	r.Guarded = true
	p := start(t, "P5", r)
	p.request("P10", lease.Renew, 1)
	return p
}

// Whoever hears the leaseholder may have to answer it at once (TAKE OVER), and tell others that it
// hears it, which takes a link that shows when it has ended.
func TestLinksToALeaseholderAreMadeAtOnce(t *testing.T) {
	p := hearsALeaseholder(t)
	if !slices.Contains(p.links, "P10") {
		t.Errorf("P5 follows the leaseholder P10 and links to %v", p.links)
	}
}

// A process that was no candidate for a while forgets whom it followed, and is told again. The view
// shows the leaseholder all the time.
func TestTheLinkToTheLeaseholderIsMadeAgain(t *testing.T) {
	p := hearsALeaseholder(t)
	p.step(node.Event{Type: node.Unhealthy})
	p.step(node.Event{Type: node.Healthy})
	p.request("P10", lease.Renew, 1)
	if p.named() != "P10" || !slices.Contains(p.links, "P10") {
		t.Errorf("P5 follows %q and links to %v", p.named(), p.links)
	}
}

// announces is the announcement of a coordinator that called the election itself.
func announces(algorithm, coordinator string) node.Message {
	return node.Message{
		Type:      node.Election,
		Algorithm: algorithm,
		Election: election.Message{
			Kind:     election.NewCoordinator,
			Process:  coordinator,
			Election: election.ID{Initiator: coordinator, Incarnation: 1, Sequence: 1},
			Hops:     10,
		},
	}
}
