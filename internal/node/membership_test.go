package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// who sends a request, other than a process in its first incarnation does.
func (p *process) requestOf(from string, incarnation uint64, k lease.Kind, e lease.Epoch) {
	p.step(node.Event{
		Type:        node.Received,
		From:        from,
		StateID:     "state-" + from,
		Incarnation: incarnation,
		Message: node.Message{
			Type: node.LeaseRequest,
			Request: lease.Request{
				Kind:  k,
				Group: "g",
				Epoch: e,
				Lease: leaseTime,
			},
		},
	})
}

// V2: what was promised to one incarnation binds the voter against the next one.
func TestAPromiseIsToAnIncarnation(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.requestOf("P3", 1, lease.Vote, lease.NewEpoch(1, 1))
	p.requestOf("P3", 2, lease.Vote, lease.NewEpoch(1, 2))
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 granted true") ||
		!strings.Contains(did, "VOTE 1.2 granted false") {
		t.Errorf("it did: %s", did)
	}
}

// LH1, V1: the vote of an agent with another state directory than the roster's is nobody's vote.
func TestAVoteOfAnotherStateDirectory(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	ask := p.sent[len(p.sent)-1]
	if ask.Type != node.LeaseRequest || ask.Request.Kind != lease.PreVote {
		t.Fatalf("it sent %+v last", ask)
	}
	p.did()
	for _, state := range []string{"another", "state-P1"} {
		p.step(node.Event{
			Type:        node.Received,
			From:        "P1",
			StateID:     state,
			Incarnation: 1,
			Message: node.Message{Type: node.LeaseResponse, Response: lease.Response{
				Kind:       lease.PreVote,
				Epoch:      ask.Request.Epoch,
				Round:      ask.Request.Round,
				Granted:    true,
				Generation: 1,
			}},
		})
		if asks := strings.Contains(p.did(), "VOTE 1.1"); asks != (state == "state-P1") {
			t.Errorf("state directory %s: it asks for votes: %t", state, asks)
		}
	}
}

// V6: a process that comes back to its group has forgotten nothing that it has promised in this
// run, nor what the state directory held at its start.
func TestPromisesOutliveTheGroup(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.request("P3", lease.Vote, 1)
	p.step(node.Event{Type: node.RosterReceived})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	p.did()
	p.request("P2", lease.Vote, 2)
	if did := p.did(); !strings.Contains(did, "VOTE 1.2 granted false") {
		t.Errorf("it has promised P3, left and come back, and did: %s", did)
	}
	p = boot(t, "P1", p.disk.Lease)
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	p.did()
	p.request("P2", lease.Vote, 2)
	if did := p.did(); !strings.Contains(did, "VOTE 1.2 granted false") {
		t.Errorf("it has promised P3, and started again, and did: %s", did)
	}
	p.pass(leaseTime)
	p.request("P2", lease.Vote, 2)
	if did := p.did(); !strings.Contains(did, "VOTE 1.2 granted true") {
		t.Errorf("a lease later it did: %s", did)
	}
}

// A process whose app is unhealthy enters a group as one that has withdrawn.
func TestUnhealthyBeforeTheFirstRoster(t *testing.T) {
	p := boot(t, "P3", lease.State{})
	p.step(node.Event{Type: node.Unhealthy})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); !v.Withdrawn || p.named() == "P3" {
		t.Errorf("it names %q, and shows %+v", p.named(), v)
	}
}

// MC4: what is acknowledged is of this group.
func TestWhatIsNotAcknowledged(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow = true
	other := newRoster(true)
	other.Group = "h"
	p.step(node.Event{Type: node.RosterReceived, Roster: other})
	if v := p.node.View(); v.Group != "h" || v.Acknowledged != 0 {
		t.Errorf("of group %s it acknowledges %d, which is on no disk", v.Group, v.Acknowledged)
	}
}

// MC10: a process that is given an older roster than its state directory has used says so. It
// neither votes nor acts with that one, and the manager must hear why: the status was set back. It
// used to acknowledge the older one; where all had lost the newer one, as when their certificates
// expire, nobody ever led again.
func TestWhatItHasUsedIsAcknowledged(t *testing.T) {
	newest := edited(newRoster(true), func(r *node.Roster) { r.Generation = 7 })
	p := start(t, "P1", newest)
	p.step(node.Event{Type: node.Expired})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); v.Generation != 1 || v.Acknowledged != 7 {
		t.Errorf("it was given generation %d, has used 7, and acknowledges %d", v.Generation, v.Acknowledged)
	}
	p = boot(t, "P1", lease.State{Group: "g", Generation: 7, Voted: true})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); v.Acknowledged != 7 {
		t.Errorf("after a restart it acknowledges %d", v.Acknowledged)
	}
	p = start(t, "P1", newRoster(true))
	p.slow = true
	p.step(node.Event{Type: node.RosterReceived, Roster: newest})
	p.step(node.Event{Type: node.Expired})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); v.Acknowledged != 1 {
		t.Errorf("it has used 7, which is on no disk, and acknowledges %d", v.Acknowledged)
	}
}

// C1, C8: a process keeps a link to those that it sends requests to, also on a ring, where its
// election needs few links. In a large group those who would ask first have theirs before they ask.
func TestLinksToTheVoters(t *testing.T) {
	r := edited(newRoster(true), func(r *node.Roster) {
		r.Generation, r.Algorithm = 1, "RingList"
		for _, c := range "456789ABCD" {
			name := "P" + string(c)
			r.Members = append(r.Members, lease.Member{Name: name, UID: "uid",
				StateID: "state-" + name, Priority: 9, Voter: true})
		}
	})
	if next := start(t, "P5", r); len(next.links) != len(r.Members)-1 {
		t.Errorf("the ninth of %d keeps links to %v", len(r.Members), next.links)
	}
	if next := start(t, "P4", r); len(next.links) == len(r.Members)-1 {
		t.Errorf("the tenth of %d keeps links to %v", len(r.Members), next.links)
	}
	p := start(t, "P1", r)
	p.step(node.Event{Type: node.LinkUp, From: "P5"})
	p.request("P5", lease.Renew, 1)
	if slices.Contains(p.links, "P8") {
		t.Fatalf("it follows, and keeps links to %v", p.links)
	}
	p.step(node.Event{Type: node.LinkDown, From: "P5"})
	p.until("it asks the voters", func() bool { return strings.Contains(p.did(), "PREVOTE") })
	for _, m := range p.sent {
		if m.Type == node.LeaseRequest && !slices.Contains(p.links, m.To) {
			t.Errorf("it asks %s, and keeps links to %v", m.To, p.links)
		}
	}
}

// C1: a voter that has not answered is asked again when the link to it opens.
func TestAVoterIsAskedWhenItsLinkOpens(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.until("it asks for pre-votes", func() bool { return strings.Contains(p.did(), "PREVOTE") })
	p.sent = nil
	p.step(node.Event{Type: node.LinkUp, From: "P2"})
	if !slices.ContainsFunc(p.sent, func(m node.Message) bool {
		return m.Type == node.LeaseRequest && m.To == "P2" && m.Request.Kind == lease.PreVote
	}) {
		t.Errorf("the link to P2 opens, and it is not asked; sent was %v", p.sent)
	}
}

// Another group of the same name, or the same one with other safety, is not the one in use: the
// process leaves that first, with all that it has there.
func TestAnotherGroupIsEntered(t *testing.T) {
	for name, change := range map[string]func(*node.Roster){
		"another group":  func(r *node.Roster) { r.Group = "h" },
		"another safety": func(r *node.Roster) { r.Guarded = false },
	} {
		p := start(t, "P3", newRoster(true))
		p.hold()
		p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), change)})
		if did := p.did(); !p.exited || !strings.HasPrefix(did, "revoke") ||
			p.ledger.Valid(p.now) {
			t.Errorf("%s: it has left the old one: %t, may act: %t, and did: %s", name, p.exited,
				p.ledger.Valid(p.now), did)
		}
	}
}

// LH6: a leaseholder that nobody manages leaves when it has sent RELEASE, which waits for its app.
func TestAnUnmanagedLeaseholderLeaves(t *testing.T) {
	p := boot(t, "P3", lease.State{Group: "g", Generation: 1, Voted: true})
	p.config.Managed = false
	p.node = node.New(p.config)
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	p.hold()
	told := p.ledger.Told()
	p.step(node.Event{Type: node.Leave})
	p.pass(told - p.now - 100*ms)
	p.receive("P2", electionMessage("COORDINATOR", "P2")) // it answers nothing, but is not missed yet
	p.pass(told - p.now - 1)
	if p.left {
		t.Error("it has left while its app may act")
	}
	p.pass(1)
	if did := p.did(); !p.left || !strings.Contains(did, "RELEASE") {
		t.Errorf("its app may act no more: it has left: %t, and did: %s", p.left, did)
	}
}

// However long the lease is, a leaseholder hands over for no longer than it leaves at all.
func TestALeaseholderOfALongLeaseLeaves(t *testing.T) {
	p := start(t, "P3", edited(newRoster(true), func(r *node.Roster) { r.Lease = time.Minute }))
	p.grant("P1")
	p.grant("P1")
	if _, ok := p.ledger.Use(p.now); !ok {
		t.Fatalf("it does not hold the lease: %s", p.did())
	}
	begun := p.now
	p.step(node.Event{Type: node.Leave})
	p.until("it has left", func() bool { return p.left })
	if took := p.now - begun; took != 5*time.Second {
		t.Errorf("it has left after %v", took)
	}
}

// A leaseholder whose lease is longer than its pod's grace period leaves a second before that ends.
func TestALeaseholderOfALongLeaseLeavesInItsGracePeriod(t *testing.T) {
	r := edited(newRoster(true), func(r *node.Roster) { r.Lease = time.Minute })
	p := start(t, "P3", r)
	p.grant("P1")
	p.grant("P1")
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(r, func(r *node.Roster) {
		r.Members[2].Priority, r.Members[2].Grace = 0, 4*time.Second
	})})
	begun := p.now
	p.step(node.Event{Type: node.Leave})
	p.until("it has left", func() bool { return p.left })
	if took := p.now - begun; took != 3*time.Second {
		t.Errorf("it has left after %v", took)
	}
}

// A process that is asked to leave twice leaves as soon as one that is asked once.
func TestLeaveTwice(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	begun := p.now
	p.step(node.Event{Type: node.Leave})
	p.pass(3 * time.Second)
	p.step(node.Event{Type: node.Leave})
	p.until("it has left", func() bool { return p.left })
	if took := p.now - begun; took != 5*time.Second {
		t.Errorf("it has left after %v", took)
	}
}

// F1: an epoch that this voter has not promised is hearsay, and the view says so.
func TestAnEpochThatIsNotPromised(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.receive("P3", node.Message{
		Type: node.LeaseRequest,
		Request: lease.Request{
			Kind:  lease.Renew,
			Group: "g",
			Epoch: lease.NewEpoch(1, 1),
			Lease: 2 * leaseTime, // more than the roster's, so it is denied
		},
	})
	if v := p.node.View(); v.Coordinator != "P3" || v.Bound {
		t.Errorf("it shows %+v", v)
	}
	p.request("P3", lease.Renew, 1)
	if v := p.node.View(); v.Coordinator != "P3" || !v.Bound {
		t.Errorf("it has promised the epoch, and shows %+v", v)
	}
}

// V9: a voter does not say that it hears a leaseholder whose link was closed, from that moment on.
func TestAClosedLinkIsNotHeard(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.step(node.Event{Type: node.LinkUp, From: "P3"})
	p.request("P3", lease.Renew, 1)
	for _, closed := range []bool{false, true} {
		if closed {
			p.step(node.Event{Type: node.LinkDown, From: "P3"})
		}
		p.sent = nil
		p.request("P2", lease.PreVote, 0)
		i := slices.IndexFunc(
			p.sent,
			func(m node.Message) bool { return m.Type == node.LeaseResponse },
		)
		if i < 0 || p.sent[i].Response.Heard == closed {
			t.Errorf("closed: %t; it says %+v", closed, p.sent)
		}
	}
}
