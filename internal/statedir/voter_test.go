package statedir_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/durable/durabletest"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/statedir"
)

const leaseTime = time.Second

// oath is what a voter has answered to the others: what it must never forget.
type oath struct {
	highest    lease.Epoch
	to         lease.Incarnation
	until      lease.Instant // on the voter's clock, which goes on while the agent restarts
	generation int64         // of the roster that it has acknowledged
	started    uint64        // the last number of a start
	id         string        // of its state directory
}

// voter is the agent of p1: a machine, a state directory, and what both have answered.
type voter struct {
	t       *testing.T
	disk    *durabletest.Disk
	dir     *statedir.Dir
	machine *lease.Machine
	roster  *roster.Roster
	clock   lease.Instant
	oath    *oath
}

// boot starts an incarnation of the voter. The error is the disk's.
func boot(t *testing.T, disk *durabletest.Disk, clock lease.Instant, o *oath) (*voter, error) {
	dir, err := statedir.OpenOn(disk, now.Add(clock))
	if err != nil {
		return nil, err
	}
	saved, err := dir.Load()
	if err != nil {
		return nil, err
	}
	if o.id != "" && dir.ID != o.id || dir.Incarnation <= o.started {
		t.Errorf("incarnation %d of %s follows %d of %s", dir.Incarnation, dir.ID, o.started, o.id)
	}
	o.id, o.started = dir.ID, dir.Incarnation
	if o.generation > 0 && (saved.Roster == nil || saved.Roster.Generation < o.generation) {
		t.Errorf("generation %d was acknowledged, and the roster is %+v",
			o.generation, saved.Roster)
	}
	v := &voter{
		t:     t,
		disk:  disk,
		dir:   dir,
		clock: clock,
		oath:  o,
	}
	v.machine = lease.New(lease.Config{
		Self:     v.self(),
		Remember: saved.Lease,
		Seed:     1,
		Now:      v.reading(),
	})
	if saved.Roster != nil {
		err = v.use(saved.Roster)
	}
	return v, err
}

func (v *voter) self() lease.Incarnation {
	return lease.Incarnation{
		Name:    "p1",
		UID:     "uid-p1",
		StateID: v.dir.ID,
		Number:  v.dir.Incarnation,
	}
}

func (v *voter) reading() lease.Reading {
	return lease.Reading{
		Boot: v.clock,
		Raw:  v.clock,
		Wall: v.clock,
	}
}

// step lets the machine take an event as an agent does: what it asks to sync is on the disk before
// its answer goes out; if that fails, nothing goes out.
func (v *voter) step(e lease.Event) (*lease.Response, error) {
	e.Now = v.reading()
	out := v.machine.Step(e)
	if !out.Sync {
		return out.Response, nil
	}
	if err := v.dir.Save(v.machine.State(), v.roster); err != nil {
		v.machine.Unsynced()
		return nil, err
	}
	v.oath.generation = max(v.oath.generation, v.machine.State().Generation)
	return out.Response, nil
}

// use begins to use a roster.
func (v *voter) use(r *roster.Roster) error {
	v.roster = r
	enrolled := &lease.Roster{
		Group:      r.GroupUID,
		Generation: r.Generation,
		Heartbeat:  r.Heartbeat,
		Timeout:    r.Timeout,
		Lease:      r.Lease,
		Preemption: lease.Policy(r.Preemption),
		Stable:     r.Stable,
	}
	for _, p := range r.Processes {
		enrolled.Members = append(enrolled.Members, lease.Member{
			Name:     p.Name,
			UID:      p.UID,
			StateID:  p.StateID,
			Priority: p.Priority,
			Voter:    p.Voter,
		})
	}
	_, err := v.step(lease.Event{Type: lease.Enrolled, Roster: enrolled})
	return err
}

// candidate is the incarnation of another process that asks.
func candidate(name string) lease.Incarnation {
	return lease.Incarnation{
		Name:    name,
		UID:     "uid-" + name,
		StateID: "STATE-" + name,
		Number:  7,
	}
}

// vote asks the voter for its vote, and holds what it answers against all that it has answered.
func (v *voter) vote(name string, e lease.Epoch) (granted bool, err error) {
	from := candidate(name)
	answer, err := v.step(lease.Event{
		Type: lease.Requested,
		From: from,
		Request: lease.Request{
			Kind:  lease.Vote,
			Group: "group-uid",
			Epoch: e,
			Lease: leaseTime,
		},
	})
	if answer == nil || !answer.Granted {
		return false, err
	}
	o := v.oath
	switch {
	case from != o.to && v.clock < o.until:
		v.t.Errorf("%s is granted to %s at %v, and %s to %s runs until %v",
			e, name, v.clock, o.highest, o.to.Name, o.until)
	case from != o.to && e <= o.highest, e < o.highest:
		v.t.Errorf("%s is granted to %s after %s was to %s", e, name, o.highest, o.to.Name)
	case e.Generation() < o.generation && (from != o.to || e != o.highest): // V4 lets it renew
		v.t.Errorf("%s is granted to %s after generation %d was acknowledged",
			e, name, o.generation)
	}
	o.highest, o.to, o.until = e, from, v.clock+leaseTime
	return true, err
}

// release gives back what was promised to a process: its promise ends, whether or not that is
// saved.
func (v *voter) release(name string, e lease.Epoch) error {
	_, err := v.step(lease.Event{
		Type:    lease.Requested,
		From:    candidate(name),
		Request: lease.Request{Kind: lease.Release, Group: "group-uid", Epoch: e},
	})
	if v.oath.to == candidate(name) && v.oath.highest <= e {
		v.oath.until = min(v.oath.until, v.clock)
	}
	return err
}
