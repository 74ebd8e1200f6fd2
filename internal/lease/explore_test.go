package lease_test

import (
	"flag"
	"hash/maphash"
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
	machines     [procs]*lease.Machine
	digests      [procs][2]uint64
	incarnations [procs]lease.Incarnation
	disks        [procs]lease.State
	writes       [procs][]written // under way
	nominated    [procs]string
	rosters      [procs]int8
	// until when the app may act, on its clock; it outlives the agent
	told      [procs]time.Duration
	followed  [procs]lease.Epoch // the highest bound epoch that it has ever followed (G3)
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
	amnesiac bool          // it has lost its state directory: it may promise nothing

	// what each process released last: with a slow disk the grant of it may be said later
	released [procs]release
}

// release is who gave which epoch back.
type release struct {
	by    lease.Incarnation
	epoch lease.Epoch
}

// owner is a process that has been promised an epoch, by the voters of the bits.
type owner struct {
	epoch       lease.Epoch
	incarnation lease.Incarnation
	voters      uint8
	acted       bool
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
	return &exploration{
		situation: s,
		seen:      map[[2]uint64]struct{}{},
		hash:      [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// begin is the world in which all three have been voters for long, and nobody has held yet.
func (x *exploration) begin() *world {
	w := &world{budget: x.budget, path: &path{what: x.name}}
	for p := range procs {
		w.clocks[p] = time.Duration(p+1) * time.Hour
		w.disks[p] = lease.State{Group: "g", Generation: 1, Voted: true}
		w.incarnations[p] = lease.Incarnation{
			Name:    members[p],
			UID:     "u",
			StateID: members[p] + "/0",
			Number:  1,
		}
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
	w.machines[p] = lease.New(
		lease.Config{Self: w.incarnations[p], Saved: w.disks[p], Seed: 1, Now: w.read(p)},
	)
	x.tell(w, p, lease.Event{Type: lease.RosterChanged, Roster: x.rosters()[w.rosters[p]]}, false)
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

var (
	statesFlag = flag.Int(
		"states",
		0,
		"stop an exploration after so many states; 0: as many as take some seconds",
	)
	promptFlag = flag.Bool("prompt", true, "answer every PREVOTE at once")
	lateFlag   = flag.Int(
		"late",
		1,
		"how many letters may be under way, and processes may stand still, while time passes",
	)
	quantaFlag = flag.Int(
		"quanta",
		0,
		"how many quanta of time an exploration goes on; 0: as each situation says",
	)
	seedsFlag = flag.Int(
		"wanders",
		0,
		"how many random schedules to try; 0: as many as take some seconds",
	)
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
			t.Parallel()
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
			t.Logf(
				"%d quanta: %s %d states, %d steps, longest path %d; %.1f s",
				s.budget.quanta,
				how,
				len(x.seen),
				x.steps,
				x.deepest,
				time.Since(begun).Seconds(),
			)
		})
	}
}
