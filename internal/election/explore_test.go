package election_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
)

// The exploration walks through every interleaving of a small group, on the real machines. A step
// of it is one of these:
//
//   - the oldest message of a link is delivered, or lost (at most once). If it is lost, its sender
//     sees the link break and open again;
//   - a timer expires, the shorter ones first, give or take a T: when no message is in transit, as
//     the books assume (a live process answers within T); up to `early` times while messages are in
//     transit; and up to twice while a process has yet to notice a crash or a broken link;
//   - a process starts; a process crashes (at most once, besides one that is down from the start);
//     a process notices that another has crashed, and suspects it if it is the coordinator;
//   - when nothing is in transit, a failure detector asks the process that it watches, and learns
//     whom that process follows.
//
// Where none of these can happen any more, every live process must follow the highest live one.
// States that are equal in all that machines know and links hold are visited once.
type exploration struct {
	algorithm string
	roster    []election.Process
	early     int
	seen      map[[2]uint64]struct{}
	steps     int
	ends      int
	deepest   int
	hash      [2]maphash.Seed
	scratch   []byte
}

// world is a state of the group. It is not modified once it has been visited: making another one
// copies what differs.
type world struct {
	machines []*election.Machine // nil: down
	digests  [][2]uint64         // of machines
	unborn   uint32              // bit p: p has not started yet
	links    [][]election.Message
	told     uint64 // bit p·n+q: p knows that q has crashed
	torn     uint64 // bit p·n+q: p has not yet noticed that its link to q broke
	timers   []alarms
	crashes  int // that may still happen
	losses   int
	early    int
	// timers that may expire while a process has not yet noticed a crash or a broken link
	hasty    int
	patience int // timers that may still expire in total; an election that needs more never ends
	path     *path
}

// alarms are the timers of a process.
type alarms [3]struct {
	runs bool
	left int8 // units of T, give or take one
}

var timers = [...]election.Timer{
	election.AwaitAnswer,
	election.AwaitAnnouncement,
	election.AwaitStragglers,
}

// path is how a world was reached, for failures.
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

// endless is the length of a path that is longer than any useful one.
const endless = 200

// A situation is the start of an exploration.
type situation struct {
	name        string
	coordinator bool  // all follow the highest process; otherwise none follows any
	down        int   // position of the process that is down; -1: none
	initiators  []int // the processes that suspect the coordinator, or start
}

func situations(n int) []situation {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return []situation{
		{"the coordinator crashes, one finds out", true, n - 1, []int{0}},
		{"the coordinator crashes, two find out", true, n - 1, []int{0, 1}},
		{"cold start", false, -1, all},
	}
}

var names = [...]string{"P1", "P2", "P3", "P4", "P5"}

func (x *exploration) begin(s situation, crashes, losses int) *world {
	n := len(x.roster)
	w := &world{
		machines: make([]*election.Machine, n),
		digests:  make([][2]uint64, n),
		links:    make([][]election.Message, n*n),
		timers:   make([]alarms, n),
		crashes:  crashes,
		losses:   losses,
		early:    x.early,
		hasty:    2,
		patience: 40,
		path:     &path{what: s.name},
	}
	coordinator := ""
	if s.coordinator {
		coordinator = names[n-1]
	}
	for p := range n {
		m, err := election.New(election.Config{
			Algorithm:   x.algorithm,
			Self:        names[p],
			Incarnation: 1,
			Roster:      x.roster,
			Coordinator: coordinator,
		})
		if err != nil {
			panic(err)
		}
		for q := range n {
			if q != p && s.down != p && s.down != q {
				// nothing new is sent
				m.Step(election.Event{Type: election.PeerUp, Process: names[q]})
			}
		}
		w.machines[p] = m
	}
	if s.down >= 0 {
		w.machines[s.down] = nil
	}
	for p := range n {
		x.digest(w, p)
	}
	for _, p := range s.initiators {
		if s.coordinator {
			w = x.step(w, p, names[p]+" suspects "+coordinator, election.Event{
				Type:    election.Suspect,
				Process: coordinator,
			})
		} else {
			w.unborn |= 1 << p
		}
	}
	return w
}

// digest records the fingerprint of a machine.
func (x *exploration) digest(w *world, p int) {
	if w.machines[p] == nil {
		w.digests[p] = [2]uint64{}
		return
	}
	x.scratch = w.machines[p].AppendSnapshot(x.scratch[:0])
	w.digests[p] = [2]uint64{
		maphash.Bytes(x.hash[0], x.scratch),
		maphash.Bytes(x.hash[1], x.scratch),
	}
}

// fork copies a world without its machines.
func (w *world) fork(what string) *world {
	c := *w
	c.machines, c.digests, c.timers = slices.Clone(w.machines), slices.Clone(w.digests),
		slices.Clone(w.timers)
	c.links = slices.Clone(w.links)
	c.path = &path{
		before: w.path,
		what:   what,
		length: w.path.length + 1,
	}
	return &c
}

// step gives an event to a process in a copy of the world.
func (x *exploration) step(w *world, p int, what string, events ...election.Event) *world {
	c := w.fork(what)
	c.machines[p] = w.machines[p].Clone()
	for _, e := range events {
		out := c.machines[p].Step(e)
		for _, op := range out.Timers {
			alarm := &c.timers[p][slices.Index(timers[:], op.Timer)]
			alarm.runs, alarm.left = op.Wait > 0, int8(op.Wait)
		}
		for _, envelope := range out.Messages {
			q := slices.Index(names[:], envelope.To)
			l := p*len(x.roster) + q
			if c.machines[q] == nil && c.told&(1<<l) != 0 {
				continue // there is no link
			}
			c.links[l] = append(slices.Clip(c.links[l]), envelope.Message)
		}
	}
	x.digest(c, p)
	x.steps++
	return c
}

// key returns the fingerprint of a world.
func (x *exploration) key(w *world) [2]uint64 {
	b := x.scratch[:0]
	for p := range w.machines {
		b = binary.LittleEndian.AppendUint64(b, w.digests[p][0])
		b = binary.LittleEndian.AppendUint64(b, w.digests[p][1])
		for _, alarm := range w.timers[p] {
			b = append(b, byte(alarm.left))
			if alarm.runs {
				b = append(b, 1)
			}
		}
	}
	for _, link := range w.links {
		b = append(b, byte(len(link)))
		for i := range link {
			b = appendMessage(b, &link[i])
		}
	}
	b = binary.LittleEndian.AppendUint64(b, w.told)
	b = binary.LittleEndian.AppendUint64(b, w.torn)
	b = append(b, byte(w.unborn), byte(w.crashes), byte(w.losses), byte(w.early), byte(w.hasty))
	x.scratch = b
	return [2]uint64{maphash.Bytes(x.hash[0], b), maphash.Bytes(x.hash[1], b)}
}

func appendMessage(b []byte, m *election.Message) []byte {
	b = append(append(b, m.Kind...), 0)
	b = append(append(b, m.Election.Initiator...), 0, byte(m.Election.Incarnation),
		byte(m.Election.Sequence), byte(m.Hops))
	b = append(append(b, m.Process...), 0)
	for _, name := range m.List {
		b = append(append(b, name...), 1)
	}
	for _, e := range m.Table {
		b = append(append(append(append(b, e.Name...), 2), e.Status...), 3)
	}
	return append(b, 0)
}

// walk visits everything that can follow from a world, depth first. It stops after this number of
// states.
func (x *exploration) walk(begin *world, states int) (complete bool, err error) {
	x.seen = map[[2]uint64]struct{}{x.key(begin): {}}
	stack := []*world{begin}
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.patience < 0 || w.path.length > endless {
			return false, fmt.Errorf("an election without end:\n%s", w.path)
		}
		ended := true
		x.each(w, func(next *world) {
			ended = ended && next.crashes < w.crashes
			if key := x.key(next); !x.has(key) {
				x.seen[key] = struct{}{}
				stack = append(stack, next)
			}
		})
		if ended {
			x.ends++
			x.deepest = max(x.deepest, w.path.length)
			if err := x.agreed(w); err != nil {
				return false, fmt.Errorf("%w:\n%s", err, w.path)
			}
		}
		if len(x.seen) > states {
			return false, nil
		}
	}
	return true, nil
}

func (x *exploration) has(key [2]uint64) bool {
	_, ok := x.seen[key]
	return ok
}

// agreed checks an end: every live process follows the highest live one.
func (x *exploration) agreed(w *world) error {
	highest := ""
	for p, m := range w.machines {
		if m != nil {
			highest = names[p]
		}
	}
	for p, m := range w.machines {
		if m != nil && m.State().Coordinator != highest {
			return fmt.Errorf("in the end %s follows %q, the highest live process is %s", names[p],
				m.State().Coordinator, highest)
		}
	}
	return nil
}

var (
	exploreFlag = flag.Int("explore", 3, "explore every interleaving of so many processes")
	statesFlag  = flag.Int("states", 0, "stop an exploration after so many states; 0: as many as "+
		"take a second or two")
	earlyFlag   = flag.Int("early", 0, "how many timers may run out too early in an exploration")
	crashesFlag = flag.Int("crashes", 1, "how many processes may crash in an exploration")
	lossesFlag  = flag.Int("losses", 1, "how many messages may be lost in an exploration")
)

// Every interleaving of three processes, with at most one crash and one lost message, ends in
// agreement on the highest. (A cold start has too many interleavings for a plain go test; make
// explore goes further.)
func TestExplore(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, s := range situations(*exploreFlag) {
			t.Run(algorithm+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				explore(t, algorithm, s)
			})
		}
	}
}

// exploreShare is the largest number of states that a plain go test explores; a cold start gets a
// tenth of it.
var exploreShare = 100_000

func explore(t *testing.T, algorithm string, s situation) {
	x := &exploration{
		algorithm: algorithm,
		roster:    processes(*exploreFlag),
		early:     *earlyFlag,
		hash:      [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	limit := *statesFlag
	if limit == 0 {
		if limit = exploreShare; s.down < 0 {
			limit /= 10
		}
		if testing.Short() {
			limit /= 20
		}
	}
	begun := time.Now()
	complete, err := x.walk(x.begin(s, *crashesFlag, *lossesFlag), limit)
	if err != nil {
		t.Fatal(err)
	}
	how := "all"
	if !complete {
		how = "the first"
	}
	t.Logf("%d processes, crashes ≤ %d, losses ≤ %d, early timers ≤ %d: %s %d states, %d steps, "+
		"%d ends, longest path to an end %d; %.1f s",
		*exploreFlag, *crashesFlag, *lossesFlag, *earlyFlag, how, len(x.seen), x.steps, x.ends,
		x.deepest, time.Since(begun).Seconds())
}
