package scenario

import (
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// Time is virtual time.
type Time = sim.Time

// Unit is the delay of a link in a quiet network: the books' Ttrans, and twc of the rings. T is how
// long a process waits for an answer: T = 2·Ttrans + Tprocess, with Tprocess = 0.
const (
	Unit Time = 100
	T         = 2 * Unit
)

// Delays writes a time in link delays, for people.
func Delays(t Time) string {
	s := strconv.FormatFloat(float64(t)/float64(Unit), 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// task is something that is to happen. The fields that its kind does not name are zero.
type task struct {
	kind        taskKind
	from, to    int32  // places of processes
	timer       int32  // which of the process's timers
	generation  uint32 // of a timer, which may have been set anew since
	incarnation uint64 // of the sender, or of the process that the task is for
	target      uint64 // incarnation of the process that a message was sent to
	sequence    int    // of a message, or of a fault
	message     election.Message
}

type taskKind uint8

const (
	arrive taskKind = iota + 1 // message comes to process to
	expire                     // a timer of process to runs out
	strike                     // fault number sequence happens
	glance                     // the failure detector of process to looks whether all is well
	answer                     // process from says whom it follows
)

// network is a group of processes and their links in virtual time. It delivers messages, lets
// timers run out, and steps the machines. What else happens, and what becomes of a message, is up
// to who owns it.
type network struct {
	now      Time
	queue    sim.Queue[task]
	nodes    []node
	places   map[string]int32
	sequence int // of the newest message
	// carry says when a message arrives by pushing its arrival, or does not.
	carry func(from, to int32, e *election.Envelope, sequence int)
	// stepped hears of every step, with the state before it. It may be nil.
	stepped func(p int32, before election.State)
	// observe hears of what happens, if it is not nil.
	observe func(Event)
}

// node is a process, in whatever incarnation.
type node struct {
	name        string
	machine     *election.Machine // nil: down
	incarnation uint64
	timers      [len(timerNames)]uint32 // generation of each timer; odd: it runs
}

var timerNames = [...]election.Timer{
	election.AwaitAnswer,
	election.AwaitAnnouncement,
	election.AwaitStragglers,
}

func (n *network) reset(roster []election.Process) {
	n.now, n.sequence = 0, 0
	n.queue.Reset()
	n.nodes = n.nodes[:0]
	if n.places == nil {
		n.places = map[string]int32{}
	}
	clear(n.places)
	for i, p := range roster {
		n.nodes = append(n.nodes, node{name: p.Name})
		n.places[p.Name] = int32(i)
	}
}

// boot gives a process its next incarnation. It has not started yet.
func (n *network) boot(p int32, c election.Config) error {
	v := &n.nodes[p]
	v.incarnation++
	c.Self, c.Incarnation = v.name, v.incarnation
	m, err := election.New(c)
	if err == nil {
		v.machine, v.timers = m, [len(timerNames)]uint32{}
	}
	return err
}

// kill ends a process at once.
func (n *network) kill(p int32) { n.nodes[p].machine = nil }

// step gives an event to a process that is not down, and does what it says.
func (n *network) step(p int32, e election.Event) {
	v := &n.nodes[p]
	before := v.machine.State()
	out := v.machine.Step(e)
	for _, op := range out.Timers {
		n.set(p, op)
	}
	for i := range out.Messages {
		n.send(p, &out.Messages[i])
	}
	if n.observe != nil {
		if s := v.machine.State(); decided(before, s) {
			n.observe(Event{
				At:      n.now,
				Kind:    Follows,
				Process: v.name,
				Peer:    s.Coordinator,
			})
		}
	}
	if n.stepped != nil {
		n.stepped(p, before)
	}
}

// decided reports whether a process has found its coordinator between two states.
func decided(before, after election.State) bool {
	return after.Coordinator != "" &&
		(after.Coordinator != before.Coordinator || after.Last.Decision != before.Last.Decision)
}

// set starts or stops a timer. What is in the queue of an earlier setting is known by its
// generation.
func (n *network) set(p int32, op election.TimerOp) {
	v := &n.nodes[p]
	for i, name := range timerNames {
		if name != op.Timer {
			continue
		}
		v.timers[i] = (v.timers[i] + 1) &^ 1
		if op.Wait <= 0 {
			return
		}
		v.timers[i]++
		t := n.queue.Push(n.now+Time(op.Wait)*T, sim.Timeouts)
		t.kind, t.to, t.timer = expire, p, int32(i)
		t.generation, t.incarnation = v.timers[i], v.incarnation
	}
}

func (n *network) send(from int32, e *election.Envelope) {
	n.sequence++
	if n.observe != nil {
		n.observe(Event{
			At:       n.now,
			Kind:     Sent,
			Process:  n.nodes[from].name,
			Peer:     e.To,
			Message:  e.Message,
			Sequence: n.sequence,
		})
	}
	if to, ok := n.places[e.To]; ok {
		n.carry(from, to, e, n.sequence)
	}
}

// post lets a message arrive.
func (n *network) post(at Time, from, to int32, m *election.Message, sequence int) *task {
	t := n.queue.Push(at, sim.Arrivals)
	t.kind, t.from, t.to, t.message, t.sequence = arrive, from, to, *m, sequence
	t.incarnation, t.target = n.nodes[from].incarnation, n.nodes[to].incarnation
	return t
}

// lose notes that a message does not arrive.
func (n *network) lose(t *task, why string) {
	if n.observe != nil {
		n.observe(Event{
			At:       n.now,
			Kind:     Lost,
			Process:  n.nodes[t.to].name,
			Peer:     n.nodes[t.from].name,
			Message:  t.message,
			Sequence: t.sequence,
			Note:     why,
		})
	}
}

// hand gives a message to a process that is not down.
func (n *network) hand(t *task) {
	if n.observe != nil {
		n.observe(Event{
			At:       n.now,
			Kind:     Delivered,
			Process:  n.nodes[t.to].name,
			Peer:     n.nodes[t.from].name,
			Message:  t.message,
			Sequence: t.sequence,
		})
	}
	n.step(t.to, election.Event{
		Type:        election.Receive,
		Process:     n.nodes[t.from].name,
		Incarnation: t.incarnation,
		Message:     t.message,
	})
}

// answered lets a process hear whom another one follows. Neither is down.
func (n *network) answered(p, by int32) {
	n.step(p, election.Event{
		Type:    election.Answered,
		Process: n.nodes[by].name,
		Message: election.Message{Process: n.nodes[by].machine.State().Coordinator},
	})
}

// due reports whether a timer that ran out was still running.
func (n *network) due(t *task) bool {
	v := &n.nodes[t.to]
	return v.machine != nil && v.incarnation == t.incarnation && v.timers[t.timer] == t.generation
}

// timeout lets a timer run out.
func (n *network) timeout(t *task) {
	n.nodes[t.to].timers[t.timer]++
	// whoever waits for stragglers does not wait in vain when none comes
	if name := timerNames[t.timer]; name != election.AwaitStragglers {
		n.note(TimedOut, t.to, -1, string(name))
	}
	n.step(t.to, election.Event{Type: election.Timeout, Timer: timerNames[t.timer]})
}

// note observes an event that is about no message; a peer below 0 is none.
func (n *network) note(k EventKind, p, peer int32, note string) {
	if n.observe == nil {
		return
	}
	e := Event{
		At:   n.now,
		Kind: k,
		Note: note,
	}
	if p >= 0 {
		e.Process = n.nodes[p].name
	}
	if peer >= 0 {
		e.Peer = n.nodes[peer].name
	}
	n.observe(e)
}
