package statedir_test

import (
	"errors"
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
	grants  int // votes that have gone out
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
		Self:  v.self(),
		Saved: saved.Lease,
		Seed:  1,
		Now:   v.reading(),
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

// step lets the machine take an event as an agent does: what it replies at once goes out at once,
// and what it wants on the disk is written, whose outcome is an event, too. The error is the
// disk's.
func (v *voter) step(e lease.Event) error {
	e.Now = v.reading()
	out := v.machine.Step(e)
	for _, reply := range out.Replies {
		if reply.Response.Kind == lease.Vote && reply.Response.Granted {
			v.granted(candidate(reply.To), reply.Response.Epoch)
		}
	}
	if out.Version == 0 {
		return nil
	}
	written := lease.Event{Type: lease.Persisted, Version: out.Version}
	state := v.machine.State()
	err := v.dir.Save(state, v.roster)
	switch {
	case errors.Is(err, durabletest.ErrCrashed):
		return err
	case err != nil:
		written = lease.Event{Type: lease.WriteFailed}
	default:
		v.oath.generation = max(v.oath.generation, state.Generation)
	}
	return errors.Join(err, v.step(written))
}

// use begins to use a roster, which names this state directory.
func (v *voter) use(r *roster.Roster) error {
	r.Processes[0].StateID = v.dir.ID
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
	return v.step(lease.Event{Type: lease.RosterChanged, Roster: enrolled})
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

// vote asks the voter for its vote, and reports whether it was granted.
func (v *voter) vote(name string, e lease.Epoch) (granted bool, err error) {
	before := v.grants
	err = v.request(name, lease.Request{
		Kind:  lease.Vote,
		Group: "group-uid",
		Epoch: e,
		Lease: leaseTime,
	})
	return v.grants > before, err
}

func (v *voter) request(name string, r lease.Request) error {
	return v.step(lease.Event{
		Type:    lease.Requested,
		From:    candidate(name),
		Request: r,
	})
}

// granted holds a vote that goes out against all that this voter has ever answered.
func (v *voter) granted(to lease.Incarnation, e lease.Epoch) {
	v.grants++
	o := v.oath
	switch {
	case to != o.to && v.clock < o.until:
		v.t.Errorf("%s is granted to %s at %v, and %s to %s runs until %v",
			e, to.Name, v.clock, o.highest, o.to.Name, o.until)
	case to != o.to && e <= o.highest, e < o.highest:
		v.t.Errorf("%s is granted to %s after %s was to %s", e, to.Name, o.highest, o.to.Name)
	case e.Generation() < o.generation && (to != o.to || e != o.highest): // V4 lets it renew
		v.t.Errorf("%s is granted to %s after generation %d was acknowledged",
			e, to.Name, o.generation)
	}
	o.highest, o.to, o.until = e, to, v.clock+leaseTime
}

// release gives back what was promised to a process: its promise ends, whether or not that is
// saved.
func (v *voter) release(name string, e lease.Epoch) error {
	err := v.request(name, lease.Request{Kind: lease.Release, Group: "group-uid", Epoch: e})
	if v.oath.to == candidate(name) && v.oath.highest <= e {
		v.oath.until = min(v.oath.until, v.clock)
	}
	return err
}
