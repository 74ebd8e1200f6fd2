package node_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// F5: what others say of elections waits while this process hears the leaseholder, and reaches the
// election algorithm when the leaseholder is gone: P2 answers P1.
func TestTalkOfElectionsWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  func(p *process)
		heard bool
	}{
		{"the leaseholder is gone", func(*process) {}, true},
		{"a renewal has come since", func(p *process) { p.renewed(1) }, true},
		{"it is a lease and two heartbeats old", func(p *process) { p.renewed(12) }, true},
		{"it is older", func(p *process) { p.renewed(13) }, false},
		{"its sender is gone", func(p *process) {
			p.step(node.Event{Type: node.LinkDown, From: "P1"})
		}, false},
		{"the roster is another one", func(p *process) {
			p.step(node.Event{
				Type:   node.RosterReceived,
				Roster: edited(newRoster(true), func(*node.Roster) {}),
			})
		}, false},
		{"its sender has started again", func(p *process) {
			p.step(node.Event{
				Type:        node.Received,
				From:        "P1",
				Incarnation: 2,
				Message:     electionMessage(election.View, "P3"),
			})
		}, false},
		{"another process is gone", func(p *process) {
			p.step(node.Event{Type: node.LinkDown, From: "P9"})
		}, true},
	} {
		p := start(t, "P2", newRoster(true))
		p.request("P3", lease.Renew, 1)
		p.receive("P1", electionMessage(election.Election, "P1"))
		c.then(p)
		if did := p.did(); strings.Contains(did, "OK to P1") {
			t.Errorf("%s: it answers while it hears the leaseholder: %s", c.name, did)
		}
		p.step(node.Event{Type: node.LinkDown, From: "P3"})
		if did := p.did(); strings.Contains(did, "OK to P1") != c.heard {
			t.Errorf("%s: want P1 answered %t; it did: %s", c.name, c.heard, did)
		}
		p.step(node.Event{Type: node.Tick})
		if did := p.did(); strings.Contains(did, "OK to P1") {
			t.Errorf("%s: it answers again", c.name)
		}
	}
}

// fourMembers is a roster of P1 to P3, and P0 that does not vote.
func fourMembers() *node.Roster {
	r := newRoster(true)
	r.Members = append(r.Members, lease.Member{
		Name:     "P0",
		UID:      "uid",
		StateID:  "state-P0",
		Priority: 1,
	})
	return r
}

// renewed lets the leaseholder P3 renew so many times, a heartbeat apart.
func (p *process) renewed(times int) {
	for range times {
		p.now += 100 * ms
		p.request("P3", lease.Renew, 1)
	}
}

// F5: a ring message of a third process does not wait longer than the process that called the
// election is there.
func TestTalkOfElectionsOfTheDead(t *testing.T) {
	for _, gone := range []bool{false, true} {
		r := fourMembers()
		r.Algorithm = "ChangRoberts"
		p := start(t, "P2", r)
		p.request("P3", lease.Renew, 1)
		m := electionMessage(election.ElectMe, "P1")
		m.Algorithm, m.Election.Process, m.Election.Hops = "ChangRoberts", "P3", 8
		p.receive("P0", m)
		if gone {
			p.step(node.Event{Type: node.LinkDown, From: "P1"})
		}
		p.step(node.Event{Type: node.LinkDown, From: "P3"})
		passed := slices.ContainsFunc(p.sent, func(m node.Message) bool {
			return m.Election.Election.Initiator == "P1"
		})
		if passed == gone {
			t.Errorf("P1 is gone: %t; its message is passed on: %t", gone, passed)
		}
	}
}

// A VIEW says what was so when it was sent.
func TestViewsDoNotWait(t *testing.T) {
	p := start(t, "P2", newRoster(true))
	p.request("P3", lease.Renew, 1)
	p.receive("P1", electionMessage(election.View, "P1"))
	p.did()
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	did := p.did()
	if strings.Contains(did, "ELECTION") || strings.Contains(did, "COORDINATOR") {
		t.Errorf("two coordinators, it thinks: %s", did)
	}
}

// G13: no more than two messages of a member wait, the newest, whatever others send.
func TestFewMessagesWait(t *testing.T) {
	p := start(t, "P2", fourMembers())
	p.request("P3", lease.Renew, 1)
	p.receive("P0", electionMessage(election.Election, "P0"))
	for range 8 {
		p.receive("P1", electionMessage(election.Election, "P1"))
	}
	p.did()
	p.step(node.Event{Type: node.LinkDown, From: "P3"})
	did := p.did()
	if strings.Count(did, "OK to P1") != 2 || strings.Count(did, "OK to P0") != 1 {
		t.Errorf("want two messages of P1 answered, and that of P0; it did: %s", did)
	}
}

// G13: a message about a process that is not on the roster waits for the next roster, for T. Then
// P1, the process before this one in the ring, has sent it in vain.
func TestTalkOfStrangersWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		then   func(p *process)
		passed bool
	}{
		{"the next roster names it", func(*process) {}, true},
		{"another message of P1 has come since", func(p *process) { p.elects("P8", 2) }, true},
		{"two others have", func(p *process) { p.elects("P8", 2); p.elects("P8", 3) }, false},
		{"T is over", func(p *process) { p.now += p.node.T() + ms }, false},
		{"another group object has come since", func(p *process) {
			other := newRoster(false)
			other.Algorithm, other.Group = "LeLann", "h"
			p.step(node.Event{Type: node.RosterReceived, Roster: other})
		}, false},
		{"the algorithm is another one", func(*process) {}, false},
	} {
		r := newRoster(false)
		r.Algorithm = "LeLann"
		p := start(t, "P2", r)
		p.elects("P9", 1)
		c.then(p)
		if did := p.did(); strings.Contains(did, "ELECT ME P9") {
			t.Errorf("%s: it passes on what names a stranger: %s", c.name, did)
		}
		p.step(node.Event{
			Type: node.RosterReceived,
			Roster: edited(r, func(r *node.Roster) {
				r.Group = p.node.View().Group
				if c.name == "the algorithm is another one" {
					r.Algorithm = "ChangRoberts"
				}
				r.Members = append(r.Members, lease.Member{
					Name:     "P9",
					UID:      "uid",
					Priority: 9,
				})
			}),
		})
		passed := slices.ContainsFunc(p.sent, func(m node.Message) bool {
			return m.Election.Kind == election.ElectMe && m.Election.Process == "P9"
		})
		if passed != c.passed {
			t.Errorf("%s: it is passed on: %t", c.name, passed)
		}
	}
}

// G13: so does a message of an election that such a process has called.
func TestElectionsOfStrangersWait(t *testing.T) {
	r := newRoster(false)
	r.Algorithm = "LeLann"
	p := start(t, "P2", r)
	m := electionMessage(election.ElectMe, "P9")
	m.Algorithm, m.Election.Process, m.Election.Hops = "LeLann", "P3", 6
	p.receive("P1", m)
	next := edited(r, func(r *node.Roster) {
		r.Members = append(r.Members, lease.Member{Name: "P9", UID: "uid", Priority: 9})
	})
	p.step(node.Event{Type: node.RosterReceived, Roster: next})
	if !slices.ContainsFunc(p.sent, func(m node.Message) bool {
		return m.Election.Election.Initiator == "P9"
	}) {
		t.Errorf("the next roster names P9, and it did: %s", p.did())
	}
}

// elects lets P1 pass on an ELECT ME of a process in the election of P1 with a sequence number.
func (p *process) elects(candidate string, sequence uint64) {
	m := electionMessage(election.ElectMe, "P1")
	m.Algorithm, m.Election.Process, m.Election.Hops = "LeLann", candidate, 6
	m.Election.Election.Sequence = sequence
	p.receive("P1", m)
}

// G13: what lists more processes than the roster does not wait either.
func TestLongListsDoNotWait(t *testing.T) {
	for _, longer := range []int{0, 1} {
		r := fourMembers()
		r.Algorithm = "RingList"
		p := start(t, "P2", r)
		p.request("P3", lease.Renew, 1)
		m := electionMessage(election.Election, "P1")
		m.Algorithm, m.Election.Hops = "RingList", 8
		m.Election.List = slices.Repeat([]string{"P1"}, len(r.Members)-1+longer)
		m.Election.Table = make([]election.Entry, len(r.Members)+longer)
		p.receive("P1", m)
		p.step(node.Event{Type: node.LinkDown, From: "P3"})
		passed := slices.ContainsFunc(p.sent, func(m node.Message) bool {
			return m.Election.Election.Initiator == "P1"
		})
		if passed != (longer == 0) {
			t.Errorf("%d longer than the roster: it is passed on: %t", longer, passed)
		}
	}
}

// G11: a message that lists more processes than the roster says which run of its sender speaks, all
// the same. So nothing of an earlier run is taken after it.
func TestLongListsTellTheRun(t *testing.T) {
	for _, longer := range []int{0, 1} {
		r := newRoster(false)
		p := start(t, "P2", r)
		receive := func(incarnation uint64, m node.Message) {
			m.Election.Election.Incarnation = incarnation
			p.step(node.Event{
				Type:        node.Received,
				From:        "P3",
				Incarnation: incarnation,
				Message:     m,
			})
		}
		view := electionMessage(election.View, "")
		view.Election.List = slices.Repeat([]string{"P1"}, len(r.Members)+longer)
		receive(2, view)
		receive(1, electionMessage(election.Coordinator, "P3"))
		if p.node.View().Coordinator != "" {
			t.Errorf("%d longer than the roster: the run before moves it", longer)
		}
		receive(2, electionMessage(election.Coordinator, "P3"))
		if p.node.View().Coordinator != "P3" {
			t.Errorf("%d longer than the roster: this run does not move it", longer)
		}
	}
}

// C5: a process that rests, and leaves its group for another one of the name, is nominated there by
// nobody before the election has ended.
func TestRestAndAnotherGroup(t *testing.T) {
	r := newRoster(true)
	r.Algorithm = "RingList"
	p := start(t, "P3", r)
	for _, q := range []string{"P1", "P2"} {
		p.step(node.Event{Type: node.LinkDown, From: q})
	}
	p.until("it rests", func() bool { return p.node.Election().State().Withdrawn })
	other := *r
	other.Group = "h"
	p.did()
	p.step(node.Event{Type: node.RosterReceived, Roster: &other})
	if did := p.did(); !strings.Contains(did, "ELECTION to P1") || strings.Contains(did, "PREVOTE") {
		t.Errorf("the election has begun, and it asks for votes: %s", did)
	}
}
