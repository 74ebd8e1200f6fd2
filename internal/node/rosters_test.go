package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// An older roster, and one of the same generation, change nothing; a newer one is used.
func TestRostersThatAreLate(t *testing.T) {
	second := edited(newRoster(true), func(*node.Roster) {})
	p := start(t, "P1", second)
	for _, r := range []*node.Roster{newRoster(true), second} {
		p.step(node.Event{Type: node.RosterReceived, Roster: r})
		if v := p.node.View(); v.Generation != 2 {
			t.Errorf("after generation %d it uses %d", r.Generation, v.Generation)
		}
	}
	late := edited(newRoster(true), func(r *node.Roster) { r.Generation, r.Members = 1, r.Members[1:] })
	p.step(node.Event{Type: node.RosterReceived, Roster: late})
	if v := p.node.View(); v.Generation != 2 {
		t.Errorf("a late roster without this process makes it use generation %d", v.Generation)
	}
	third := edited(second, func(r *node.Roster) { r.Algorithm = "RingList" })
	p.step(node.Event{Type: node.RosterReceived, Roster: third})
	if v := p.node.View(); v.Generation != 3 {
		t.Errorf("it uses %d", v.Generation)
	}
}

// The next roster may have another timing: before an answer was measured, T is its timeout.
func TestAnotherTiming(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(r *node.Roster) {
		r.Timeout = 300 * ms
	})})
	if p.node.T() != 300*ms {
		t.Errorf("T is %v", p.node.T())
	}
}

// The policy of preemption reaches the lease protocol: P2 holds the lease, and P3 is back.
func TestPreemption(t *testing.T) {
	for _, c := range []struct {
		policy lease.Policy
		stable time.Duration
		offers bool
	}{
		{lease.Always, 0, true},
		{lease.Delayed, 500 * ms, true},
		{lease.Delayed, time.Hour, false},
		{lease.Never, 0, false},
	} {
		r := edited(newRoster(true), func(r *node.Roster) { r.Preemption, r.Stable = c.policy, c.stable })
		p := start(t, "P2", r)
		p.step(node.Event{Type: node.LinkDown, From: "P3"})
		p.grant("P1")
		p.grant("P1")
		p.step(node.Event{Type: node.LinkUp, From: "P3"})
		for range 100 {
			p.pass(20 * ms)
			p.grant("P1")
			p.grant("P3")
		}
		if offers := strings.Contains(p.did(), "TRANSFER"); offers != c.offers {
			t.Errorf("%s, stable for %v: it offers its lease: %t", c.policy, c.stable, offers)
		}
	}
}

// A roster without this very pod ends its part, and so does the end of its certificate. What the
// app was told is remembered: the next lease of this incarnation is not released before that has
// passed.
func TestWaysOut(t *testing.T) {
	replaced := edited(newRoster(true), func(r *node.Roster) { r.Members[2].UID = "another" })
	for name, e := range map[string]node.Event{
		"another pod of its name": {Type: node.RosterReceived, Roster: replaced},
		"the group is gone":       {Type: node.RosterReceived},
		"its certificate ends":    {Type: node.Expired},
	} {
		p := start(t, "P3", newRoster(true))
		p.hold()
		told := p.ledger.Told()
		p.step(e)
		if did := p.did(); !strings.HasPrefix(did, "revoke") || p.ledger.Valid(p.now) {
			t.Errorf("%s: it may act %t, and did: %s", name, p.ledger.Valid(p.now), did)
		}
		if v := p.node.View(); v.Member {
			t.Errorf("%s: it shows %+v", name, v)
		}
		p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(r *node.Roster) { r.Generation = 9 })})
		if did := p.did(); !strings.Contains(did, "PREVOTE") {
			t.Errorf("%s, and back: it asks for no votes: %s", name, did)
		}
		p.pass(told - p.now - 1)
		if did := p.did(); strings.Contains(did, "RELEASE") {
			t.Errorf("%s, and back: it releases while its app relies on what it was told: %s", name, did)
		}
	}
}

// An unknown algorithm is refused with a reason, and the process takes part in nothing.
func TestAnUnknownAlgorithm(t *testing.T) {
	p := start(t, "P1", edited(newRoster(true), func(r *node.Roster) { r.Algorithm = "Paxos" }))
	if n := len(p.notes); n == 0 || p.notes[0].Type != node.Refused || p.notes[0].Err == nil || p.node.View().Member {
		t.Errorf("notes %+v, view %+v", p.notes, p.node.View())
	}
}

// V12: a group that the process has left counts on: an older roster of it changes nothing, and the
// one that it had is taken up again.
func TestReturnToAGroup(t *testing.T) {
	second := edited(newRoster(true), func(*node.Roster) {})
	p := start(t, "P3", second)
	other := newRoster(true)
	other.Group = "h"
	p.step(node.Event{Type: node.RosterReceived, Roster: other})
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); v.Group != "h" {
		t.Errorf("an old roster has taken it out of its group: %+v", v)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: second})
	if v := p.node.View(); v.Group != "g" || v.Acknowledged != second.Generation {
		t.Errorf("it shows %+v", v)
	}
	if e := p.disk.Lease.Earlier; e == nil || e.Group != "h" || e.Next != nil {
		t.Errorf("on the disk is %+v", p.disk.Lease)
	}
}

// V12: a group object too many is refused with a reason, and the process takes part in nothing
// until it hears of one that it knows. Its disk goes on saying what it must not forget.
func TestTooManyGroups(t *testing.T) {
	saved := lease.State{Group: "g", Generation: 1, Voted: true}
	for i := range lease.MaxGroups {
		saved.Earlier = &lease.Earlier{Group: fmt.Sprint(i), Next: saved.Earlier}
	}
	p := boot(t, "P3", saved)
	other := newRoster(true)
	other.Group = "h"
	p.step(node.Event{Type: node.RosterReceived, Roster: other})
	if n := len(p.notes); n == 0 || !errors.Is(p.notes[n-1].Err, lease.ErrTooManyGroups) {
		t.Errorf("notes %+v", p.notes)
	}
	if p.node.View().Member || !p.disk.Lease.Equal(saved) {
		t.Errorf("view %+v, on the disk is %+v", p.node.View(), p.disk.Lease)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if !p.node.View().Member {
		t.Errorf("notes %+v", p.notes)
	}
}

// A leaseholder that leaves hands over first, then goes on voting until it is no voter, for five
// seconds at most.
func TestLeave(t *testing.T) {
	for _, removed := range []bool{true, false} {
		p := start(t, "P3", newRoster(true))
		p.hold()
		begun := p.now
		p.step(node.Event{Type: node.Leave})
		if did := p.did(); !strings.HasPrefix(did, "revoke") || !strings.Contains(did, "STEP DOWN") || p.left {
			t.Fatalf("left %t; it did: %s", p.left, did)
		}
		if !p.node.View().Leaving {
			t.Error("it does not say that it leaves")
		}
		p.pass(leaseTime)
		p.request("P2", lease.Renew, 2)
		if did := p.did(); !strings.Contains(did, "RELEASE 1.1") || p.left {
			t.Fatalf("left %t; it did: %s", p.left, did)
		}
		if removed {
			p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(r *node.Roster) {
				r.Members[2].Voter = false
			})})
		} else {
			p.until("it has left", func() bool { return p.left })
		}
		if took := p.now - begun; !p.left || removed && took > 2*leaseTime || !removed && took != 5*time.Second {
			t.Errorf("removed %t: it has left %t, after %v", removed, p.left, took)
		}
	}
}

// MC5: a process that leaves answers for five seconds at most, by a clock that goes on while its
// machine is suspended: what comes after that is not answered, and what waited for the disk is not
// sent, though no timer has run out yet.
func TestLeaveOnASuspendedMachine(t *testing.T) {
	for _, late := range []time.Duration{-1, 0} {
		p := start(t, "P1", newRoster(true))
		p.request("P3", lease.Vote, 1)
		p.slow = true
		p.step(node.Event{Type: node.Leave})
		p.request("P3", lease.Vote, 2)
		p.did()
		p.now += 5*time.Second + late
		p.request("P3", lease.Renew, 1)
		for len(p.writes) > 0 {
			p.write()
		}
		did := p.did()
		answers, sends := strings.Contains(did, "RENEW"), strings.Contains(did, "granted true")
		if over := late == 0; answers == over || sends == over || p.left != over {
			t.Errorf("after %v: left %t; it did: %s", 5*time.Second+late, p.left, did)
		}
	}
}

// MC6: a voter that leaves a pod that is being deleted goes on voting until a second before the grace
// period ends, counted from when its roster said so, or for a second if that is over. It makes no
// difference whether the roster comes before the word to leave.
func TestLeaveInAGracePeriod(t *testing.T) {
	const grace = 30 * time.Second
	deleted := func(grace time.Duration) node.Event {
		return node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(r *node.Roster) {
			r.Members[0].Priority, r.Members[0].Grace = 0, grace
		})}
	}
	for _, c := range []struct {
		name  string
		after time.Duration // from the roster until it is to leave; negative: the roster comes later
		takes time.Duration // since the earlier of both
	}{
		{"at once", 0, grace - time.Second},
		{"after its app", 20 * time.Second, grace - time.Second},
		{"its app took all the time", 40 * time.Second, 41 * time.Second},
		{"the roster comes late", -2 * time.Second, 2*time.Second + grace - time.Second},
	} {
		p := start(t, "P1", newRoster(true))
		begun := p.now
		if c.after >= 0 {
			p.step(deleted(grace))
			p.pass(c.after)
			p.step(node.Event{Type: node.Leave})
		} else {
			p.step(node.Event{Type: node.Leave})
			p.pass(-c.after)
			p.step(deleted(grace))
		}
		p.did()
		p.pass(500 * ms)
		p.request("P3", lease.PreVote, 0)
		if did := p.did(); !strings.Contains(did, "PREVOTE") { // it answers
			t.Errorf("%s: while it leaves it did: %s", c.name, did)
		}
		if v := p.node.View(); !v.Leaving || v.Left {
			t.Errorf("%s: while it leaves it says %+v", c.name, v)
		}
		p.until("it has left", func() bool { return p.left })
		if took := p.now - begun; took != c.takes || !p.node.View().Left {
			t.Errorf("%s: it has left after %v: %+v", c.name, took, p.node.View())
		}
	}
}

// Nobody waits for a vote when nobody can coordinate: all pods of the group are being deleted.
func TestAllLeave(t *testing.T) {
	p := start(t, "P1", edited(newRoster(true), func(r *node.Roster) {
		for i := range r.Members {
			r.Members[i].Priority, r.Members[i].Grace = 0, time.Minute
		}
	}))
	p.step(node.Event{Type: node.Leave})
	if !p.left {
		t.Error("it waits")
	}
}

// MC5: the last voter waits for a second to be told that its pod is being deleted, and leaves at once when
// it is.
func TestTheLastVoterWaitsForItsDismissal(t *testing.T) {
	for _, told := range []bool{false, true} {
		alone := edited(newRoster(true), func(r *node.Roster) { r.Members = r.Members[:1] })
		p := start(t, "P1", alone)
		begun := p.now
		p.step(node.Event{Type: node.Leave})
		p.pass(leaseTime / 2)
		if told {
			p.step(node.Event{Type: node.RosterReceived, Roster: edited(alone, func(r *node.Roster) {
				r.Members[0].Priority, r.Members[0].Grace = 0, time.Minute
			})})
		} else {
			p.until("it has left", func() bool { return p.left })
		}
		if took := p.now - begun; !p.left || !told && took != time.Second {
			t.Errorf("told %v: left %v after %v", told, p.left, took)
		}
	}
}

// A process that no manager manages leaves as soon as it has handed over.
func TestLeaveUnmanaged(t *testing.T) {
	p := boot(t, "P1", lease.State{})
	p.config.Managed = false
	p.node = node.New(p.config)
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	p.step(node.Event{Type: node.Leave})
	if !p.left {
		t.Error("it waits for a manager")
	}
}

// One incarnation numbers its elections through, also from one group object to the next: messages
// of both may be under way at once, and would count in the wrong one.
func TestElectionsOfTwoGroupsHaveTwoIDs(t *testing.T) {
	first := newRoster(false)
	p := start(t, "P1", first)
	next := edited(first, func(r *node.Roster) { r.Group, r.Generation = "h", 7 })
	seen := map[election.ID]string{}
	for _, r := range []*node.Roster{first, next} {
		if r == next {
			p.step(node.Event{Type: node.RosterReceived, Roster: next})
		}
		p.step(node.Event{Type: node.LinkUp, From: "P3"})
		p.until("it calls an election", func() bool { return len(p.sent) > 0 })
		for _, m := range p.sent {
			if m.Type != node.Election || m.Election.Election.Initiator != "P1" {
				continue
			}
			if group, used := seen[m.Election.Election]; used && group != r.Group {
				t.Errorf("%v is an election of %s and of %s", m.Election.Election, group, r.Group)
			}
			seen[m.Election.Election] = r.Group
		}
		p.sent = nil
	}
	if len(seen) < 2 {
		t.Errorf("it has called %v only", seen)
	}
}
