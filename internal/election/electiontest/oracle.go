package electiontest

import (
	"github.com/podesta-dev/podesta/internal/lease"
)

// oracle is what the invariants of a Guarded group remember: who has promised what, in true time.
type oracle struct {
	promises []promise               // by place of the voter and number of its memory
	wider    []promise               // by place of the voter: of all its memories, the one that runs longest
	owners   map[lease.Epoch]string  // who has held it
	highest  lease.Epoch             // that anybody has held
	holds    []hold                  // by place
	majors   map[int64]*lease.Roster // by generation
}

// promise is a voter's word, as it was given.
type promise struct {
	to    lease.Incarnation
	epoch lease.Epoch // the highest that it has promised
	until Time        // in true time
}

// hold is what a process may do, as its machine has it.
type hold struct {
	epoch    lease.Epoch
	until    Time // in true time
	deadline lease.Instant
	follows  lease.Epoch // the highest that this life followed
	life     uint64
}

func (o *oracle) begin(n int) {
	if o.owners == nil {
		o.owners, o.majors = map[lease.Epoch]string{}, map[int64]*lease.Roster{}
	}
	o.holds, o.promises, o.wider = again(o.holds, n), again(o.promises, n*mostMemories), again(o.wider, n)
	o.renew()
}

// renew forgets everything: it is another group object.
func (o *oracle) renew() {
	clear(o.promises)
	clear(o.wider)
	clear(o.owners)
	clear(o.majors)
	clear(o.holds)
	o.highest = 0
}

// timed reports whether clocks are within the bound, so that G1, G5 and what follows from them must hold.
func (s *Simulator) timed() bool { return !s.Beyond }

// promised notes a voter's promise, and checks G4.
func (s *Simulator) promised(g *guard, to lease.Incarnation, e lease.Epoch, lease lease.Instant) {
	o := &s.oracle
	if g.lease.State().Group != s.group() {
		return
	}
	before, other := *o.promise(g.p, g.number), o.wider[g.p]
	now := promise{to: to, epoch: e, until: g.clock.when(g.clock.boot(s.now) + lease)}
	if before.to == to {
		now.epoch, now.until = max(before.epoch, e), max(before.until, now.until)
	}
	switch {
	case s.timed() && before.to != to && s.now < before.until:
		s.fail("G4: %s promises %s to %v while %s is promised to %v until %d", g.self.Name, e, to, before.epoch, before.to, before.until)
	case s.timed() && other.to != to && s.now < other.until:
		s.fail("G4: %s promises %s to %v while an earlier memory has promised %s to %v until %d", g.self.Name, e, to, other.epoch,
			other.to, other.until)
	case e < before.epoch && (before.to != to || e != g.disk.older) || e == before.epoch && before.to != to:
		s.fail("G2, V3: %s promises %s to %v after %s to %v", g.self.Name, e, to, before.epoch, before.to)
	case g.disk.state.Highest != now.epoch || g.disk.state.To != to || g.disk.state.Lease < lease:
		s.fail("V11: %s promises %s to %v for %v; its disk has %+v", g.self.Name, e, to, lease, g.disk.state)
	}
	*o.promise(g.p, g.number) = now
	if now.until >= other.until {
		o.wider[g.p] = now
	}
}

// granted notes what a voter's response says.
func (s *Simulator) granted(g *guard, to lease.Incarnation, p *lease.Request, v *lease.Response) {
	if (p.Kind == lease.Vote || p.Kind == lease.Renew) && v.Granted {
		s.promised(g, to, p.Epoch, p.Lease)
	}
}

// released notes that a promise was given back to a voter.
func (s *Simulator) released(g *guard, m *mail) {
	if m.request.Kind != lease.Release {
		return
	}
	s.free(g, m.from, m.request.Epoch)
}

// free ends what that voter has promised that life up to an epoch.
func (s *Simulator) free(g *guard, by lease.Incarnation, e lease.Epoch) {
	for _, p := range [...]*promise{s.oracle.promise(g.p, g.number), &s.oracle.wider[g.p]} {
		if p.to == by && p.epoch <= e {
			p.until = min(p.until, s.now)
		}
	}
}

// promise is the newest one of a voter with its n-th memory.
func (o *oracle) promise(p int32, n int) *promise { return &o.promises[int(p)*mostMemories+n] }

// checkRequest checks what a process says of its lease before it goes out.
func (s *Simulator) checkRequest(g *guard, p lease.Request) {
	if g.p == s.rogue {
		return
	}
	switch p.Kind {
	case lease.Vote, lease.Renew:
		if to, remaining := g.lease.Promised(); to == g.self && g.disk.state.To == g.self && g.disk.state.Highest == g.lease.State().Highest { // it has promised it to itself
			s.promised(g, g.self, g.lease.State().Highest, remaining)
		}
	case lease.Release:
		s.free(g, g.self, p.Epoch)
		if e, _, ok := g.lease.Permission(); ok && e <= p.Epoch {
			s.fail("G8: %s releases %s and holds %s", g.self.Name, p.Epoch, e)
		}
		if a := &g.app; a.process == g.self && a.epoch == p.Epoch && s.now < a.until {
			s.fail("G8: %s releases %s; its app may act until %d", g.self.Name, p.Epoch, a.until)
		}
	case lease.StepDown:
		if e, _, ok := g.lease.Permission(); ok && e <= p.Epoch {
			s.fail("G8: %s resigns %s and holds %s", g.self.Name, p.Epoch, e)
		}
	default:
	}
}

// checkLease checks what must hold of a process after every step of its machines.
func (s *Simulator) checkLease(g *guard) {
	h := &s.oracle.holds[g.p]
	if h.life != g.self.Number {
		*h = hold{life: g.self.Number}
	}
	if g.lease.State().Group != s.group() || g.p == s.rogue {
		h.epoch = 0
		return
	}
	if who, e, bound := g.lease.Following(); who != "" && bound { // hearsay may err (F2)
		if e < h.follows {
			s.fail("G3: %s follows epoch %s after %s", g.self.Name, e, h.follows)
		}
		h.follows = e
	}
	e, deadline, ok := g.lease.Permission()
	if !ok || g.clock.boot(s.now) >= deadline {
		if h.epoch != 0 {
			s.note(Yields, g.p, -1, h.epoch.String())
		}
		h.epoch = 0
		return
	}
	if h.epoch == e && h.deadline == deadline {
		return
	}
	if h.epoch != e {
		s.takes(g, e)
	}
	h.epoch, h.deadline, h.until = e, deadline, g.clock.when(deadline)
	s.checkHold(g, h)
}

// takes checks G2, G3 and G9 when a process begins to hold an epoch.
func (s *Simulator) takes(g *guard, e lease.Epoch) {
	o := &s.oracle
	s.note(Holds, g.p, -1, e.String())
	s.Leases++
	s.changed = s.now
	if owner, known := o.owners[e]; known {
		s.fail("G2: %s holds %s, which %s has held", g.self.Name, e, owner)
	}
	o.owners[e] = g.self.Name
	if s.timed() && e <= o.highest {
		s.fail("G3: %s holds %s after %s was held", g.self.Name, e, o.highest)
	}
	o.highest = max(o.highest, e)
	if i := place(s.rosters[s.agents[g.p].generation].processes, g.self.Name); i < 0 ||
		s.rosters[s.agents[g.p].generation].processes[i].Priority <= 0 {
		s.fail("G9: %s holds %s and is not on its roster with a priority", g.self.Name, e)
	}
}

// checkHold checks G1, G5 and G6 when what a process relies on changes.
func (s *Simulator) checkHold(g *guard, h *hold) {
	o := &s.oracle
	r := o.majors[h.epoch.Generation()]
	voters, firm := 0, 0
	for i := range r.Members {
		q := &r.Members[i]
		if !q.Voter {
			continue
		}
		voters++
		p := *o.promise(seat(q.Name), memoryNumber(q))
		if q.Name == g.self.Name && g.lease.State().To == g.self && len(r.Members) == 1 {
			p = promise{to: g.self, epoch: h.epoch, until: h.until}
		}
		if p.to == g.self && p.epoch >= h.epoch && p.until >= h.until {
			firm++
		}
	}
	if s.timed() && firm < voters/2+1 { // by clocks beyond the bound a promise may have ended, and be another's by now
		s.fail("G5, G6: %s holds %s until %d; %d of %d voters have promised it for so long", g.self.Name, h.epoch, h.until, firm, voters)
	}
	if !s.timed() {
		return
	}
	for q := range o.holds {
		if other := &o.holds[q]; int32(q) != g.p && other.epoch != 0 && s.now < other.until {
			s.fail("G1: %s and %s hold %s and %s at once", g.self.Name, s.nodes[q].name, h.epoch, other.epoch)
		}
	}
}

// checkAct checks G1 for the apps, when one is told that it may act.
func (s *Simulator) checkAct(g *guard) {
	for q := range s.guards {
		a := &s.guards[q].app
		overlaps := int32(q) != g.p && a.told > 0 && s.now < a.until && a.group == g.app.group
		switch {
		case !overlaps:
		case !s.timed():
			s.Overlaps++
		default:
			s.fail("G1: the apps of %s and %s may act under %s and %s at once", g.self.Name, s.nodes[q].name, g.app.epoch, a.epoch)
		}
	}
}
