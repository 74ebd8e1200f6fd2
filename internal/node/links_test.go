package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

func (p *process) asked(name string) bool {
	return slices.ContainsFunc(p.sent, func(m node.Message) bool { return m.Type == node.Question && m.To == name })
}

// R13: who has no link to the new coordinator makes one when its turn comes, a tenth of a heartbeat
// for each link from the coordinator. It asks nothing before; who has a link asks at once.
func TestLinksToACoordinatorAreMadeInTurn(t *testing.T) {
	for place := 1; place <= 9; place++ {
		p := onRingOfTen(t, place)
		p.learns("P10")
		since := p.now
		linked := func() bool { return slices.Contains(p.links, "P10") }
		if neighbour := place >= 8; neighbour != linked() {
			t.Errorf("P%d links at once: %t", place, linked())
		} else if !neighbour && p.asked("P10") {
			t.Errorf("P%d asks P10, to which it has no link", place)
		}
		p.until("it makes a link to the coordinator", linked)
		want := time.Duration(place) * 10 * ms
		if place >= 8 {
			want = 0
		}
		if took := p.now - since; took != want {
			t.Errorf("P%d makes its link after %v, want %v", place, took, want)
		}
		p.until("it asks the coordinator", func() bool { return p.asked("P10") })
		if took := p.now - since; took > want+ms {
			t.Errorf("P%d asks the coordinator %v after the election", place, took)
		}
	}
}

// R13: each coordinator has a turn of its own, which ends with it. A link that is there stays.
func TestATurnIsForOneCoordinator(t *testing.T) {
	p := onRingOfTen(t, 5)
	p.learns("P9")
	p.pass(55 * ms)
	p.learns("P10")
	p.pass(45 * ms)
	if slices.Contains(p.links, "P9") || slices.Contains(p.links, "P10") {
		t.Errorf("100 ms after it heard of P9, which is 60 ms away, and 45 after it heard of P10, 50 away, it links to %v", p.links)
	}
	p.pass(5 * ms)
	if slices.Contains(p.links, "P9") || !slices.Contains(p.links, "P10") {
		t.Errorf("50 ms after it heard of P10 it links to %v", p.links)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(ringOfTen(), func(*node.Roster) {})})
	if !slices.Contains(p.links, "P10") {
		t.Errorf("after a new roster it links to %v", p.links)
	}
}

// R13: a turn is within the heartbeat of the roster in use, not of the one that it began under.
func TestATurnEndsWithAShorterHeartbeat(t *testing.T) {
	slow := edited(ringOfTen(), func(r *node.Roster) { r.Heartbeat = time.Minute })
	p := start(t, "P5", slow)
	p.learns("P10")
	p.pass(10 * ms)
	quick := edited(slow, func(r *node.Roster) { r.Heartbeat = 100 * ms })
	p.step(node.Event{Type: node.RosterReceived, Roster: quick})
	p.pass(50 * ms)
	if !slices.Contains(p.links, "P10") {
		t.Errorf("half of a heartbeat after the roster came P5 links to %v", p.links)
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

// R13: in a Guarded group nobody has a turn. Whoever hears the leaseholder may have to answer it at
// once (TAKE OVER), and tell others that it hears it, which takes a link that shows when it has
// ended.
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
