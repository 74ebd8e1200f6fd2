// Package electiontest drives the machines of package election without a clock or a network: it delivers their messages
// in order and lets their timers run out one by one. The golden transcripts are played on it.
package electiontest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
)

// Group is a group of processes on a network that loses nothing and keeps order. Time is counted in T; messages take none.
// It writes a transcript of what happens.
type Group struct {
	out       io.Writer
	algorithm string
	roster    []election.Process
	machines  map[string]*election.Machine // nil: crashed
	lives     map[string]uint64
	flight    []letter
	timers    []alarm
	now       int
	counts    map[election.Kind]int
	cut       func(from, to string) bool // nil: the network is whole
	Total     int                        // messages of the algorithm since the last Count
}

type letter struct {
	from string
	life uint64
	to   string
	msg  election.Message
}

type alarm struct {
	process string
	timer   election.Timer
	at      int
}

// NewGroup makes a group of live processes in which everybody follows coordinator; if that is empty nobody follows
// anyone.
func NewGroup(out io.Writer, algorithm string, roster []election.Process, coordinator string) (*Group, error) {
	g := &Group{out: out, algorithm: algorithm, roster: roster, machines: map[string]*election.Machine{}, lives: map[string]uint64{}}
	g.counts = map[election.Kind]int{}
	for _, p := range roster {
		if err := g.boot(p.Name, coordinator); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Group) boot(name, coordinator string) error {
	g.lives[name]++
	m, err := election.New(election.Config{Algorithm: g.algorithm, Self: name, Incarnation: g.lives[name], Roster: g.roster, Coordinator: coordinator})
	g.machines[name] = m
	return err
}

// Crash ends processes at once. Their peers are told nothing: they find out by waiting.
func (g *Group) Crash(names ...string) {
	for _, name := range names {
		g.machines[name] = nil
		g.timers = slices.DeleteFunc(g.timers, func(a alarm) bool { return a.process == name })
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
	if err := g.boot(name, ""); err != nil {
		return err
	}
	g.Do(name, election.Event{Type: election.Start})
	return nil
}

// Tell gives an event to every live process.
func (g *Group) Tell(e election.Event) {
	for _, p := range g.roster {
		if p.Name != e.Process {
			g.Do(p.Name, e)
		}
	}
}

// Suspect lets a process hold its coordinator for gone.
func (g *Group) Suspect(name string) {
	if m := g.machines[name]; m != nil {
		g.Do(name, election.Event{Type: election.Suspect, Process: m.State().Coordinator})
	}
}

// Do gives an event to one process.
func (g *Group) Do(name string, e election.Event) {
	m := g.machines[name]
	if m == nil {
		return
	}
	before := m.State()
	out := m.Step(e)
	for _, op := range out.Timers {
		g.timers = slices.DeleteFunc(g.timers, func(a alarm) bool { return a.process == name && a.timer == op.Timer })
		if op.Wait > 0 {
			g.timers = append(g.timers, alarm{name, op.Timer, g.now + op.Wait})
		}
	}
	for _, env := range out.Messages {
		g.post(letter{from: name, life: g.lives[name], to: env.To, msg: env.Message})
	}
	after := m.State()
	if after.Coordinator != before.Coordinator && after.Coordinator != "" {
		g.printf("    %s: %s is the coordinator", name, after.Coordinator)
	}
}

func (g *Group) post(l letter) {
	if l.msg.Kind != election.View {
		g.Total++
		g.counts[l.msg.Kind]++
	}
	lost := ""
	if g.machines[l.to] == nil {
		lost = "   (lost: " + l.to + " is down)"
	}
	g.printf("%s → %s  %s%s", l.from, l.to, Describe(l.msg), lost)
	g.flight = append(g.flight, l)
}

// Deliver delivers every message in the order they were sent, and those sent in reply, up to a bound that no election of
// the books comes near.
func (g *Group) Deliver() error {
	for range 10_000 {
		if len(g.flight) == 0 {
			return nil
		}
		l := g.flight[0]
		g.flight = g.flight[1:]
		g.hand(l)
	}
	return fmt.Errorf("messages without end: 10,000 delivered, %d under way", len(g.flight))
}

// hand gives a message to its receiver, unless the network is cut between them.
func (g *Group) hand(l letter) {
	if g.cut == nil || !g.cut(l.from, l.to) {
		g.Do(l.to, election.Event{Type: election.Receive, Process: l.from, Incarnation: l.life, Message: l.msg})
	}
}

// Expire moves time on to the next timer and lets it run out, with all others of that instant. It reports whether there
// was one.
func (g *Group) Expire() bool {
	if len(g.timers) == 0 {
		return false
	}
	next := slices.MinFunc(g.timers, func(a, b alarm) int { return a.at - b.at }).at
	g.now = next
	for _, a := range slices.Clone(g.timers) {
		if i := slices.Index(g.timers, a); a.at == next && i >= 0 {
			g.timers = slices.Delete(g.timers, i, i+1)
			g.printf("%s waited in vain (%s)", a.process, a.timer)
			g.Do(a.process, election.Event{Type: election.Timeout, Timer: a.timer})
		}
	}
	return true
}

// Run delivers and expires until nothing is under way, or for at most the given number of expiries.
func (g *Group) Run(expiries int) error {
	for range expiries {
		if err := g.Deliver(); err != nil {
			return err
		}
		if !g.Expire() {
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
func (g *Group) Machine(name string) *election.Machine { return g.machines[name] }

func (g *Group) printf(format string, args ...any) { fmt.Fprintf(g.out, format+"\n", args...) }

// Describe writes a message as a transcript shows it.
func Describe(m election.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Kind))
	if m.Process != "" {
		b.WriteString(" " + m.Process)
	}
	if len(m.List) > 0 {
		fmt.Fprintf(&b, " %v", m.List)
	}
	for _, e := range m.Table {
		fmt.Fprintf(&b, " %s:%s", e.Name, e.Status)
	}
	return b.String()
}
