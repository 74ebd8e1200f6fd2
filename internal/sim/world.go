package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"

	"github.com/podesta-dev/podesta/internal/node"
)

// T is the bound within which a healthy process answers in a quiet network; Unit is the longest
// delay of a link there: T = 2·Unit + processing, with a margin for clocks that are off.
const (
	T    Time = 200_000_000 // nanoseconds
	Unit      = T * 2 / 5
)

// World simulates a group: faults first, then calm. It checks after each event what must hold
// (docs/hazards.md lists the invariants; each has a file here). A World may run again and again: it
// reuses memory, but nothing that happened in one run affects another, so that the same Options
// give the same run.
type World struct {
	Options
	Stats

	now       Time
	queue     Queue[task]
	rng       *rand.Rand
	source    *rand.PCG
	processes []process
	pairs     []pair // pairs[p·n+q] is the way from p to q
	office    office
	api       api
	managers  [managers]manager
	leader    int32    // of the managers
	heard     Time     // nobody is stranded until then (see setBack)
	oracles   []oracle // one for each group object
	register  register
	truth     truth
	rogue     int32 // −1: nobody
	release   int32 // the newest rules level of what is rolled out; 0: there are no levels
	calm      bool
	remains   Time // until when something of chaos lasts on
	broken    *Failure
	out       io.Writer // where what happens is told; nil: nowhere
	sabotage  sabotage

	// route is a script's word on when a message arrives; forever: it does not. Nil: as the links
	// have it.
	route func(p, q int32, m *node.Message, at Time) Time
	// keepRosters: nobody passes a roster on (MC9), because a history has one come late.
	keepRosters bool
}

// Stats is what a run came to.
type Stats struct {
	Steps     int  // events that nodes took, writes that they were told of included
	Messages  int  // of the algorithms, sent
	Questions int  // of the failure detectors, and answers
	Requests  int  // of the lease protocol, and responses
	Writes    int  // to disks
	Virtual   Time // that went by
	// from the beginning of calm until the last message; Guarded: until the last new lease
	CalmAfter  Time
	Trace      uint64
	Leases     int // epochs that were held
	Lapses     int // leases that ran out before they were renewed or given up
	Rosters    int // persisted
	Leaderless Time
	without    Time // since when nobody could act though somebody could have
	Led        Time
	Refused    int // writes that the register refused
	Accepted   int
	Overlaps   int // how often two apps might act at once, with clocks beyond the bound
	Stopped    int // groups that had no majority, or no candidate, in the end
	Faults     int
	Raised     int // how often the rules level was raised, and how often lowered
	Lowered    int
	StepDowns  int // how many were taken up
}

// Failure says what did not hold.
type Failure struct {
	Options Options
	At      Time
	Broken  string
}

func (f *Failure) Error() string {
	mode := "Classic"
	if f.Options.Guarded {
		mode = "Guarded"
	}
	return fmt.Sprintf("%s %s seed %d at %s: %s\noptions: %s", mode, f.Options.Algorithm,
		f.Options.Seed, clockFormat(f.At), f.Broken, f.Options)
}

// NewWorld makes a World.
func NewWorld() *World {
	w := &World{source: rand.NewPCG(0, 0)}
	w.rng = rand.New(w.source)
	return w
}

// Run simulates a group under these options. The error, if any, is a *Failure.
func (w *World) Run(o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{
				Options: o,
				At:      w.now,
				Broken:  fmt.Sprintf("G13: panic: %v\n%s", r, debug.Stack()),
			}
		}
	}()
	w.begin(o)
	w.until(w.Chaos)
	if w.broken == nil {
		w.quieten()
		if w.Guarded {
			w.calmDown()
		} else {
			w.calmDownClassic()
		}
	}
	return w.end()
}

func (w *World) end() error {
	w.Virtual = w.now
	w.Stats.Refused, w.Accepted = w.register.refused, w.register.accepted
	if w.broken != nil {
		return w.broken
	}
	return nil
}

// Explain runs a group again, and writes what happens.
func (w *World) Explain(o Options, out io.Writer) error {
	w.out = out
	defer func() { w.out = nil }()
	return w.Run(o)
}

// begin makes the group object, its pods and its managers.
func (w *World) begin(o Options) {
	w.Options, w.Stats, w.now, w.calm, w.remains, w.leader, w.broken = o, Stats{}, 0, false, 0, 0, nil
	w.heard = 0
	w.source.Seed(o.Seed, o.salt())
	w.queue.Reset()
	w.office.reset()
	n := o.Processes + o.Strangers
	w.processes, w.pairs = again(w.processes, n), again(w.pairs, n*n)
	w.truth.begin()
	w.register = register{}
	w.establish(w.priorities(n))
	w.rogue = -1
	if o.Rogue {
		w.rogue = int32(w.rng.IntN(o.Processes))
	}
	w.drawBuilds()
	for p := range w.processes {
		w.begins(int32(p))
	}
	if !w.Quiet {
		w.plan(w.gap(), Faults, faultTask, 0)
	}
	w.plan(sampled, Looks, sampleTask, 0)
}

// priorities draws those of n processes.
func (w *World) priorities(n int) []int32 {
	list := make([]int32, n)
	for i, place := range w.rng.Perm(n) {
		list[i] = int32(place + 1)
		if w.Equal {
			list[i] = int32(place/2 + 1)
		}
		if w.Zero && w.rng.IntN(3) == 0 {
			list[i] = 0
		}
	}
	return list
}

// again is a slice of n zero values in the memory of an old one.
func again[E any](old []E, n int) []E {
	if cap(old) < n {
		return make([]E, n)
	}
	old = old[:n]
	clear(old)
	return old
}

// chance is true in so many of a thousand cases, and never in calm.
func (w *World) chance(perMille int) bool {
	return perMille > 0 && !w.calm && w.rng.IntN(1000) < perMille
}

// within draws a duration of at least 1 and at most d.
func (w *World) within(d Time) Time { return 1 + Time(w.rng.Int64N(int64(d))) }

func (w *World) gap() Time { return w.now + w.within(2*w.Gap) }

func (w *World) someone() int32 { return int32(w.rng.IntN(len(w.processes))) }

func (w *World) pair(p, q int32) *pair { return &w.pairs[int(p)*len(w.processes)+int(q)] }

// fail notes that something does not hold. Only the first counts.
func (w *World) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = &Failure{
			Options: w.Options,
			At:      w.now,
			Broken:  fmt.Sprintf(format, args...),
		}
		w.tell("BROKEN: "+format, args...)
	}
}

// tell writes a line about what happens. Callers check w.out first where the arguments are costly.
func (w *World) tell(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, "%12s  %s\n", clockFormat(w.now), fmt.Sprintf(format, args...))
	}
}

// clockFormat writes a time in milliseconds.
func clockFormat(t Time) string { return fmt.Sprintf("%d.%03d ms", t/1_000_000, t/1000%1000) }

// mix adds to the fingerprint of the run (G14).
func (w *World) mix(a, b uint64) {
	x := w.Trace ^ uint64(w.now)<<16 ^ a<<8 ^ b
	x *= 0x9e3779b97f4a7c15
	w.Trace = x ^ x>>29
}
