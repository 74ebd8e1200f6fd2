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

// In a large group of a bully a coordinator is not asked, nor missed, while the link to it is being
// made, for 300 ms for each process at most. A small group, and a ring, do not wait.
func TestACoordinatorWhoseLinkIsBeingMade(t *testing.T) {
	for _, c := range []struct {
		algorithm string
		processes int
		opens     bool
		asked     time.Duration // after that
	}{
		{"Bully", 13, false, 3900 * ms},
		{"Bully", 13, true, 1000 * ms},
		{"StatusTableBully", 20, false, 6000 * ms},
		{"Bully", 12, false, 0},
		{"ChangRoberts", 20, false, 0},
	} {
		p := start(t, "P001", large(c.algorithm, c.processes))
		highest := fmt.Sprintf("P%03d", c.processes)
		p.receive(highest, announces(c.algorithm, highest))
		begun := p.now
		for !p.asked(highest) && p.now-begun < time.Minute {
			if c.opens && p.now-begun >= 1000*ms {
				p.step(node.Event{Type: node.LinkUp, From: highest})
			}
			p.pass(10 * ms)
		}
		if took := p.now - begun; took < c.asked || took > c.asked+200*ms {
			t.Errorf("%s, %d processes: it asks its coordinator after %v, want %v",
				c.algorithm, c.processes, took, c.asked)
		}
		if got := p.named(); got != highest {
			t.Errorf("%s, %d processes: by then it follows %q", c.algorithm, c.processes, got)
		}
	}
}

// announces is the announcement of a coordinator that called the election itself.
func announces(algorithm, coordinator string) node.Message {
	kind := election.Coordinator
	if !election.IsBully(algorithm) {
		kind = election.NewCoordinator
	}
	return node.Message{
		Type:      node.Election,
		Algorithm: algorithm,
		Election: election.Message{
			Kind:     kind,
			Process:  coordinator,
			Election: election.ID{Initiator: coordinator, Incarnation: 1, Sequence: 1},
			Hops:     10,
		},
	}
}

// What the lease protocol takes for a crowd, and for its front, is what the election algorithm does.
func TestCrowds(t *testing.T) {
	p := start(t, "P001", large("Bully", election.Crowd+1))
	if got := len(p.links); got != lease.Front || lease.Crowd != election.Crowd {
		t.Errorf("it links to %d, for the lease protocol the front is %d; crowds begin after %d and %d",
			got, lease.Front, election.Crowd, lease.Crowd)
	}
}

// While nobody of a crowd runs, a process coordinates and links to everybody, in vain. When half of
// the front is there, and coordinates, it links to the front only, and knows nothing of the others
// any more.
func TestACrowdForgets(t *testing.T) {
	p := start(t, "P001", large("Bully", 50))
	p.receive("P050", electionMessage(election.Coordinator, "P050"))
	for i := range 50 {
		p.step(node.Event{Type: node.LinkDown, From: fmt.Sprintf("P%03d", 50-i)})
	}
	p.until("it coordinates", func() bool { return p.node.View().Coordinator == "P001" })
	if len(p.links) != 49 || p.crashed() != 49 {
		t.Fatalf("%d links, and %d processes have crashed, want 49", len(p.links), p.crashed())
	}
	for i := range 6 {
		p.step(node.Event{Type: node.LinkUp, From: fmt.Sprintf("P%03d", 50-i)})
	}
	again := electionMessage(election.Coordinator, "P050")
	again.Election.Election.Sequence++
	p.receive("P050", again)
	p.until("T is over", func() bool {
		p.follow("P050", "P050")
		return p.now > time.Hour+600*ms
	})
	if len(p.links) != 12 || p.crashed() != 6 {
		t.Errorf("%d links, want 12, and %d processes have crashed, want 6", len(p.links), p.crashed())
	}
	p.step(node.Event{Type: node.LinkDown, From: "P010"}) // the link that was given up
	if p.crashed() != 6 {
		t.Errorf("it does not link to P010 any more, and %d processes have crashed", p.crashed())
	}
}

// crashed is how many processes have crashed by its process status table.
func (p *process) crashed() (n int) {
	for _, e := range p.node.View().Table {
		if e.Status == election.Crashed {
			n++
		}
	}
	return n
}

// A process of a crowd makes links to those whom it asks for the algorithm's sake: to the next when
// the front does not answer, and to who has contradicted the coordinator.
func TestACrowdLinksToWhomItAsks(t *testing.T) {
	p := start(t, "P020", large("Bully", 50))
	p.openFront()
	p.until("it links to the next twelve", func() bool { return len(p.links) == 24 })
	p.receive("P050", electionMessage(election.Coordinator, "P050"))
	p.receive("P010", electionMessage(election.View, "P010"))
	p.until("it links to P010", func() bool {
		p.follow("P050", "P050")
		return slices.Contains(p.links, "P010")
	})
	p.step(node.Event{Type: node.LinkUp, From: "P010"})
	p.until("it asks P010", func() bool {
		p.follow("P050", "P050")
		return p.asked("P010")
	})
	if got := p.node.View().Coordinator; got != "P050" || len(p.links) != 13 {
		t.Errorf("it follows %q, and links to %v", got, p.links)
	}
}

// While a crowd may be starting, a process gives up no link that is open: each that starts is the
// highest for a moment, and its links would be made and given up again and again.
func TestACrowdKeepsOpenLinksAtFirst(t *testing.T) {
	p := start(t, "P020", large("Bully", 50))
	p.openFront()
	p.until("it links to the next twelve", func() bool { return len(p.links) == 24 })
	p.step(node.Event{Type: node.LinkUp, From: "P030"})
	p.receive("P050", electionMessage(election.Coordinator, "P050"))
	links := func() int {
		p.follow("P050", "P050")
		return len(p.links)
	}
	p.until("it links to the front and P030", func() bool { return links() == 13 })
	if !slices.Contains(p.links, "P030") {
		t.Errorf("it links to %v", p.links)
	}
	const over = 50 * 300 * ms
	p.until("it is over", func() bool {
		if links() != 13 && p.now < time.Hour+over {
			t.Fatalf("after %v it links to %v", p.now-time.Hour, p.links)
		}
		return p.now > time.Hour+over+100*ms
	})
	if links() != 12 {
		t.Errorf("after %v it links to %v", over, p.links)
	}
}
