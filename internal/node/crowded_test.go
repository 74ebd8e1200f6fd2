package node_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// Processes that share two cores agree with the default timing, although all messages of an election
// take the cores longer than T. When the coordinator stands still, they agree again, and when the
// next one is killed; and then there is no other election.
func TestACrowdAgrees(t *testing.T) {
	t.Run("Classic", func(t *testing.T) {
		newCrowd(t, large("Bully", 50), 800*time.Microsecond, 0).failsOver()
	})
	t.Run("Guarded", func(t *testing.T) {
		newCrowd(t, guardedCrowd(60), 350*time.Microsecond, 0).failsOver()
	})
	t.Run("100, one of which stands still now and then", func(t *testing.T) {
		c := newCrowd(t, large("Bully", 100), 100*time.Microsecond, 0)
		first := c.agree("they agree")
		c.run(lease.LinksTake(len(c.members)))
		c.standsStill(first, 2*time.Second)
	})
	t.Run("250 that start one after the other", func(t *testing.T) {
		r := large("Bully", 250)
		r.Heartbeat, r.Timeout = time.Second, 5*time.Second
		c := newCrowd(t, r, 100*time.Microsecond, 60*time.Millisecond)
		first := c.agree("they agree")
		c.kill(first)
		c.agree("the survivors agree")
		if all := len(r.Members) * (len(r.Members) - 1); c.shakes > all/4 {
			t.Errorf("%d handshakes; %d would link each process to each other one", c.shakes, all)
		}
		c.restart(first)
		c.agree("it has taken over again")
		c.run(lease.LinksTake(len(r.Members))) // links that were needed at first only are given up
		for range 3 {
			c.comesAndGoes(first)
		}
	})
}

// comesAndGoes ends the coordinator and starts it again: that needs its own links and no other.
func (c *crowd) comesAndGoes(coordinator string) {
	before := c.shakes
	c.kill(coordinator)
	c.agree("the survivors agree")
	c.restart(coordinator)
	c.agree("it has taken over again")
	c.run(2 * c.roster.Timeout)
	if needed := 2 * (len(c.members) - 1); c.shakes-before > needed*11/10 {
		c.t.Errorf("%d handshakes for one that came back, which needs %d", c.shakes-before, needed)
	}
}

// guardedCrowd is a Guarded group with the default leases.
func guardedCrowd(n int) *node.Roster {
	r := large("Bully", n)
	r.Guarded, r.LeaseMinimum = true, r.Heartbeat
	return r
}

// standsStill has the coordinator stand still for so long again and again, and go on: it is missed
// soon each time, although it has come back before.
func (c *crowd) standsStill(first string, span time.Duration) {
	for range 4 {
		c.stop(first)
		begun := c.now
		c.agree("the survivors agree, one stands still")
		if took := c.now - begun; took > 2*c.roster.Timeout {
			c.t.Fatalf("that took %v", took)
		}
		c.run(begun + span - c.now)
		c.goOn(first)
		c.agree("it goes on, and they agree")
		c.run(20 * c.roster.Timeout)
	}
}

func (c *crowd) failsOver() {
	first := c.agree("they agree")
	c.run(20 * c.roster.Timeout)
	c.stop(first)
	second := c.agree("the survivors agree, one stands still")
	c.run(20 * c.roster.Timeout)
	c.kill(second)
	c.agree("the survivors agree, one more was killed")
	c.run(20 * c.roster.Timeout)
	for _, p := range c.members[len(c.members)-12:] { // the front
		c.stop(p.self.Name)
	}
	third := c.agree("the survivors agree, the front stands still")
	c.run(20 * c.roster.Timeout)
	before := c.news
	c.run(120 * c.roster.Timeout)
	if c.news != before || c.coordinator() != third {
		c.t.Errorf("%d suspicions and outcomes while nothing happened", c.news-before)
	}
}

// crowd is a group on two cores. What a process does takes CPU time, and whoever has something to
// do gets a core in turn.
type crowd struct {
	t        *testing.T
	roster   *node.Roster
	effort   time.Duration // that an event costs: more than it costs an agent
	shakes   int           // handshakes
	now      time.Duration
	idle     int        // cores
	runnable []*crowded // have something to do, and no core
	later    jobs
	count    int
	members  []*crowded
	named    map[string]*crowded
	news     int // suspicions, and outcomes of elections
}

// crowded is one process of it.
type crowded struct {
	self    lease.Incarnation
	node    *node.Node
	runs    bool // it has started
	dead    bool
	stopped bool
	todo    []task
	greet   []task        // handshakes, which are done beside what comes in
	since   time.Duration // CPU time that it took for other things since the last handshake
	queued  bool          // it has a core, or waits for one
	next    time.Duration
	ticking bool // a Tick is among what it has to do
	links   map[string]*outgoing
	rng     *rand.Rand
}

// outgoing is a link of a process to another one.
type outgoing struct {
	open bool
	wait []task // until it is open
}

// task is an event, and the CPU time that it takes.
type task struct {
	event  node.Event
	effort time.Duration
}

// handshake is what a new link costs.
const handshake = 5 * time.Millisecond

// slice is for how long a process has a core.
const slice = 4 * time.Millisecond

func newCrowd(t *testing.T, r *node.Roster, effort, apart time.Duration) *crowd {
	c := &crowd{
		t:      t,
		roster: r,
		effort: effort,
		now:    time.Hour,
		idle:   2,
		named:  map[string]*crowded{},
	}
	for i, m := range r.Members {
		p := c.process(lease.Incarnation{
			Name:    m.Name,
			UID:     m.UID,
			StateID: m.StateID,
			Number:  1,
		}, uint64(i))
		c.members, c.named[m.Name] = append(c.members, p), p
		c.at(c.now+time.Duration(i)*apart, func() { c.start(p) })
	}
	return c
}

func (c *crowd) process(self lease.Incarnation, seed uint64) *crowded {
	return &crowded{
		self:  self,
		links: map[string]*outgoing{},
		rng:   rand.New(rand.NewPCG(self.Number, seed)),
		node: node.New(node.Config{
			Self: self,
			Now:  c.clocks(),
			Seed: seed,
		}),
	}
}

func (c *crowd) start(p *crowded) {
	p.runs = true
	c.give(p, node.Event{Type: node.RosterReceived, Roster: c.roster}, c.effort)
}

// large is a Classic roster of P001 to Pn, whose priorities are their numbers.
func large(algorithm string, n int) *node.Roster {
	r := newRoster(false)
	r.Members, r.Algorithm = voters(n, "P%03d"), algorithm
	return r
}

func (c *crowd) clocks() lease.Reading {
	return lease.Reading{Boot: c.now, Raw: c.now, Wall: c.now}
}

// give gives a process something to do.
func (c *crowd) give(p *crowded, e node.Event, takes time.Duration) {
	if p.dead {
		return
	}
	if t := (task{event: e, effort: takes}); e.Type == node.LinkUp {
		p.greet = append(p.greet, t)
	} else {
		p.todo = append(p.todo, t)
	}
	if !p.queued && !p.stopped {
		p.queued, c.runnable = true, append(c.runnable, p)
	}
	c.dispatch()
}

// dispatch gives idle cores to those that have waited for longest.
func (c *crowd) dispatch() {
	for c.idle > 0 && len(c.runnable) > 0 {
		p := c.runnable[0]
		c.runnable, c.idle = c.runnable[1:], c.idle-1
		c.work(p, c.now+slice)
	}
}

// work has a process that has a core do what it has to do, until its time slice is over.
func (c *crowd) work(p *crowded, until time.Duration) {
	t := p.take()
	c.at(c.now+t.effort, func() {
		c.step(p, t.event)
		more := len(p.todo)+len(p.greet) > 0
		p.queued = more && !p.dead && !p.stopped
		if p.queued && c.now < until {
			c.work(p, until)
			return
		}
		c.idle++
		if p.queued {
			c.runnable = append(c.runnable, p)
		}
		c.dispatch()
	})
}

// take is what a process does next: what has come in, and handshakes, which get half of its time.
func (p *crowded) take() (t task) {
	if len(p.greet) > 0 && (p.since >= handshake || len(p.todo) == 0) {
		t, p.greet, p.since = p.greet[0], p.greet[1:], 0
	} else {
		t, p.todo = p.todo[0], p.todo[1:]
		p.since += t.effort
	}
	return t
}

// step has a process take an event.
func (c *crowd) step(p *crowded, e node.Event) {
	if p.dead {
		return
	}
	switch e.Type {
	case node.Tick:
		p.ticking = false
	case node.LinkUp:
		c.open(p, e.From)
	default:
	}
	e.Now = c.clocks()
	r := p.node.Step(e)
	for {
		c.carryOut(p, r)
		if r.Write == nil {
			return
		}
		r = p.node.Advance(c.clocks(), r.Write.Number, nil)
	}
}

// carryOut makes links, sends messages, and sets the timer.
func (c *crowd) carryOut(p *crowded, r *node.Ready) {
	for _, note := range r.Notes {
		if note.Type == node.Suspects || note.Type == node.Follows {
			c.news++
		}
	}
	if r.Relink {
		c.relink(p, r.Links)
	}
	for _, m := range r.Messages {
		c.send(p, m)
	}
	if r.Next == p.next {
		return
	}
	p.next = r.Next
	c.at(p.next, func() {
		if p.next == c.now && !p.ticking {
			p.ticking = true
			c.give(p, node.Event{Type: node.Tick}, c.effort)
		}
	})
}

// send sends a message: a response on the link that the request came on, anything else on the
// process's own link, where it waits for that to open.
func (c *crowd) send(p *crowded, m node.Message) {
	to := m.To
	m.To = ""
	t := task{node.Event{
		Type:        node.Received,
		From:        p.self.Name,
		StateID:     "state-" + p.self.Name,
		Incarnation: p.self.Number,
		Message:     m,
	}, c.effort}
	l := p.links[to]
	switch {
	case m.Type == node.Answer || m.Type == node.LeaseResponse || l != nil && l.open:
		c.give(c.named[to], t.event, t.effort)
	case l != nil && len(l.wait) < waits:
		l.wait = append(l.wait, t)
	}
}

// waits is how many messages wait for a link to open.
const waits = 64

// open sends what has waited for a link.
func (c *crowd) open(p *crowded, name string) {
	l := p.links[name]
	if l == nil {
		return
	}
	l.open = true
	for _, t := range l.wait {
		c.give(c.named[name], t.event, t.effort)
	}
	l.wait = nil
}

// relink makes the links that a process wants, in any order; those to the dead are refused.
func (c *crowd) relink(p *crowded, wanted []string) {
	old, wanted := p.links, slices.Clone(wanted)
	p.rng.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
	p.links = map[string]*outgoing{}
	for _, name := range wanted {
		p.links[name] = old[name]
		if old[name] != nil {
			continue
		}
		p.links[name] = &outgoing{}
		if !c.connect(p, name) {
			c.give(p, node.Event{Type: node.LinkDown, From: name}, c.effort)
			c.redial(p, name, p.links[name])
		}
	}
}

// connect makes a link, unless it is refused.
func (c *crowd) connect(p *crowded, name string) (ok bool) {
	if q := c.named[name]; !q.runs || q.dead {
		return false
	}
	c.shakes++
	c.give(p, node.Event{Type: node.LinkUp, From: name}, handshake)
	return true
}

// redial tries to make a link that was refused, once in a heartbeat.
func (c *crowd) redial(p *crowded, name string, l *outgoing) {
	c.at(c.now+c.roster.Heartbeat, func() {
		if p.links[name] == l && !p.dead && !c.connect(p, name) {
			c.redial(p, name, l)
		}
	})
}

// kill ends a process: its kernel closes the links of the others to it.
func (c *crowd) kill(name string) {
	c.named[name].dead = true
	for _, p := range c.members {
		if p.links[name] != nil {
			p.links[name] = &outgoing{}
			c.give(p, node.Event{Type: node.LinkDown, From: name}, c.effort)
			c.redial(p, name, p.links[name])
		}
	}
}

// restart starts a process again that was killed.
func (c *crowd) restart(name string) {
	i := slices.Index(c.members, c.named[name])
	self := c.named[name].self
	self.Number++
	p := c.process(self, uint64(i))
	c.members[i], c.named[name] = p, p
	c.start(p)
}

// stop has a process stand still: its kernel goes on.
func (c *crowd) stop(name string) { c.named[name].stopped = true }

// goOn has a process go on that stands still, with what has come in meanwhile.
func (c *crowd) goOn(name string) {
	p := c.named[name]
	p.stopped = false
	if len(p.todo)+len(p.greet) > 0 && !p.queued {
		p.queued, c.runnable = true, append(c.runnable, p)
	}
	c.dispatch()
}

// coordinator is whom all that live follow; empty: they do not agree on one that lives.
func (c *crowd) coordinator() (name string) {
	for _, p := range c.members {
		switch follows := p.node.View().Coordinator; {
		case p.dead || p.stopped:
		case !p.runs:
			return ""
		case follows == "" || name != "" && follows != name:
			return ""
		default:
			name = follows
		}
	}
	if p := c.named[name]; p.dead || p.stopped {
		return ""
	}
	return name
}

// run lets some time pass.
func (c *crowd) run(span time.Duration) {
	for end := c.now + span; c.proceed(end); {
	}
}

// agree lets up to 120 T pass until all that live follow one of them.
func (c *crowd) agree(what string) (coordinator string) {
	c.t.Helper()
	begun := c.now
	for coordinator == "" {
		if !c.proceed(begun + 120*c.roster.Timeout) {
			c.t.Fatalf("within 120 T it is not so that %s", what)
		}
		coordinator = c.coordinator()
	}
	took := (c.now - begun).Round(time.Millisecond)
	c.t.Logf("%s on %s after %v, %d handshakes", what, coordinator, took, c.shakes)
	return coordinator
}

// proceed does what is due next, if that is before the end.
func (c *crowd) proceed(end time.Duration) bool {
	if len(c.later) == 0 || c.later[0].at > end {
		c.now = end
		return false
	}
	j := heap.Pop(&c.later).(job)
	c.now = j.at
	j.do()
	return true
}

// at has something done at some time.
func (c *crowd) at(when time.Duration, do func()) {
	c.count++
	heap.Push(&c.later, job{
		at:    when,
		order: c.count,
		do:    do,
	})
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
