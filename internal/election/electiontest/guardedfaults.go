package electiontest

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Faults that befall Guarded groups only.

// stepWall sets a wall clock.
func (s *Simulator) stepWall() {
	g := &s.guards[s.target()]
	by := time.Duration(s.rng.Int64N(int64(20*time.Second))) - 10*time.Second
	if s.rng.IntN(2) == 0 {
		by /= 100
	}
	g.clock.stepped += by
}

// stopManager stops a manager for a while, or both.
func (s *Simulator) stopManager() {
	until := s.now + s.lasting(80*T)
	both := s.rng.IntN(2) == 0
	for i := range s.managers {
		if both || s.rng.IntN(2) == 0 {
			s.managers[i].down = until
		}
	}
}

// managed reports whether a manager is there.
func (s *Simulator) managed() bool {
	return slices.ContainsFunc(s.managers[:], func(m manager) bool { return s.now >= m.down })
}

// editLease makes the lease longer or shorter.
func (s *Simulator) editLease() {
	s.world.lease = time.Duration([]int{400, 700, 1000, 2000, 3000}[s.rng.IntN(5)]) * time.Millisecond
	s.world.edited = true
}

// remake deletes the group and makes another of the same name.
func (s *Simulator) remake() {
	if s.world.group+1 >= len(uids) || s.rng.IntN(4) > 0 {
		return
	}
	s.world.group++
	s.oracle.renew()
	s.register = register{refused: s.register.refused, accepted: s.register.accepted}
	next := roster{algorithm: s.world.runs}
	r := *s.newest().lease
	r.Group, r.Generation, r.Lease, r.Members = s.group(), max(r.Generation+1, s.clockGeneration()), s.world.lease, nil
	members, _, _ := s.desired(&s.managers[0], &next)
	if len(members) == 0 {
		s.world.group--
		return
	}
	next.processes, r.Members = processesOf(members), slices.Clone(members)
	next.lease = &r
	s.persist(next)
}

// editGroup edits the group, or scales it.
func (s *Simulator) editGroup() {
	w := &s.world
	if len(w.ring) == 0 {
		return
	}
	i := s.rng.IntN(len(w.ring))
	p := w.ring[i]
	w.edited = true
	switch s.rng.IntN(8) {
	case 0, 1:
		w.pods[p].priority = int32(1 + s.rng.IntN(2*len(s.nodes)))
	case 2:
		w.pods[p].priority = 0
	case 3:
		j := s.rng.IntN(len(w.ring))
		w.ring[i], w.ring[j] = w.ring[j], w.ring[i]
	case 4:
		if s.pods() > 1 {
			s.remove(p)
		}
	case 5, 6:
		s.add(s.someone())
	case 7:
		if s.Switch {
			w.runs = simulatedAlgorithm(s.rng.IntN)
		} else {
			s.replacePod()
		}
	}
}

// pods is how many pods the group has.
func (s *Simulator) pods() (n int) {
	for i := range s.world.pods {
		if s.world.pods[i].there {
			n++
		}
	}
	return n
}

// remove deletes a pod. Its agent ends; that becomes known, or it does not.
func (s *Simulator) remove(p int32) {
	pod := &s.world.pods[p]
	if !pod.there {
		return
	}
	pod.there = false
	s.finish(p)
}

// finish ends a pod's agent for good.
func (s *Simulator) finish(p int32) {
	s.crash(p)
	s.agents[p].up = false
	s.agents[p].gone = true
	s.guards[p].app.end(s.now)
	s.worn(p)
}

// worn: a memory has ended for good; that becomes known, or it does not.
func (s *Simulator) worn(p int32) {
	number := s.guards[p].disk.number
	if !s.chance(s.Unsure) && number < mostMemories {
		s.plan(s.now+1+s.lasting(10*T), faults, wornTask, p).sequence = number
	}
}

// add makes a pod for a process that has none.
func (s *Simulator) add(p int32) {
	pod, a, g := &s.world.pods[p], &s.agents[p], &s.guards[p]
	if pod.there || a.uid+1 >= len(uids) || g.disk.number+1 >= mostMemories {
		return
	}
	if !a.gone { // the first pod of a stranger runs already
		a.gone, a.uid = true, a.uid-1
		s.crash(p)
	}
	a.uid++
	g.disk = disk{number: g.disk.number + 1}
	pod.there, pod.uid, pod.priority = true, a.uid, int32(1+s.rng.IntN(2*len(s.nodes)))
	if !slices.Contains(s.world.ring, p) {
		s.world.ring = slices.Insert(s.world.ring, s.rng.IntN(len(s.world.ring)+1), p)
	}
	a.gone, a.up = false, false
	s.plan(s.now+s.lasting(10*T), faults, bootTask, p)
}

// replacePod is a step of a rolling restart: a pod ends, and a new one of that name begins.
func (s *Simulator) replacePod() {
	p := s.target()
	pod := &s.world.pods[p]
	if !pod.there {
		return
	}
	s.world.edited = true
	priority := pod.priority
	s.finish(p)
	pod.there = false
	s.add(p)
	pod.priority = priority
}

// end: the app ends.
func (a *app) end(now Time) { a.until, a.told = min(a.until, now), 0 }

// crashed: the agent has ended, perhaps with its app, perhaps with its memory.
func (s *Simulator) crashed(p int32) {
	g := &s.guards[p]
	if s.rng.IntN(2) == 0 {
		g.app.end(s.now)
	}
	s.oracle.holds[p].epoch = 0
	if s.chance(s.Amnesia) && g.disk.number+1 < mostMemories {
		s.worn(p)
		g.disk = disk{number: g.disk.number + 1}
	}
}

func simulatedAlgorithm(draw func(int) int) string {
	all := election.Algorithms()
	return all[draw(len(all))]
}

// strand cuts some processes off from the managers for long: they act on with what they have.
func (s *Simulator) strand() {
	until := s.now + s.lasting(100*T)
	for p := range s.agents {
		if s.rng.IntN(2) == 0 {
			s.agents[p].stranded = until
		}
	}
}

// forgeRequest lets the rogue request for whatever it likes, in its own name. It does not vote.
func (s *Simulator) forgeRequest(to int32) {
	g := &s.guards[s.rogue]
	kinds := [...]lease.Kind{lease.PreVote, lease.Vote, lease.Vote, lease.Renew, lease.Renew, lease.StepDown, lease.Release, lease.Transfer,
		lease.TakeOver, "GARBAGE"}
	generation := s.newest().lease.Generation + int64(s.rng.IntN(3)-1)
	ballot := [...]int64{0, 1, s.oracle.highest.Ballot(), s.oracle.highest.Ballot() + 1, lease.MaxBallot}[s.rng.IntN(5)]
	m := mail{from: g.self, request: lease.Request{
		Kind: kinds[s.rng.IntN(len(kinds))], Epoch: lease.NewEpoch(generation, ballot), Round: s.rng.Uint64() | 1<<40, Lease: time.Duration(s.rng.IntN(4000)-500) * time.Millisecond,
		Heir: s.nodes[s.someone()].name}}
	s.tell(Requests, s.rogue, to, &m)
	s.mailTo(requestTask, s.arrival(s.pair(s.rogue, to)), s.rogue, to, &m)
}
