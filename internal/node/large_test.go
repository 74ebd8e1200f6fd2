//go:build !race

package node_test

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/node"
)

// A group of as many processes as an ElectionGroup may have forms with the default timing. It fails
// over when the coordinator's process ends, and when the next coordinator stands still. Nobody is
// suspected when nothing happens. Time is virtual, and each process has a CPU of its own.
func TestTheLargestGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("1,200 processes take half a minute of CPU time")
	}
	for _, algorithm := range election.Algorithms() {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Guarded %t", algorithm, guarded), func(t *testing.T) {
				t.Parallel()
				r := newRoster(guarded)
				r.Algorithm, r.Members, r.LeaseMinimum = algorithm, voters(largest, "P%03d"), r.Heartbeat
				g := newGroup(t, r)
				g.agree("they agree")
				g.rests()
				g.kill(g.coordinator())
				g.agree("the survivors agree, one was killed")
				g.rests()
				if algorithm == "LeLann" {
					return // each process that calls an election costs 5,050 messages: it passed, in a minute
				}
				g.named(g.coordinator()).stopped = true
				g.agree("the survivors agree, one stands still")
				g.rests()
			})
		}
	}
}

// largest is how many processes a group may have.
const largest = membership.MaxMembers

const (
	// handshake is the CPU time that a link costs each of its ends, and effort what an event costs.
	handshake = 2500 * time.Microsecond
	effort    = 100 * time.Microsecond
	// latency is how long a message is under way.
	latency = 500 * time.Microsecond
	// waits is how many messages wait for a link to open.
	waits = 64
)

// group is a group in virtual time.
type group struct {
	t       *testing.T
	roster  *node.Roster
	now     time.Duration
	later   jobs
	planned int
	members []*worker
	places  map[string]int
	news    int  // suspicions, and outcomes of elections
	changed bool // a process's view has changed
}

// worker is a process of it.
type worker struct {
	self    lease.Incarnation
	node    *node.Node
	dead    bool
	stopped bool
	free    time.Duration // when its CPU has done all that has come so far
	next    time.Duration // when a Tick is due
	links   map[string]*outgoing
}

// outgoing is a link of a process to another one.
type outgoing struct {
	open  bool
	waits []node.Message // until it is open
}

func newGroup(t *testing.T, r *node.Roster) *group {
	g := &group{
		t:      t,
		roster: r,
		now:    time.Hour,
		places: map[string]int{},
	}
	for i, m := range r.Members {
		self := lease.Incarnation{
			Name:    m.Name,
			UID:     m.UID,
			StateID: m.StateID,
			Number:  1,
		}
		p := &worker{self: self, node: node.New(node.Config{
			Self: self,
			Now:  g.clocks(),
			Seed: uint64(i),
		})}
		g.members, g.places[m.Name] = append(g.members, p), i
		g.give(p, node.Event{Type: node.RosterReceived, Roster: r})
	}
	return g
}

func (g *group) named(name string) *worker { return g.members[g.places[name]] }

func (g *group) clocks() lease.Reading {
	return lease.Reading{Boot: g.now, Raw: g.now, Wall: g.now}
}

// works has a process's CPU work for so long, and returns when it has done that.
func (g *group) works(p *worker, span time.Duration) time.Duration {
	p.free = max(p.free, g.now) + span
	return p.free
}

// give has a process take an event as soon as it gets to it.
func (g *group) give(p *worker, e node.Event) {
	g.at(g.works(p, effort), func() { g.step(p, e) })
}

func (g *group) step(p *worker, e node.Event) {
	if p.dead || p.stopped {
		return
	}
	if l := p.links[e.From]; e.Type == node.LinkUp && l != nil {
		l.open = true
		for _, m := range l.waits {
			g.deliver(p, e.From, m)
		}
		l.waits = nil
	}
	e.Now = g.clocks()
	r := p.node.Step(e)
	g.carryOut(p, r)
	for r.Write != nil {
		r = p.node.Advance(g.clocks(), r.Write.Number, nil)
		g.carryOut(p, r)
	}
}

func (g *group) carryOut(p *worker, r *node.Ready) {
	for _, note := range r.Notes {
		if note.Type == node.Suspects || note.Type == node.Follows {
			g.news++
		}
	}
	g.changed = g.changed || r.Changed
	if r.Relink {
		g.relink(p, r.Links)
	}
	for _, m := range r.Messages {
		l := p.links[m.To]
		switch {
		case m.Type == node.Answer || m.Type == node.LeaseResponse || l != nil && l.open:
			g.deliver(p, m.To, m)
		case l != nil && len(l.waits) < waits:
			l.waits = append(l.waits, m)
		}
	}
	if r.Next != p.next {
		p.next = r.Next
		g.at(r.Next, func() {
			if p.next == g.now {
				p.next = 0
				g.give(p, node.Event{Type: node.Tick})
			}
		})
	}
}

func (g *group) deliver(p *worker, to string, m node.Message) {
	m.To = ""
	e := node.Event{
		Type:        node.Received,
		From:        p.self.Name,
		StateID:     p.self.StateID,
		Incarnation: p.self.Number,
		Message:     m,
	}
	g.at(g.now+latency, func() { g.give(g.named(to), e) })
}

// relink makes the links that a process wants; those to the dead are refused.
func (g *group) relink(p *worker, wanted []string) {
	old := p.links
	p.links = map[string]*outgoing{}
	for _, name := range wanted {
		if p.links[name] = old[name]; old[name] == nil {
			p.links[name] = &outgoing{}
			g.dial(p, name, p.links[name])
		}
	}
}

// dial makes a link. If it is refused, it is tried again a heartbeat later.
func (g *group) dial(p *worker, name string, l *outgoing) {
	q := g.named(name)
	if q.dead {
		g.give(p, node.Event{Type: node.LinkDown, From: name})
		g.at(g.now+g.roster.Heartbeat, func() {
			if p.links[name] == l && !p.dead {
				g.dial(p, name, l)
			}
		})
		return
	}
	g.at(g.works(p, handshake), func() {
		g.at(g.works(q, handshake), func() {
			if p.links[name] == l {
				g.give(p, node.Event{Type: node.LinkUp, From: name})
			}
		})
	})
}

// kill ends a process: its kernel closes the links of the others to it.
func (g *group) kill(name string) {
	g.named(name).dead = true
	for _, p := range g.members {
		if p.links[name] != nil {
			p.links[name] = &outgoing{}
			g.dial(p, name, p.links[name])
		}
	}
}

// coordinator is whom all that live follow; empty: they do not agree on one that lives.
func (g *group) coordinator() (name string) {
	for _, p := range g.members {
		follows := p.node.View().Coordinator
		switch {
		case p.dead || p.stopped:
		case follows == "" || name != "" && follows != name:
			return ""
		default:
			name = follows
		}
	}
	if p := g.named(name); p.dead || p.stopped {
		return ""
	}
	return name
}

// agree lets up to 120 T pass until all that live follow one of them.
func (g *group) agree(what string) {
	g.t.Helper()
	begun := g.now
	for !g.changed || g.coordinator() == "" {
		g.changed = false
		if !g.proceed(begun + 120*g.roster.Timeout) {
			g.t.Fatalf("within 120 T it is not so that %s", what)
		}
	}
	g.t.Logf("%s on %s after %v", what, g.coordinator(), (g.now - begun).Round(time.Millisecond))
}

// rests lets some time pass, in the second half of which nothing happens.
func (g *group) rests() {
	g.run(6 * g.roster.Timeout)
	before := g.news
	g.run(6 * g.roster.Timeout)
	if g.news != before || g.coordinator() == "" {
		g.t.Errorf("%d suspicions and outcomes while nothing happened", g.news-before)
	}
}

func (g *group) run(span time.Duration) {
	for end := g.now + span; g.proceed(end); {
	}
}

// proceed does what is due next, if that is before the end.
func (g *group) proceed(end time.Duration) bool {
	if len(g.later) == 0 || g.later[0].at > end {
		g.now = end
		return false
	}
	j := heap.Pop(&g.later).(job)
	g.now = j.at
	j.do()
	return true
}

// at has something done at some time.
func (g *group) at(when time.Duration, do func()) {
	g.planned++
	heap.Push(&g.later, job{max(when, g.now), g.planned, do})
}

type job struct {
	at    time.Duration
	order int
	do    func()
}

// jobs are a heap: what is due first comes first, and of two what was planned first.
type jobs []job

func (h jobs) Len() int { return len(h) }
func (h jobs) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h jobs) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *jobs) Push(x any)   { *h = append(*h, x.(job)) }
func (h *jobs) Pop() any {
	last := len(*h) - 1
	j := (*h)[last]
	*h = (*h)[:last]
	return j
}
