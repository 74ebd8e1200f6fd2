package electiontest

import (
	"errors"
	"strconv"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/gate"
	"github.com/podesta-dev/podesta/internal/lease"
)

// guard is what a process of a Guarded group has besides its election machine: the gate, the lease machine, its clocks, its
// disk. It drives the gate as internal/agent does.
type guard struct {
	s      *Simulator
	p      int32
	clock  clock
	gate   *gate.Gate
	lease  *lease.Machine
	self   lease.Incarnation
	number int // of the memory that this life began with
	disk   disk
	app    app
	ticks  Time        // when the next tick of the lease machine is planned; 0: none is
	reach  lease.Reach // as rewire knows it
	named  string      // the coordinator, likewise
}

// disk is what outlives an agent's restart.
type disk struct {
	number int         // of the memory: a lost one has another number
	state  lease.State // what was synced
	older  lease.Epoch // to the same life under the roster before (V4); 0: nothing
}

// write puts a state on the disk. What is promised there binds the voter, even if it ends before it can say so.
func (d *disk) write(state lease.State) {
	switch before := d.state; {
	case state.To != before.To:
		d.older = 0
	case state.Highest.Generation() > before.Highest.Generation():
		d.older = before.Highest
	}
	d.state = state
}

// memory is the identity of a process's n-th memory.
func memory(name string, n int) string { return name + "/" + strconv.Itoa(n) }

// arm gives a process its lease machine, in the life that its election machine has.
func (g *guard) arm() {
	s, v := g.s, &g.s.nodes[g.p]
	g.self = lease.Incarnation{Name: v.name, UID: uids[s.agents[g.p].uid], StateID: memory(v.name, g.disk.number), Number: v.life}
	g.lease = lease.New(lease.Config{Self: g.self, Saved: g.disk.state,
		Seed: s.rng.Uint64(), Now: g.Now()})
	g.gate = gate.New(v.machine, g.lease, g)
	g.ticks, g.app.process, g.number = 0, g.self, g.disk.number
	g.reach, g.named = lease.Nobody, ""
	s.authorise(g.p, lease.Event{Type: lease.RosterChanged, Roster: s.rosters[s.agents[g.p].generation].lease})
}

// dead reports whether the process ended in the middle of what its gate is doing.
func (g *guard) dead() bool {
	v := &g.s.nodes[g.p]
	return v.machine == nil || v.life != g.self.Number
}

// Now implements gate.Driver. Every step of the lease machine reads the clocks once.
func (g *guard) Now() lease.Reading { return g.clock.read(g.s.now) }

// T implements gate.Driver: measured on the process's own clock.
func (g *guard) T() lease.Instant {
	g.s.steps++
	return g.clock.duration(T)
}

// Elected implements gate.Driver.
func (g *guard) Elected(before, _ election.State, out election.Output) {
	if g.dead() {
		return
	}
	g.s.perform(g.p, before, out)
	g.s.event = election.Event{} // what the gate steps further is about another event
}

var errDisk = errors.New("the disk does not take it")

// Sync implements gate.Driver. A state that could not be synced may be on the disk all the same.
func (g *guard) Sync(state lease.State) error {
	s := g.s
	if g.dead() {
		return errDisk
	}
	if s.chance(s.SyncFails) {
		if s.rng.IntN(2) == 0 {
			g.disk.write(state)
		}
		s.note(Unsynced, g.p, -1, "")
		return errDisk
	}
	g.disk.write(state)
	if s.chance(s.SyncDies) {
		s.crash(g.p)
		return errDisk
	}
	return nil
}

// Heard implements gate.Driver.
func (g *guard) Heard(process string) {
	if g.dead() {
		return
	}
	q := seat(process)
	r := g.s.pair(g.p, q)
	r.asked, r.unheard = g.s.now, false
	g.s.trust(g.p, q)
}

// Stopped implements gate.Driver.
func (g *guard) Stopped() lease.Instant {
	if g.dead() {
		return g.clock.boot(g.s.now)
	}
	return g.s.stopped(g)
}

// elect gives an event to the election machine of a Guarded process.
func (s *Simulator) elect(p int32, e election.Event) {
	s.event = e
	g := &s.guards[p]
	g.gate.Elect(e)
	s.settle(g, e.Type != election.Receive && e.Type != election.Timeout)
}

// authorise gives an event to its lease machine.
func (s *Simulator) authorise(p int32, e lease.Event) *lease.Response {
	s.event = election.Event{}
	g := &s.guards[p]
	v := g.gate.Authorise(e)
	s.settle(g, false)
	if g.dead() {
		return nil
	}
	return v
}

// settle follows up what a gate did: links, the next tick, and what must hold.
func (s *Simulator) settle(g *guard, rewire bool) {
	if g.dead() {
		return
	}
	s.checkLease(g)
	reach, named := g.lease.Reach(), s.nodes[g.p].machine.State().Coordinator
	if rewire || reach != g.reach || named != g.named {
		g.reach, g.named = reach, named
		s.rewire(g.p)
		if g.dead() {
			return
		}
	}
	at := max(g.clock.when(g.lease.Next()), s.now+1)
	if g.ticks > s.now && g.ticks <= at {
		return
	}
	g.ticks = at
	t := s.plan(at, timeouts, leaseTask, g.p)
	t.life = g.self.Number
}

// tickLease lets the lease machine look, if it is time.
func (s *Simulator) tickLease(t *task) {
	g := &s.guards[t.to]
	if g.gate == nil || g.dead() || t.life != g.self.Number || g.ticks > s.now {
		return
	}
	g.ticks = 0
	s.authorise(t.to, lease.Event{Type: lease.Tick})
}
