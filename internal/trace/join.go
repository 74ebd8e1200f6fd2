package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// maxEvents bounds a picture: 100 processes keep 64 messages each. Of more, the rest is left out.
const maxEvents = 16 << 10

// maxLanes bounds its processes, which a liar may invent.
const maxLanes = 300

// joining is a picture that is being made.
type joining struct {
	Picture
	in     Input
	events []event
	order  *order
	lanes  []string           // the processes with an event, in the order in which they are shown
	tells  map[string][]int   // the events of a process that it tells of itself, in its order
	sent   map[identity]int   // the sendings that their processes tell of
	got    map[identity][]int // the receipts
}

// event is an Event whose place is not known yet.
type event struct {
	Event
	message     Message
	incarnation uint64 // of the process
	pair        int    // -1: none
}

func join(e election, in Input) Picture {
	j := &joining{
		in:    in,
		tells: map[string][]int{},
		sent:  map[identity]int{},
		got:   map[identity][]int{},
	}
	j.describe(e)
	for _, x := range e.entries {
		j.add(x)
	}
	j.pair()
	j.arrange()
	j.present()
	j.sayWhatIsMissing(e)
	return j.Picture
}

// add takes what a process tells.
func (j *joining) add(x entry) {
	began, followed := false, x.Coordinator == ""
	at := func(microseconds int64, what string, m Message) event {
		return event{
			Event: Event{
				Process:      x.process,
				What:         what,
				Kind:         m.Kind,
				About:        m.Process,
				Microseconds: &microseconds,
			},
			message:     m,
			incarnation: x.incarnation,
			pair:        -1,
		}
	}
	begin := func() {
		e := at(0, TakesPart, Message{})
		e.Reason = x.Reason
		j.tell(e)
		began = true
	}
	follow := func() {
		e := at(x.Microseconds, Follows, Message{})
		e.Peer = x.Coordinator
		j.tell(e)
		followed = true
	}
	for i, m := range x.Messages {
		if i > 0 && m.Microseconds < x.Messages[i-1].Microseconds {
			j.contradict("%s tells its messages in another order than its own clock has them.", x.process)
		}
		if !began && m.Microseconds >= 0 {
			begin()
		}
		if !followed && m.Microseconds > x.Microseconds {
			follow()
		}
		e := at(m.Microseconds, Sends, m)
		switch {
		case m.From == x.process && m.To != x.process:
			e.Peer = m.To
		case m.To == x.process && m.From != x.process:
			e.What, e.Peer = Receives, m.From
		default:
			j.contradict("%s tells of a message from %s to %s, of which it cannot know.", x.process,
				m.From, m.To)
			continue
		}
		j.tell(e)
	}
	if !began {
		begin()
	}
	if !followed {
		follow()
	}
	if x.Omitted > 0 {
		j.unknown("%s has not kept its first %d messages.", x.process, x.Omitted)
	}
}

// tell adds an event that its process tells of, after those that it has told before.
func (j *joining) tell(e event) {
	if len(j.events) >= maxEvents || !j.hasLane(e.Process) || e.Peer != "" && !j.hasLane(e.Peer) {
		const tooMuch = "The accounts tell of too much: the rest is left out."
		if !slices.Contains(j.Unknown, tooMuch) {
			j.Unknown = append(j.Unknown, tooMuch)
		}
		return
	}
	at := len(j.events)
	if m := e.message; e.What == Sends {
		switch first, again := j.sent[m.identity()]; {
		case e.message.Incarnation != e.incarnation:
			j.contradict("%s tells of a message that it sent in another incarnation than its own.",
				e.Process)
		case again:
			j.contradict("%s tells of two messages that are its number %d: %s to %s, and %s to %s.",
				e.Process, m.Sequence, j.events[first].Kind, j.events[first].Peer, e.Kind, e.Peer)
		default:
			j.sent[m.identity()] = at
		}
	} else if e.What == Receives {
		j.got[m.identity()] = append(j.got[m.identity()], at)
	}
	j.events = append(j.events, e)
	j.tells[e.Process] = append(j.tells[e.Process], at)
}

// hasLane reports whether a process is shown. The first that are named are.
func (j *joining) hasLane(name string) bool {
	if slices.Contains(j.lanes, name) {
		return true
	}
	if name == "" || len(j.lanes) >= maxLanes {
		return false
	}
	j.lanes = append(j.lanes, name)
	return true
}

// pair finds the sending of each receipt. A sending that its process does not tell of is inferred.
func (j *joining) pair() {
	for at := range len(j.events) { // inferred ones come to the end, and are no receipts
		e := &j.events[at]
		if e.What != Receives {
			continue
		}
		if same := j.got[e.message.identity()]; len(same) > 1 && same[0] != at {
			j.contradict("%s is told to have arrived twice.", j.named(e))
			continue
		}
		s, told := j.sent[e.message.identity()]
		switch {
		case !told:
			j.infer(at)
		case j.events[s].Peer != e.Process || j.events[s].Kind != e.Kind ||
			j.events[s].About != e.About:
			j.contradict("%s is not what %s tells that it sent as its number %d: %s to %s.",
				j.named(e), e.Peer, e.message.Sequence, j.events[s].Kind, j.events[s].Peer)
		default:
			e.pair, j.events[s].pair = s, at
		}
	}
}

// named is a receipt, for a sentence.
func (j *joining) named(e *event) string {
	return fmt.Sprintf("What %s tells that it received from %s, %s,", e.Process, e.Peer, e.Kind)
}

// infer adds the sending of a receipt.
func (j *joining) infer(at int) {
	e := &j.events[at]
	if len(j.events) >= maxEvents {
		return
	}
	e.pair = len(j.events)
	j.events = append(j.events, event{
		Event: Event{
			Process:  e.Peer,
			What:     Sends,
			Peer:     e.Process,
			Kind:     e.Kind,
			About:    e.About,
			Inferred: true,
		},
		message:     e.message,
		incarnation: e.message.Incarnation,
		pair:        at,
	})
}

// arrange finds out what happened before what.
func (j *joining) arrange() {
	j.order = newOrder(len(j.events))
	for _, own := range j.tells {
		for i := 1; i < len(own); i++ {
			j.order.add(own[i-1], own[i], false)
		}
	}
	for at, e := range j.events {
		if e.What == Receives && e.pair >= 0 {
			j.order.add(e.pair, at, true)
		}
	}
	for _, name := range j.lanes {
		j.arrangeInferred(name)
	}
	for _, set := range j.order.contradictions() {
		var names []string
		for _, at := range set {
			if !slices.Contains(names, j.events[at].Process) {
				names = append(names, j.events[at].Process)
			}
		}
		if len(names) == 1 {
			j.contradict("%s tells its messages in another order than it has numbered them.", names[0])
			continue
		}
		slices.Sort(names)
		j.contradict("What these processes tell cannot all be: %s. By their accounts a message would "+
			"have arrived before it was sent. How their messages are ordered is not shown.", list(names))
	}
}

// arrangeInferred puts the inferred sendings of a process between those that it tells of, by their
// numbers, and each incarnation after the one before.
func (j *joining) arrangeInferred(name string) {
	var sendings []int
	inferred := false
	for at, e := range j.events {
		if e.Process == name && e.What == Sends {
			sendings = append(sendings, at)
			inferred = inferred || e.Inferred
		}
	}
	if !inferred {
		return
	}
	slices.SortStableFunc(sendings, func(a, b int) int {
		x, y := j.events[a], j.events[b]
		return cmp.Or(cmp.Compare(x.incarnation, y.incarnation),
			cmp.Compare(x.message.Sequence, y.message.Sequence))
	})
	for i := 1; i < len(sendings); i++ {
		j.order.add(sendings[i-1], sendings[i], true)
	}
	own := j.tells[name]
	for _, at := range sendings {
		if !j.events[at].Inferred {
			continue
		}
		// what the process tells of itself in an earlier or a later incarnation
		for i, o := range own {
			switch {
			case j.events[o].incarnation > j.events[at].incarnation:
				j.order.add(at, o, true)
			case j.events[o].incarnation < j.events[at].incarnation &&
				(i+1 == len(own) || j.events[own[i+1]].incarnation >= j.events[at].incarnation):
				j.order.add(o, at, true)
				continue
			default:
				continue
			}
			break
		}
	}
}

func (j *joining) contradict(format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if !slices.Contains(j.Contradictions, said) && len(j.Contradictions) < maxSentences {
		j.Contradictions = append(j.Contradictions, said)
	}
}

func (j *joining) unknown(format string, args ...any) {
	if len(j.Unknown) < maxSentences {
		j.Unknown = append(j.Unknown, fmt.Sprintf(format, args...))
	}
}

// maxSentences bounds what is said, of each kind.
const maxSentences = 32
