package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// V11: a vote is granted when it is on the disk, and everything else goes on meanwhile.
func TestAGrantWaitsForTheDisk(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow = true
	p.request("P3", lease.Vote, 1)
	if did := p.did(); !strings.Contains(did, "write 2") || strings.Contains(did, "granted true") {
		t.Fatalf("it did: %s", did)
	}
	p.receive("P3", node.Message{Type: node.Question, Sequence: 1})
	p.request("P2", lease.PreVote, 0)
	if did := p.did(); !strings.Contains(did, "answer") || !strings.Contains(did, "PREVOTE 1.0 granted false") {
		t.Errorf("while it writes, it did: %s", did)
	}
	p.write()
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 granted true") || p.disk.Lease.Highest.Ballot() != 1 {
		t.Errorf("when it has written %+v, it did: %s", p.disk, did)
	}
}

// A write holds everything that earlier ones held, so the report of one covers those before it.
func TestALaterWriteCoversEarlierOnes(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow = true
	p.request("P3", lease.Vote, 1)
	p.request("P3", lease.Vote, 2)
	if len(p.writes) != 2 || p.writes[1].Lease.Highest.Ballot() != 2 {
		t.Fatalf("under way: %+v", p.writes)
	}
	p.writes = p.writes[1:]
	p.did()
	p.write()
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 granted true; VOTE 1.2 granted true") {
		t.Errorf("it did: %s", did)
	}
}

// A failed write takes with it what was begun before its failure was known, and is tried again
// after a second. Until then the voter grants nothing, and for one lease more.
func TestAWriteThatFails(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow, p.broken = true, true
	p.request("P3", lease.Vote, 1)
	p.request("P3", lease.Vote, 2)
	failed := p.now
	p.did()
	p.write()
	p.broken = false
	p.write() // what was under way with it
	if did := p.did(); strings.Contains(did, "granted true") || strings.Contains(did, "write 4") {
		t.Errorf("after a failure it did: %s", did)
	}
	p.request("P3", lease.Vote, 3)
	if did := p.did(); !strings.Contains(did, "VOTE 1.3 granted false") {
		t.Errorf("its disk is broken, and it did: %s", did)
	}
	p.until("it tries again", func() bool { return len(p.writes) > 0 })
	if waited := p.now - failed; waited != time.Second {
		t.Errorf("it tries again after %v", waited)
	}
	p.write()
	p.slow = false
	p.request("P3", lease.Vote, 4)
	if did := p.did(); !strings.Contains(did, "VOTE 1.4 granted true") {
		t.Errorf("%v after the failure it did: %s", p.now-failed, did)
	}
}

// V11: a leaseholder whose disk fails revokes the permission before anything else, and holds
// nothing.
func TestALeaseholderWhoseDiskFails(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.hold()
	p.broken = true
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(*node.Roster) {})})
	if did := p.did(); !strings.Contains(did, "fails; revoke") || p.ledger.Valid(p.now) {
		t.Errorf("it may act: %t; it did: %s", p.ledger.Valid(p.now), did)
	}
}

// A roster is acknowledged when it is on the disk.
func TestARosterIsAcknowledgedWhenItIsOnTheDisk(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow = true
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(*node.Roster) {})})
	if v := p.node.View(); v.Generation != 2 || v.Acknowledged != 1 {
		t.Errorf("it uses generation %d, and acknowledges %d", v.Generation, v.Acknowledged)
	}
	p.write()
	if v := p.node.View(); v.Acknowledged != 2 || p.disk.Roster.Generation != 2 || p.disk.Lease.Generation != 2 {
		t.Errorf("it has written %+v, and acknowledges %d", p.disk, v.Acknowledged)
	}
}

// What a voter of a Guarded group has promised is not forgotten while it is in a Classic one.
func TestAClassicGroupForgetsNoPromise(t *testing.T) {
	saved := lease.State{Group: "earlier", Generation: 7, Voted: true, Highest: lease.NewEpoch(7, 7), Lease: time.Minute}
	p := boot(t, "P1", saved)
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(false)})
	if p.disk.Roster == nil || p.disk.Lease != saved {
		t.Errorf("it has written %+v", p.disk)
	}
}

// Nor is it while the same run goes from a Guarded group to a Classic one: the lease protocol hears
// nothing of a Classic roster, and takes no part.
func TestFromAGuardedGroupToAClassicOne(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.request("P3", lease.Vote, 1)
	promised := p.disk.Lease
	classic := newRoster(false)
	classic.Group = "another"
	p.step(node.Event{Type: node.RosterReceived, Roster: classic})
	p.did()
	p.pass(10 * time.Second)
	if p.disk.Roster.Group != "another" || p.disk.Lease != promised || p.node.Lease().State() != promised {
		t.Errorf("it promised %+v, and has written %+v", promised, p.disk.Lease)
	}
	if did := p.did(); strings.Contains(did, "VOTE") {
		t.Errorf("in a Classic group it did: %s", did)
	}
}

// A group that is gone is forgotten on the disk; what the voter has promised is not.
func TestAGroupThatIsGone(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.request("P3", lease.Vote, 1)
	p.step(node.Event{Type: node.RosterReceived})
	if p.disk.Roster != nil || p.disk.Lease.Highest != lease.NewEpoch(1, 1) {
		t.Errorf("it has written %+v", p.disk)
	}
	if p.node.View().Member || p.node.Election() != nil {
		t.Errorf("it shows %+v", p.node.View())
	}
}

// A process that starts again acknowledges at once what its state directory holds: a manager that
// has lost its status must not take it for one that has used no roster yet.
func TestWhatIsOnTheDiskIsAcknowledgedAtOnce(t *testing.T) {
	p := boot(t, "P1", lease.State{Group: "g", Generation: 1, Voted: true})
	p.slow = true
	p.step(node.Event{Type: node.RosterReceived, Roster: newRoster(true)})
	if v := p.node.View(); v.Acknowledged != 1 {
		t.Errorf("it acknowledges %d", v.Acknowledged)
	}
}

// V11: of the writes that a failure took with it nothing more counts, not even another failure: a
// later write is not lost to it.
func TestALateFailure(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.slow = true
	p.request("P3", lease.Vote, 1)
	p.request("P3", lease.Vote, 2)
	first, second := p.writes[0], p.writes[1]
	p.writes = nil
	p.carryOut(p.node.Advance(p.clocks(), first.Number, errDisk))
	p.until("it tries again", func() bool { return len(p.writes) > 0 })
	p.notes = nil
	p.carryOut(p.node.Advance(p.clocks(), second.Number, errDisk))
	if len(p.notes) > 0 || len(p.writes) != 1 {
		t.Errorf("it notes %+v, and writes %+v", p.notes, p.writes)
	}
	p.write()
	p.did()
	p.slow = false
	p.request("P2", lease.Vote, 3)
	if did := p.did(); !strings.Contains(did, "VOTE 1.3 granted true") {
		t.Errorf("the later write has succeeded, and it did: %s", did)
	}
}

// What has been written may be written again, with a newer signature of the roster. If that fails,
// nothing that was said is taken back: the lease goes on, and it is tried again.
func TestAWriteThatIsDoneAgainFails(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.hold()
	p.carryOut(p.node.Advance(p.clocks(), p.disk.Number, errDisk))
	if _, ok := p.ledger.Use(p.now); !ok {
		t.Fatalf("it gives its lease up: %s", p.did())
	}
	number := p.disk.Number
	p.until("it tries again", func() bool { p.grant("P1"); return p.disk.Number > number })
	p.request("P2", lease.Vote, 1)
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 granted false") {
		t.Errorf("it does not answer: %s", did)
	}
}

// What could not be written again is on the disk as it was: a promise does not wait for the next
// attempt.
func TestARewriteThatFailedHoldsUpNoPromise(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.carryOut(p.node.Advance(p.clocks(), p.disk.Number, errDisk))
	p.did()
	number := p.disk.Number
	p.request("P3", lease.Vote, 1)
	if did := p.did(); !strings.Contains(did, "VOTE 1.1 granted true") || p.disk.Number == number {
		t.Errorf("at write %d, after %d, it did: %s", p.disk.Number, number, did)
	}
}

// Nor does that hold up a write that waits for a place.
func TestARewriteThatFailedHoldsUpNoOtherWrite(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	done := p.disk.Number
	p.slow = true
	for ballot := range int64(65) {
		p.request("P3", lease.Vote, ballot+1)
	}
	p.step(node.Event{Type: node.RosterReceived, Roster: edited(newRoster(true), func(*node.Roster) {})})
	under := len(p.writes)
	p.carryOut(p.node.Advance(p.clocks(), done, errDisk))
	p.write()
	if len(p.writes) != under {
		t.Errorf("a place is free, and %d writes are under way", len(p.writes))
	}
}

// V11: a disk that stands still has at most 64 writes under way. The next one holds all that
// changed meanwhile.
func TestWritesUnderWayAreBounded(t *testing.T) {
	const most = 64
	p := start(t, "P1", newRoster(true))
	p.slow = true
	r := newRoster(true)
	for range 2 * most {
		r = edited(r, func(*node.Roster) {})
		p.step(node.Event{Type: node.RosterReceived, Roster: r})
	}
	if len(p.writes) != most {
		t.Errorf("%d writes are under way", len(p.writes))
	}
	for len(p.writes) > 0 {
		p.write()
	}
	if got := p.disk.Roster.Generation; got != r.Generation {
		t.Errorf("the disk has generation %d, and %d is in use", got, r.Generation)
	}
}

// A write that failed is tried again though nothing else happens.
func TestAFailedWriteWakesTheNode(t *testing.T) {
	p := start(t, "P1", newRoster(true))
	p.broken = true
	p.step(node.Event{Type: node.RosterReceived})
	if wait := p.next - p.now; wait != time.Second {
		t.Errorf("the next tick is due in %v", wait)
	}
}
