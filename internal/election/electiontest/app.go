package electiontest

import "github.com/podesta-dev/podesta/internal/lease"

// app is the application beside an agent. It asks every now and then whether it may act, and until when; it acts at once, or after a
// pause that comes between check and act. Half of the apps keep a session: the agent can take the permission back at once.
type app struct {
	process lease.Incarnation
	session bool
	told    lease.Instant // until when it may act, on its clock
	until   Time          // the same, in true time
	epoch   lease.Epoch
	group   string
}

// register is a resource that refuses an epoch below the highest that it has seen (G7).
type register struct {
	highest  lease.Epoch
	by       lease.Incarnation
	accepted int
	refused  int
}

// poll: the app asks.
func (s *Simulator) poll(t *task) {
	g := &s.guards[t.to]
	s.plan(s.now+1+Time(s.rng.Int64N(int64(2*heartbeat))), looks, pollTask, t.to)
	if g.gate == nil || g.dead() || t.to == s.rogue {
		return
	}
	now := g.clock.boot(s.now)
	epoch, deadline, ok := g.lease.Permission()
	if !ok || now >= deadline {
		return
	}
	a := &g.app
	if deadline > a.told || epoch != a.epoch {
		a.told, a.epoch, a.group = max(deadline, a.told), epoch, g.lease.State().Group
		a.until = g.clock.when(a.told)
		s.note(Acts, t.to, -1, epoch.String())
	}
	s.checkAct(g)
	if s.rng.IntN(4) > 0 {
		s.act(g, epoch)
		return
	}
	act := s.plan(s.now+s.lasting(20*T), looks, actTask, t.to) // paused between check and act
	act.life, act.sequence = uint64(epoch), s.world.group
}

// act writes to the register.
func (s *Simulator) act(g *guard, e lease.Epoch) {
	r := &s.register
	if e < r.highest {
		r.refused++
		return
	}
	if e == r.highest && r.by.Name != g.self.Name {
		s.fail("G7: the register accepts epoch %s of %s and of %s", e, r.by.Name, g.self.Name)
	}
	r.highest, r.by = e, g.self
	r.accepted++
}

// stopped takes the permission away from the app, and says until when it was told that it may act.
func (s *Simulator) stopped(g *guard) lease.Instant {
	a := &g.app
	now := g.clock.boot(s.now)
	if a.session && a.told > now {
		a.told, a.until = now, s.now
	}
	return a.told
}
