package electiontest

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// strike lets one fault happen, and plans the next.
func (s *Simulator) strike() {
	if s.calm {
		return
	}
	s.plan(s.gap(), faults, faultTask, 0)
	kinds := [...]struct {
		weight int
		strike func()
	}{
		{s.Crashes, s.crashSomebody}, {s.Cuts, s.cutSomewhere}, {s.Clogs, s.clogSomewhere}, {s.Pauses, s.pauseSomebody},
		{s.Suspicions, s.suspectSomebody}, {s.Breaks, s.breakSomething}, {s.Illness, s.sickenSomebody},
		{s.Rosters, s.editRoster}, {s.Forgeries, s.forge},
		{s.Wallsteps, s.stepWall}, {s.Pods, s.replacePod}, {s.Managers, s.stopManager}, {s.Leases, s.editLease}, {s.Renewals, s.remake}, {s.Strandings, s.strand},
	}
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	if sum == 0 {
		return
	}
	pick := s.rng.IntN(sum)
	for _, k := range kinds {
		if pick -= k.weight; pick < 0 {
			s.Faults++
			k.strike()
			return
		}
	}
}

func (s *Simulator) someone() int32 { return int32(s.rng.IntN(len(s.nodes))) }

// lasting draws how long a fault lasts: mostly short, sometimes up to most.
func (s *Simulator) lasting(most Time) Time {
	if s.rng.IntN(4) > 0 {
		most = max(most/8, 1)
	}
	return 1 + Time(s.rng.Int64N(int64(most)))
}

// target is anybody, but rather often the coordinator, in somebody's view.
func (s *Simulator) target() int32 {
	p := s.someone()
	if m := s.nodes[p].machine; m != nil && s.rng.IntN(3) == 0 {
		if c, ok := s.places[m.State().Coordinator]; ok {
			return c
		}
	}
	return p
}

func (s *Simulator) crashSomebody() { s.crash(s.target()) }

// crash ends a process, and mostly plans its next life.
func (s *Simulator) crash(p int32) {
	a := &s.agents[p]
	if !a.up || s.calm {
		return
	}
	a.up = false
	s.nodes[p].awake = s.now
	s.exit(p)
	if s.Guarded {
		s.crashed(p)
	}
	if s.rng.IntN(10) > 0 {
		s.plan(s.now+s.lasting(40*T), faults, bootTask, p)
	}
}

// start gives a process another life; it remembers the roster, or hears of a newer one. What chaos planned is not done in calm.
func (s *Simulator) start(p int32, planned bool) {
	a := &s.agents[p]
	if a.up || a.gone || s.calm != planned {
		return
	}
	if s.Guarded && s.guards[p].disk.state.Group == "" && !s.managed() {
		s.plan(s.now+T, faults, bootTask, p)
		return // without a memory it has to be told the roster
	}
	a.up = true
	if s.rng.IntN(2) == 0 {
		a.generation = len(s.rosters) - 1
	}
	s.enter(p, "")
}

func (s *Simulator) pauseSomebody() {
	p := s.target()
	s.note(Paused, p, -1, "")
	s.nodes[p].awake = s.now + s.lasting(20*T)
}

func (s *Simulator) suspectSomebody() {
	p := s.someone()
	if m := s.nodes[p].machine; m != nil {
		if c := m.State().Coordinator; c != "" && c != s.nodes[p].name {
			s.suspect(p, c)
		}
	}
}

// breakSomething breaks a link that works.
func (s *Simulator) breakSomething() {
	p, q := s.someone(), s.someone()
	if r := s.pair(p, q); s.nodes[p].machine != nil && r.link == open {
		s.lost(p, q, r)
	}
}

// sickenSomebody: the app falls ill for a while, or the process hands over and leaves.
func (s *Simulator) sickenSomebody() {
	p := s.target()
	a, m := &s.agents[p], s.nodes[p].machine
	if m == nil || a.ill || a.leaving {
		return
	}
	s.note(Withdraws, p, -1, "")
	if s.rng.IntN(2) == 0 {
		a.leaving = true
		s.plan(s.now+1+Time(s.rng.Int64N(int64(T))), faults, leaveTask, p).life = s.nodes[p].life
	} else {
		a.ill = true
		s.plan(s.now+s.lasting(40*T), faults, wellTask, p).life = s.nodes[p].life
	}
	s.step(p, election.Event{Type: election.Withdraw})
}

func (s *Simulator) restore(p int32, planned bool) {
	if a := &s.agents[p]; s.nodes[p].machine != nil && a.ill && s.calm == planned {
		a.ill = false
		s.note(Restored, p, -1, "")
		s.step(p, election.Event{Type: election.Restore})
	}
}

// clogSomewhere holds back what travels on some links; it arrives all at once.
func (s *Simulator) clogSomewhere() {
	until := s.now + s.lasting(10*T)
	p, q := s.someone(), s.someone()
	all := s.rng.IntN(2) == 0
	for other := range int32(len(s.nodes)) {
		if all || other == q {
			s.pair(p, other).clogged = until
		}
	}
}

// cutSomewhere cuts the network in one of the ways of the book of hazards.
func (s *Simulator) cutSomewhere() {
	shape, salt := s.rng.IntN(shapes), s.rng.Uint32()
	lasts := s.lasting(40 * T)
	turns := 1
	if s.Flap {
		turns, lasts = 1+s.rng.IntN(8), 1+Time(s.rng.Int64N(int64(3*T)))
	}
	s.flap(&task{to: s.target(), from: int32(shape), generation: salt, sequence: turns, life: uint64(lasts)})
}

// flap cuts once more, and plans the next turn.
func (s *Simulator) flap(t *task) {
	if s.calm {
		return
	}
	lasts := Time(t.life)
	shape, p, salt, turns := int(t.from), t.to, t.generation, t.sequence
	s.note(WasCut, p, -1, shapeNames[shape])
	for a := range int32(len(s.nodes)) {
		for b := range int32(len(s.nodes)) {
			if s.severed(shape, p, a, b, salt) {
				s.pair(a, b).cut = s.now + lasts
			}
		}
	}
	if turns > 1 {
		next := s.plan(s.now+2*lasts, faults, cutTask, p)
		next.from, next.generation, next.sequence, next.life = int32(shape), salt, turns-1, uint64(lasts)
	}
}

var shapeNames = [...]string{"halves", "isolated", "deaf", "mute", "one way", "bridge", "intersecting", "ring edge"}

const shapes = len(shapeNames)

// severed reports whether a cut of that shape, aimed at p, keeps what a sends from b. The bits of salt say which side a
// process is on.
func (s *Simulator) severed(shape int, p, a, b int32, salt uint32) bool {
	side := func(q int32) uint32 { return salt >> q & 1 }
	n := int32(len(s.nodes))
	switch shapeNames[shape] {
	case "halves":
		return side(a) != side(b)
	case "isolated":
		return (a == p) != (b == p)
	case "deaf":
		return b == p
	case "mute":
		return a == p
	case "one way":
		return a == p && b == int32(salt%uint32(n))
	case "bridge": // p is on both sides
		return a != p && b != p && side(a) != side(b)
	case "intersecting": // p and the next are
		next := (p + 1) % n
		return a != p && b != p && a != next && b != next && side(a) != side(b)
	default:
		return a == p && b == (p+1)%n || b == p && a == (p+1)%n
	}
}

// editRoster makes the next generation of the roster. Everybody hears of it in its own time.
func (s *Simulator) editRoster() {
	if s.Guarded {
		s.editGroup()
		return
	}
	newest := s.rosters[len(s.rosters)-1]
	next := roster{processes: slices.Clone(newest.processes), algorithm: newest.algorithm}
	i := s.rng.IntN(len(next.processes))
	switch s.rng.IntN(7) {
	case 0, 1:
		next.processes[i].Priority = int32(1 + s.rng.IntN(2*len(s.nodes)))
	case 2:
		next.processes[i].Priority = 0
	case 3:
		j := s.rng.IntN(len(next.processes))
		next.processes[i], next.processes[j] = next.processes[j], next.processes[i]
	case 4:
		if len(next.processes) > 1 {
			next.processes = slices.Delete(next.processes, i, i+1)
		}
	case 5:
		next.processes = s.join(next.processes)
	case 6:
		if s.Switch {
			next.algorithm = election.Algorithms()[s.rng.IntN(len(election.Algorithms()))]
		} else {
			s.replace(&next.processes[i])
		}
	}
	s.rosters = append(s.rosters, next)
	for p := range int32(len(s.nodes)) {
		s.plan(s.now+1+Time(s.rng.Int64N(int64(s.Lag)+1)), faults, enrolTask, p).sequence = len(s.rosters) - 1
	}
}

// join adds a process that is not on the roster, if there is one.
func (s *Simulator) join(processes []election.Process) []election.Process {
	p := s.someone()
	name := s.nodes[p].name
	if slices.ContainsFunc(processes, func(q election.Process) bool { return q.Name == name }) {
		return processes
	}
	newcomer := election.Process{Name: name, Priority: int32(1 + s.rng.IntN(2*len(s.nodes))), UID: uids[s.agents[p].uid]}
	return slices.Insert(processes, s.rng.IntN(len(processes)+1), newcomer)
}

// replace puts a new pod of the same name in the place of an old one.
func (s *Simulator) replace(process *election.Process) {
	p := s.places[process.Name]
	a := &s.agents[p]
	if a.uid+1 >= len(uids) {
		return
	}
	s.crash(p)
	a.uid++
	process.UID = uids[a.uid]
	s.plan(s.now+s.lasting(10*T), faults, bootTask, p)
}

// enrol gives a process a roster.
func (s *Simulator) enrol(p int32, generation int) {
	a := &s.agents[p]
	if generation <= a.generation {
		return
	}
	before, now := s.rosters[a.generation], s.rosters[generation]
	if s.observe != nil {
		s.note(Changed, p, -1, fmt.Sprint(now.algorithm, now.processes))
	}
	switch {
	case s.nodes[p].machine == nil:
		a.generation = generation
		s.enter(p, "")
	case !s.lists(now, p):
		a.generation = generation
		if s.Guarded {
			s.authorise(p, lease.Event{Type: lease.RosterChanged})
		}
		s.exit(p)
	default:
		s.forget(p, before, now)
		if a.generation = generation; s.nodes[p].machine == nil {
			return
		}
		life := s.nodes[p].life
		s.step(p, election.Event{Type: election.Change, Roster: now.processes, Algorithm: now.algorithm})
		if s.Guarded && s.nodes[p].machine != nil && s.nodes[p].life == life {
			s.authorise(p, lease.Event{Type: lease.RosterChanged, Roster: now.lease})
			if s.nodes[p].machine != nil {
				s.rewire(p)
			}
		}
	}
}

// forget takes back what is known of processes that are not those of before.
func (s *Simulator) forget(p int32, before, now roster) {
	for q := range int32(len(s.nodes)) {
		r, name := s.pair(p, q), s.nodes[q].name
		named := func(o election.Process) bool { return o.Name == name }
		i, j := slices.IndexFunc(before.processes, named), slices.IndexFunc(now.processes, named)
		if i >= 0 && j >= 0 && before.processes[i].UID == now.processes[j].UID {
			continue
		}
		r.heard = 0
		if r.link == open && s.nodes[p].machine != nil {
			s.step(p, election.Event{Type: election.PeerUnlinked, Process: name})
		}
		*r = pair{cut: r.cut, clogged: r.clogged, last: r.last, heardLife: r.heardLife}
	}
}
