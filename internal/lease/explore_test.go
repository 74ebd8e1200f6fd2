package lease_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// The exploration walks through every schedule of three voters, two of which are candidates and
// nominate themselves at once, on the real machines. True time passes in quanta; in each quantum
// the clock of a process advances by 0.9 or 1.1 of it. With these numbers a promise at a voter
// whose clock is fast, and its holder's right at one whose clock is slow, end at the same instant,
// after two quanta: the timing rule has no slack that could hide a mistake.
const (
	quantum   = 500 * time.Millisecond
	leaseTime = 1100 * time.Millisecond // the window is 900 ms
	heartbeat = 400 * time.Millisecond  // a renewal in every quantum
	shortT    = time.Millisecond        // every random delay, at most 12 T, ends with the quantum
	procs     = 3
	longest   = 3 // letters in a queue: worlds with more are not visited
)

var members = [procs]string{"P1", "P2", "P3"}

// world is a state of the group. It is not changed once it has been visited: who makes another
// copies what differs.
type world struct {
	machines  [procs]*lease.Machine
	digests   [procs][2]uint64
	lives     [procs]lease.Incarnation
	disks     [procs]lease.State
	writes    [procs][]written // under way
	nominated [procs]string
	rosters   [procs]int8
	told      [procs]time.Duration // until when the app may act, on its clock; it outlives the agent
	followed  [procs]lease.Epoch   // the highest bound epoch that it has ever followed (G3)
	ghosts    [procs]ghost
	requests  [procs][procs][]letter // from, to
	responses [procs][procs][]letter // from the voter, to the requester
	owners    []owner
	clocks    [procs]time.Duration
	budget    budget
	path      *path
}

// ghost is what a voter has promised, as the others see it: by what it said, not by what it
// remembers.
type ghost struct {
	to       lease.Incarnation
	epoch    lease.Epoch
	until    time.Duration // on the voter's clock
	amnesiac bool          // it has lost its memory: it may promise nothing

	freed      lease.Incarnation // who released last, and what: a grant of that may be said later
	freedEpoch lease.Epoch
}

// owner is a process that has been promised an epoch, by the voters of the bits.
type owner struct {
	epoch  lease.Epoch
	life   lease.Incarnation
	voters uint8
	acted  bool
}

type letter struct {
	from     lease.Incarnation
	request  lease.Request
	response lease.Response
}

// budget is what may still happen.
type budget struct {
	losses, restarts, amnesias, illnesses, faults, steps int8
	quanta                                               int8
}

// path is how a world came about, for failures.
type path struct {
	before *path
	what   string
	length int
}

func (p *path) String() string {
	var lines []string
	for ; p != nil; p = p.before {
		lines = append(lines, "  "+p.what)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// A situation is what an exploration starts from: which clocks are fast, and what may happen.
type situation struct {
	name   string
	fast   [procs]bool
	drift  bool // in each quantum each clock may be fast or slow
	prompt bool // a PREVOTE is answered at once
	slow   bool // writes take time: anything may happen meanwhile
	late   int  // how many letters may be under way, and processes may stand still, while time passes
	newest int8 // the last of the group's rosters that may come
	budget
}

func situations() []situation {
	slowHolder := [procs]bool{true, true, false}
	return []situation{
		{name: "nothing but time", fast: slowHolder, budget: budget{quanta: 3}},
		{name: "a restart with memory", fast: slowHolder, budget: budget{restarts: 1, quanta: 3}},
		{name: "a restart without memory", fast: slowHolder, budget: budget{amnesias: 1, quanta: 3}},
		{name: "a lost message", fast: slowHolder, budget: budget{losses: 1, quanta: 3}},
		{name: "an app that is ill", fast: slowHolder, budget: budget{illnesses: 1, quanta: 3}},
		{name: "a disk that fails", fast: slowHolder, budget: budget{faults: 1, quanta: 3}},
		{name: "slow disks", fast: slowHolder, slow: true, budget: budget{quanta: 3}},
		{name: "slow disks, one of which fails, and a restart", fast: slowHolder, slow: true, budget: budget{faults: 1, restarts: 1, quanta: 3}},
		{name: "slow disks and a new generation", fast: slowHolder, slow: true, newest: 1, budget: budget{faults: 1, steps: 1, quanta: 3}},
		{name: "a new generation", fast: slowHolder, newest: 1, budget: budget{steps: 1, quanta: 3}},
		{name: "a new generation, and one with a shorter lease", fast: slowHolder, newest: 2, budget: budget{steps: 2, quanta: 3}},
		{name: "clocks that change their rates", drift: true, budget: budget{quanta: 3}},
		{name: "a restart with memory, a lost message and drift", drift: true, budget: budget{losses: 1, restarts: 1, quanta: 2}},
		{name: "a restart without memory, a lost message and drift", drift: true, budget: budget{losses: 1, amnesias: 1, quanta: 2}},
		{name: "all at once", drift: true, newest: 2, budget: budget{losses: 1, restarts: 1, amnesias: 1, illnesses: 1, faults: 1, steps: 2, quanta: 6}},
	}
}

// group is its rosters: an older promise is renewed under the second (V4), and not under the third,
// whose lease is shorter (V5).
var group = [...]*lease.Roster{roster3(1, leaseTime), roster3(2, leaseTime), roster3(3, leaseTime-200*time.Millisecond)}

func roster3(generation int64, l time.Duration) *lease.Roster {
	r := &lease.Roster{Group: "g", Generation: generation, Lease: l, Preemption: lease.Never}
	for i, name := range members {
		r.Members = append(r.Members, lease.Member{Name: name, UID: "u", StateID: name + "/0", Priority: int32(i), Voter: true})
	}
	return r
}

type exploration struct {
	situation
	seen    map[[2]uint64]struct{}
	steps   int
	acted   int
	deepest int
	hash    [2]maphash.Seed
	scratch []byte
	failed  error
}

func explorer(s situation) *exploration {
	return &exploration{situation: s, seen: map[[2]uint64]struct{}{}, hash: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// begin is the world in which all three have been voters for long, and nobody has held yet.
func (x *exploration) begin() *world {
	w := &world{budget: x.budget, path: &path{what: x.name}}
	for p := range procs {
		w.clocks[p] = time.Duration(p+1) * time.Hour
		w.disks[p] = lease.State{Group: "g", Generation: 1, Voted: true}
		w.lives[p] = lease.Incarnation{Name: members[p], UID: "u", StateID: members[p] + "/0", Number: 1}
		x.boot(w, p)
	}
	for p := 1; p < procs; p++ {
		w.nominated[p] = members[p]
		x.tell(w, p, lease.Event{Type: lease.Nominated, Process: members[p]}, false)
	}
	return w
}

// boot starts a process with what is on its disk.
func (x *exploration) boot(w *world, p int) {
	w.machines[p] = lease.New(lease.Config{Self: w.lives[p], Saved: w.disks[p], Seed: 1, Now: w.read(p)})
	x.tell(w, p, lease.Event{Type: lease.RosterChanged, Roster: group[w.rosters[p]]}, false)
}

func (w *world) read(p int) lease.Reading {
	return lease.Reading{Boot: w.clocks[p], Raw: w.clocks[p], Wall: w.clocks[p]}
}

// fork copies a world, but for its machines.
func (w *world) fork(what string) *world {
	c := *w
	c.owners = slices.Clone(w.owners)
	c.path = &path{before: w.path, what: what, length: w.path.length + 1}
	return &c
}

// key is the fingerprint of a world.
func (x *exploration) key(w *world) [2]uint64 {
	b := x.scratch[:0]
	number := func(all ...int64) {
		for _, n := range all {
			b = binary.AppendVarint(b, n)
		}
	}
	life := func(l lease.Incarnation) { number(int64(len(l.Name)), int64(l.Number)); b = append(b, l.Name...) }
	for p := range procs {
		g := &w.ghosts[p]
		number(int64(w.digests[p][0]), int64(w.digests[p][1]), int64(w.clocks[p]), int64(max(w.told[p]-w.clocks[p], 0)), int64(w.followed[p]),
			int64(w.disks[p].Highest), w.disks[p].Generation, int64(w.lives[p].Number), int64(g.epoch), int64(max(g.until-w.clocks[p], 0)))
		life(g.to)
		if x.slow {
			life(g.freed)
			number(int64(g.freedEpoch), int64(len(w.writes[p])))
		}
		life(w.disks[p].To)
		for _, u := range w.writes[p] {
			number(int64(u.state.Highest), u.state.Generation)
			life(u.state.To)
		}
		b = append(append(b, w.nominated[p]...), byte(w.rosters[p]))
		if g.amnesiac {
			b = append(b, 1)
		}
		for q := range procs {
			number(int64(len(w.requests[p][q])), int64(len(w.responses[p][q])))
			for i := range w.requests[p][q] {
				l := &w.requests[p][q][i]
				number(int64(l.from.Number), int64(l.request.Epoch), int64(l.request.Round-x.base(w, p)))
				b = append(b, l.request.Kind[0], l.request.Kind[2])
			}
			for i := range w.responses[p][q] {
				v := &w.responses[p][q][i].response
				number(int64(v.Epoch), int64(v.Round-x.base(w, q)), v.Generation, int64(v.Highest), int64(v.HolderEpoch), int64(v.Remaining))
				b = append(append(b, v.Kind[0]), v.Holder...)
				b = append(b, bits(v.Granted, v.Heard, v.Candidate))
			}
		}
	}
	for i := range w.owners {
		number(int64(w.owners[i].epoch), int64(w.owners[i].voters))
		life(w.owners[i].life)
		b = append(b, bits(w.owners[i].acted))
	}
	u := w.budget
	b = append(b, byte(u.losses), byte(u.restarts), byte(u.amnesias), byte(u.illnesses), byte(u.faults), byte(u.steps), byte(u.quanta))
	x.scratch = b
	return [2]uint64{maphash.Bytes(x.hash[0], b), maphash.Bytes(x.hash[1], b)}
}

func bits(all ...bool) (b byte) {
	for _, f := range all {
		b <<= 1
		if f {
			b |= 1
		}
	}
	return b
}

// walk visits every world that can be reached, depth first, up to a number of states. It reports
// whether these were all.
func (x *exploration) walk(states int) (complete bool, err error) {
	begin := x.begin()
	x.seen[x.key(begin)] = struct{}{}
	stack := []*world{begin}
	for len(stack) > 0 && x.failed == nil {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		x.deepest = max(x.deepest, w.path.length)
		x.each(w, func(next *world) {
			key := x.key(next)
			if _, known := x.seen[key]; !known && len(x.seen) < states {
				x.seen[key] = struct{}{}
				stack = append(stack, next)
			}
		})
	}
	return len(x.seen) < states, x.failed
}

var errWander = errors.New("nothing can happen any more")

// wander takes random moves: it gets deeper than a walk, and comes about nothing twice. Letters are
// likelier than the clock, and both than mishaps.
func (x *exploration) wander(seed uint64, moves int) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	w := x.begin()
	var next []*world
	for range moves {
		all := w.budget
		spare := budget{}
		if rng.IntN(8) == 0 {
			spare.quanta = all.quanta
		}
		if rng.IntN(16) == 0 {
			spare = all
		}
		for p := range procs {
			x.fast[p] = rng.IntN(2) == 0
		}
		next = x.moves(w, spare, next[:0])
		if len(next) == 0 {
			next = x.moves(w, all, next)
		}
		switch {
		case x.failed != nil:
			return x.failed
		case len(next) == 0:
			return errWander
		}
		w = next[rng.IntN(len(next))]
		if held, _ := w.machines[1].Epochs(); held != 0 {
			x.acted++
		}
	}
	return nil
}

// moves are the worlds that can follow if no more than a part of the budget may be spent.
func (x *exploration) moves(w *world, spare budget, next []*world) []*world {
	limited := *w
	limited.budget = spare
	x.each(&limited, func(n *world) {
		n.budget = w.budget.less(spare).plus(n.budget)
		next = append(next, n)
	})
	return next
}

func (b budget) plus(o budget) budget {
	return budget{b.losses + o.losses, b.restarts + o.restarts, b.amnesias + o.amnesias, b.illnesses + o.illnesses, b.faults + o.faults,
		b.steps + o.steps, b.quanta + o.quanta}
}

func (b budget) less(o budget) budget {
	return b.plus(budget{-o.losses, -o.restarts, -o.amnesias, -o.illnesses, -o.faults, -o.steps, -o.quanta})
}

var (
	statesFlag = flag.Int("states", 0, "stop an exploration after so many states; 0: as many as take some seconds")
	promptFlag = flag.Bool("prompt", true, "answer every PREVOTE at once")
	lateFlag   = flag.Int("late", 1, "how many letters may be under way, and processes may stand still, while time passes")
	quantaFlag = flag.Int("quanta", 0, "how many quanta of time an exploration goes on; 0: as each situation says")
	seedsFlag  = flag.Int("wanders", 0, "how many random schedules to try; 0: as many as take some seconds")
)

// exploreShare is how many states a plain go test explores of a situation at most (of the first,
// three times as many: these are all), wanderShare how many random schedules it tries.
var exploreShare, wanderShare = 70_000, 1000

// In every schedule: one acts at most, under an epoch that is its own and that a majority has
// promised; nobody believes in a promise that does not run; no voter is bound twice; nothing is
// released that somebody may act under (G1–G6, G8).
func TestExplore(t *testing.T) {
	for i, s := range situations() {
		t.Run(s.name, func(t *testing.T) {
			states := *statesFlag
			if states == 0 {
				if states = exploreShare; i == 0 {
					states *= 3
				}
				if testing.Short() {
					states /= 20
				}
			}
			if *quantaFlag > 0 {
				s.budget.quanta = int8(*quantaFlag)
			}
			s.prompt, s.late = *promptFlag, *lateFlag
			x, begun := explorer(s), time.Now()
			complete, err := x.walk(states)
			if err != nil {
				t.Fatal(err)
			}
			how := "all"
			if !complete {
				how = "the first"
			}
			t.Logf("%d quanta: %s %d states, %d steps, longest path %d; %.1f s", s.budget.quanta, how, len(x.seen), x.steps, x.deepest,
				time.Since(begun).Seconds())
		})
	}
}

// The same in random schedules, in which everything may happen, and any number of letters may be
// late.
func TestWander(t *testing.T) {
	s := situations()[len(situations())-1]
	s.late, s.drift = 1<<10, false
	s.budget = budget{losses: 4, restarts: 3, amnesias: 1, illnesses: 2, faults: 2, steps: 2, quanta: 20}
	schedules := *seedsFlag
	if schedules == 0 {
		if schedules = wanderShare; testing.Short() {
			schedules /= 10
		}
	}
	steps, acted := 0, 0
	for seed := range uint64(schedules) {
		s.prompt, s.slow = seed%2 == 0, seed%3 == 0
		x := explorer(s)
		if err := x.wander(seed, 300); err != nil && !errors.Is(err, errWander) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		steps, acted = steps+x.steps, acted+x.acted
	}
	if acted == 0 {
		t.Error("nobody ever acted")
	}
	t.Logf("%d schedules, %d steps, P2 acted after %d moves", schedules, steps, acted)
}
