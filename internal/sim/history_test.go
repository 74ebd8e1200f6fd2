package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// A history is a bug that a seed of the first simulator found, played on today's nodes: not by a
// seed, but by what happened. With the bug put back, it failed when it was written.
type history struct {
	name      string
	then      string // what went wrong when the bug was there
	algorithm string
	guarded   bool
	processes int
	strangers int
	lease     Lease // if it is not 1 s, and goes to the highest after as long
	play      func(t *testing.T, h *stage)
}

// histories are all of them. Those that are tests of one machine are not here.
var histories = slices.Concat(classicHistories, ringHistories, guardedHistories)

// TestHistory plays each history in a group that was quiet. Whatever the script checks itself,
// every invariant is checked after each step, and in the end what calm asks for: one
// coordinator, the highest, whom all follow.
func TestHistory(t *testing.T) {
	for _, c := range histories {
		t.Run(c.title(), func(t *testing.T) {
			h := begin(c)
			var told strings.Builder
			h.out = &told
			defer h.report(t, c, &told)
			h.wait(t, "all follow the highest", h.allAgree)
			c.play(t, h)
			h.calm(t)
		})
	}
}

// title is the history's name in the tests.
func (c history) title() string {
	mode := "Classic "
	if c.guarded {
		mode = "Guarded "
	}
	return mode + c.algorithm + "/" + c.name
}

// report says of a history that fails what it is about, and how it ended.
func (h *stage) report(t *testing.T, c history, told *strings.Builder) {
	if t.Failed() {
		lines := strings.SplitAfter(told.String(), "\n")
		t.Logf("what went wrong then: %s\n%s", c.then, strings.Join(lines[max(0, len(lines)-200):], ""))
	}
}

// stage is a group that a script plays on. Its processes are P1, P2, ... in the order of their
// priorities and of the ring.
type stage struct {
	*World
	held []letter
}

// letter is a message that a script has taken off its way.
type letter struct {
	p, q       int32
	message    node.Message
	connection *connection
}

// begin makes a group in which nothing happens but what a script does.
func begin(c history) *stage {
	h := &stage{World: NewWorld()}
	if c.lease == (Lease{}) {
		c.lease = Lease{Lease: time.Second, Preemption: lease.Always, Stable: time.Second}
	}
	h.begin(Options{
		Algorithm: c.algorithm,
		Guarded:   c.guarded,
		Quiet:     true,
		Processes: c.processes,
		Strangers: c.strangers,
		Chaos:     forever,
		Lease:     c.lease,
	})
	for p := range h.api.pods {
		h.api.pods[p].priority = int32(p + 1)
	}
	h.manage(0)
	return h
}

// wait lets the group run until something is so.
func (h *stage) wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := h.now + 400*T; h.now < end && h.broken == nil; {
		if so() {
			return
		}
		h.until(h.now + Unit/100)
	}
	t.Fatalf("%s: not within 400 T; %v", what, h.broken)
}

// allAgree reports whether all follow the highest, and use the newest roster.
func (h *stage) allAgree() bool {
	if h.Guarded {
		return h.quietGuarded()
	}
	return h.quietClassic()
}

// calm ends whatever a script does, and checks what must come of it.
func (h *stage) calm(t *testing.T) {
	t.Helper()
	h.Chaos, h.route = h.now, nil
	if h.broken == nil {
		h.quieten()
		if h.Guarded {
			h.calmDown()
		} else {
			h.calmDownClassic()
		}
	}
	if err := h.end(); err != nil {
		t.Error(err)
	}
}

// hold takes messages off their way that a script wants later.
func (h *stage) hold(what func(p, q int32, m *node.Message) bool) {
	h.route = func(p, q int32, m *node.Message, at Time) Time {
		if !what(p, q, m) {
			return at
		}
		h.held = append(h.held, letter{p: p, q: q, message: *m, connection: h.pair(p, q).connection})
		return forever
	}
}

// lose lets messages vanish, besides what is held, as those that are sent before there is a link.
func (h *stage) lose(what func(p, q int32, m *node.Message) bool) {
	next := h.route
	h.route = func(p, q int32, m *node.Message, at Time) Time {
		if what(p, q, m) {
			return forever
		}
		return next(p, q, m, at)
	}
}

// sees watches for a message. What it returns reports whether one has been sent since.
func (h *stage) sees(what func(m *node.Message) bool) func() bool {
	seen := false
	h.hold(func(_, _ int32, m *node.Message) bool {
		seen = seen || what(m)
		return false
	})
	return func() bool { return seen }
}

// deliver lets arrive now what was taken off its way.
func (h *stage) deliver() {
	h.route = nil
	for i := range h.held {
		l := &h.held[i]
		h.send1(l.p, l.q, &l.message, h.now+1, l.connection)
	}
	h.held = h.held[:0]
}

// cut lets nothing pass between two processes, either way, for so long.
func (h *stage) cut(p, q int32, length Time) {
	h.pair(p, q).cut, h.pair(q, p).cut = h.now+length, h.now+length
}

// kill ends a process; it does not start by itself before calm.
func (h *stage) kill(p int32) {
	h.processes[p].up = false
	h.halt(p)
}

// sicken says that an app cannot do a coordinator's work, or can again.
func (h *stage) sicken(p int32, sick bool) {
	h.processes[p].sick = sick
	h.health(p)
}

// edit gives a pod another priority, and waits for the roster. Those that are to get it late are
// kept from the managers.
func (h *stage) edit(t *testing.T, p, priority int32, late ...int32) {
	t.Helper()
	h.keepRosters = len(late) > 0
	for _, q := range late {
		h.processes[q].stranded = forever
	}
	before := h.api.version
	h.api.pods[p].priority = priority
	h.wait(t, "a roster", func() bool {
		if h.api.version == before {
			return false
		}
		for q := range h.processes {
			v := &h.processes[q]
			if v.node != nil && v.stranded <= h.now && v.roster != h.api.newest().node {
				return false
			}
		}
		return true
	})
}

// boundTo reports whether a process's disk holds what it has promised another one.
func (h *stage) boundTo(p, q int32) bool {
	return h.processes[p].disk.saved.lease.To.Name == names[q]
}

// follows is whom a process follows; empty: nobody.
func (h *stage) follows(p int32) string {
	v := &h.processes[p]
	if v.node == nil || v.node.Election() == nil {
		return ""
	}
	return v.node.View().Coordinator
}
