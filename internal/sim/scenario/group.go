package scenario

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// Group is a group of processes on a network that loses nothing and keeps order. Messages take no
// time: they are delivered when the script says so. It writes a transcript of what happens; the
// goldens of internal/election are played on it.
type Group struct {
	network
	out    io.Writer
	config election.Config // of a process that recovers
	flight []task          // messages under way, oldest first
	counts map[election.Kind]int
	cut    func(from, to string) bool // nil: the network is whole
	Total  int                        // messages of the algorithm since the last Count
}

// NewGroup makes a group of live processes, which are all made with this Config but for their names
// and incarnations: everybody follows its coordinator, or nobody anyone.
func NewGroup(out io.Writer, c election.Config) (*Group, error) {
	g := &Group{
		out:    out,
		config: c,
		counts: map[election.Kind]int{},
	}
	g.reset(c.Roster)
	g.carry, g.stepped, g.observe = g.post, g.after, g.transcribe
	for p := range g.nodes {
		if err := g.boot(int32(p), c); err != nil {
			return nil, err
		}
	}
	g.config.Coordinator = ""
	return g, nil
}

// Crash ends processes at once. Their peers are told nothing: they find out by waiting.
func (g *Group) Crash(names ...string) {
	for _, name := range names {
		g.kill(g.places[name])
		g.printf("%s crashes", name)
	}
}

// Vanish ends processes in the sight of all: their links close.
func (g *Group) Vanish(names ...string) {
	g.Crash(names...)
	for _, name := range names {
		g.Tell(election.Event{Type: election.PeerDown, Process: name})
	}
}

// Recover starts a crashed process anew.
func (g *Group) Recover(name string) error {
	g.printf("%s recovers", name)
	if err := g.boot(g.places[name], g.config); err != nil {
		return err
	}
	g.Do(name, election.Event{Type: election.Start})
	return nil
}

// Tell gives an event to every live process.
func (g *Group) Tell(e election.Event) {
	for _, p := range g.config.Roster {
		if p.Name != e.Process {
			g.Do(p.Name, e)
		}
	}
}

// Suspect lets a process hold its coordinator for gone.
func (g *Group) Suspect(name string) {
	if m := g.Machine(name); m != nil {
		g.Do(name, election.Event{Type: election.Suspect, Process: m.State().Coordinator})
	}
}

// Do gives an event to one process.
func (g *Group) Do(name string, e election.Event) {
	if g.Machine(name) != nil {
		g.step(g.places[name], e)
	}
}

// after says who has found another coordinator.
func (g *Group) after(p int32, before election.State) {
	if c := g.nodes[p].machine.State().Coordinator; c != before.Coordinator && c != "" {
		g.printf("    %s: %s is the coordinator", g.nodes[p].name, c)
	}
}

func (g *Group) transcribe(e Event) {
	if e.Kind == TimedOut {
		g.printf("%s waited in vain (%s)", e.Process, e.Note)
	}
}

// post puts a message on its way.
func (g *Group) post(from, to int32, e *election.Envelope, sequence int) {
	if e.Message.Kind != election.View {
		g.Total++
		g.counts[e.Message.Kind]++
	}
	lost := ""
	if g.nodes[to].machine == nil {
		lost = "   (lost: " + e.To + " is down)"
	}
	g.printf("%s → %s  %s%s", g.nodes[from].name, e.To, sim.Describe(&e.Message), lost)
	g.flight = append(g.flight, task{
		kind:        arrive,
		from:        from,
		to:          to,
		incarnation: g.nodes[from].incarnation,
		sequence:    sequence,
		message:     e.Message,
	})
}

// Deliver delivers every message in the order they were sent, and those sent in reply, up to a
// bound that no election of the books comes near.
func (g *Group) Deliver() error {
	for range 10_000 {
		if len(g.flight) == 0 {
			return nil
		}
		t := g.flight[0]
		g.flight = g.flight[1:]
		g.arrive(&t)
	}
	return fmt.Errorf("messages without end: 10,000 delivered, %d under way", len(g.flight))
}

// arrive hands a message to its receiver, unless the network is cut between them.
func (g *Group) arrive(t *task) {
	if g.nodes[t.to].machine != nil &&
		(g.cut == nil || !g.cut(g.nodes[t.from].name, g.nodes[t.to].name)) {
		g.hand(t)
	}
}

// Expire moves time on to the next timer and lets it run out, with all others of that instant. It
// reports whether there was one.
func (g *Group) Expire() (expired bool) {
	for g.queue.Len() > 0 && (!expired || g.queue.Next() == g.now) {
		at, t := g.queue.Pop()
		if g.due(&t) {
			g.now, expired = at, true
			g.timeout(&t)
		}
	}
	return expired
}

// Ask lets all who are to ask others whom they follow do so, and hear the answer. It reports
// whether anybody has learnt enough.
func (g *Group) Ask() (learnt bool) {
	for p := range g.nodes {
		for _, name := range g.doubters(int32(p)) {
			other := g.Machine(name)
			if other == nil || g.cut != nil && g.cut(g.nodes[p].name, name) {
				continue
			}
			follows := cmp.Or(other.State().Coordinator, "nobody")
			g.printf("%s hears that %s follows %s", g.nodes[p].name, name, follows)
			g.answered(int32(p), g.places[name])
			learnt = learnt || !slices.Contains(g.doubters(int32(p)), name)
		}
	}
	return learnt
}

func (g *Group) doubters(p int32) []string {
	if m := g.nodes[p].machine; m != nil {
		return m.Doubters()
	}
	return nil
}

// Run delivers and expires until nothing is under way, or for at most the given number of expiries.
func (g *Group) Run(expiries int) error {
	for range expiries {
		if err := g.Deliver(); err != nil {
			return err
		}
		if !g.Ask() && !g.Expire() {
			return nil
		}
	}
	return g.Deliver()
}

// Count prints what was sent since the last Count, by kind, without VIEWs, and forgets it.
func (g *Group) Count() {
	kinds := make([]string, 0, len(g.counts))
	for kind, n := range g.counts {
		kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
	}
	slices.Sort(kinds)
	g.printf("%d messages: %s", g.Total, strings.Join(kinds, ", "))
	g.Total, g.counts = 0, map[election.Kind]int{}
}

// Out is where the transcript goes.
func (g *Group) Out() io.Writer { return g.out }

// Machine returns a live process, or nil.
func (g *Group) Machine(name string) *election.Machine {
	if p, ok := g.places[name]; ok {
		return g.nodes[p].machine
	}
	return nil
}

func (g *Group) printf(format string, args ...any) { fmt.Fprintf(g.out, format+"\n", args...) }
