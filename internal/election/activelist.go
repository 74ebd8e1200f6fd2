package election

import "slices"

// activeListRing is the ring algorithm of seed 002 (Silberschatz): every process makes its own list
// of the active processes.
//
//  1. Pi that detects a coordinator failure creates a new active list, sends elect(i) to its right
//     neighbour and adds i to the list.
//  2. Pi receives elect(j).
//     a. If it is the first elect message that Pi has seen or sent, Pi creates a new active list
//     with i and j, and sends elect(i), followed by elect(j).
//     b. If i ≠ j, Pi adds j to its list and forwards the message.
//     c. If i = j, Pi's list contains all active processes: the largest is the new coordinator.
//  3. A recovering process sends an inquiry, which is forwarded round the ring to the coordinator.
//     The coordinator sends a reply with its number.
//
// The scan garbled the subscripts of 2a. The process's own message must go first, otherwise
// elect(i) would come back to Pi before the others, and 2c would not hold. The scan also lost the
// route of the reply: there is one way only, onwards round the ring.
//
// Assumptions: FIFO links, and no failure during an election. The seed leaves some points open.
// Here, besides what ring does, an elect names the round it belongs to, which is that of the
// process that detected the failure, so that a round that ends at different times at different
// processes does not start another one; a process whose elect does not come back within n·twc, twc
// ≤ T/2, plus two T begins a new round; a recovering process that finds itself above the
// coordinator ("always the process with the largest priority number"), or whose inquiry comes back
// or is lost, calls an election; a process that has withdrawn takes part with an ELECT NOBODY, to
// learn the outcome.
type activeListRing struct {
	ring
	round     ID // the round that this process's elect belongs to
	active    []member
	inquiring bool
}

// member is an entry of the active list, with the round that its elect belonged to. The round of
// the largest member identifies the outcome.
type member struct {
	name  string
	round ID
}

func (a *activeListRing) recover() { // rule 3
	a.inquiring = true
	a.round = a.begin(Started, a.self.Name)
	a.wait(AwaitAnswer, len(a.roster)+1)
	if !a.pass(Message{
		Kind:     Inquiry,
		Election: a.round,
		Hops:     a.travel(),
	}) {
		a.call(Started) // no other process is there
	}
}

func (a *activeListRing) elect(why Reason) {
	if !a.holding() {
		a.call(why)
	}
}

func (a *activeListRing) call(why Reason) { // rule 1
	a.voidRounds(a.coordinator) // if it lives after all, its own round goes on
	a.join(a.begin(why, a.self.Name))
}

// voidRounds drops what is left of rounds that have ended here: a process that has just recovered
// would take them for new ones. They may not have ended elsewhere: what is owed to a process that
// is skipped stays, and so do the rounds that it has called, and those of one other initiator.
func (a *activeListRing) voidRounds(but string) {
	if a.electing {
		return
	}
	a.outbox = slices.DeleteFunc(a.outbox, func(k kept) bool {
		by := k.Election.Initiator
		goesOn := by == but || a.skips(by) || a.owed(&k)
		return k.isElect() && !goesOn
	})
}

// join creates a new active list and sends this process's elect.
func (a *activeListRing) join(round ID) {
	a.inquiring, a.round, a.active = false, round, a.active[:0]
	a.stop(AwaitAnswer)
	a.wait(AwaitAnnouncement, len(a.roster)/2+2)
	own := Message{
		Kind:     Elect,
		Election: round,
		Process:  a.self.Name,
		Hops:     a.travel(),
	}
	if a.withdrawn {
		own.Kind = ElectNobody
	}
	a.add(own)
	if !a.pass(own) {
		a.complete() // no other process is there
	}
}

func (a *activeListRing) add(m Message) {
	if m.Kind == Elect && len(a.active) < a.travel() {
		a.active = append(a.active, member{m.Process, m.Election})
	}
}

func (a *activeListRing) receive(_ Process, m Message) {
	// nothing of this round has passed here
	fresh := a.trips[m.Election.Initiator].election != m.Election
	if !a.enter(&m, Elect, ElectNobody, Inquiry, Reply) {
		return
	}
	switch m.Kind {
	case Elect, ElectNobody:
		a.onElect(m, fresh)
	case Inquiry:
		a.onInquiry(m)
	case Reply:
		a.onReply(m)
	}
}

func (a *activeListRing) onElect(m Message, fresh bool) {
	if m.Process == a.self.Name { // 2c, or of an earlier round
		if m.Election == a.round && a.electing && !a.inquiring {
			a.complete()
		}
		return
	}
	if fresh && a.joins(m.Election) { // 2a
		why := Asked
		if m.Kind == ElectNobody {
			why = Withdrawn
		}
		a.voidRounds(a.coordinator)
		a.begin(why, m.Election.Initiator)
		a.join(m.Election)
	}
	a.add(m) // 2b
	a.pass(m)
}

// joins reports whether this process sends an elect in a round of which nothing has passed here. It
// does unless it waits for its elect in another one. In a round of its own it has sent one, whether
// that round has ended or not: all others would drop a second one. An initiator that calls another
// round has given up the one before, and so does whoever waits in that: its elect is dropped by all
// that know of the later round.
func (a *activeListRing) joins(round ID) bool {
	if round.Initiator == a.self.Name {
		return false
	}
	givenUp := a.round.Initiator == round.Initiator && a.round.earlier(round)
	return !a.holding() || a.inquiring || givenUp
}

func (a *activeListRing) complete() { // 2c
	var names []string
	for _, e := range a.active {
		if e.name != a.self.Name || !a.withdrawn {
			names = append(names, e.name)
		}
	}
	high, ok := a.highest(names)
	if !ok {
		return // there is no candidate: the timer calls the election again
	}
	for _, e := range a.active {
		if e.name == high.Name {
			a.accept(high, e.round)
			return
		}
	}
}

func (a *activeListRing) onInquiry(m Message) { // rule 3
	switch {
	case m.Election.Initiator == a.self.Name: // it came back: there is no coordinator
		if m.Election == a.round && a.inquiring {
			a.call(Started)
		}
	case a.coordinator == a.self.Name:
		a.pass(Message{
			Kind:     Reply,
			Election: m.Election,
			Process:  a.self.Name,
			Hops:     a.travel(),
		})
	default:
		a.pass(m)
	}
}

func (a *activeListRing) onReply(m Message) { // rule 3
	coordinator, known := a.find(m.Process)
	switch {
	case m.Election.Initiator != a.self.Name:
		a.pass(m)
	case m.Election != a.round || !a.inquiring:
	case !known || coordinator.Priority == 0 || a.candidate() && !coordinator.Outranks(a.self) ||
		!a.alive(coordinator):
		a.call(Started)
	default:
		a.inquiring = false
		a.follow(coordinator, a.round)
	}
}

func (a *activeListRing) timeout(t Timer) {
	switch {
	case !a.electing:
	case t == AwaitAnswer && a.inquiring:
		a.call(Started)
	case t == AwaitAnnouncement && !a.inquiring:
		a.call(AnnouncementMissing)
	}
}

// peerDown removes a vanished process from the active list. No message tells that a round has ended
// for all, so this process keeps what it passed on. If the coordinator has vanished, or is missed
// otherwise, the rounds that elected it are void.
func (a *activeListRing) peerDown(p Process) {
	if p.Name == a.coordinator {
		a.voidRounds("")
	}
	a.active = slices.DeleteFunc(a.active, func(e member) bool { return e.name == p.Name })
	a.setAside(p.Name)
	a.again(p)
}

// setAside keeps the newest elect of a process that has vanished for that process itself: it may
// have lost its link only.
func (a *activeListRing) setAside(name string) {
	elects := func(k kept) bool { return k.isElect() && k.Process == name }
	left := a.outbox[:0]
	for i, k := range a.outbox {
		switch {
		case !elects(k):
			left = append(left, k)
		case !slices.ContainsFunc(a.outbox[i+1:], elects):
			k.past = true
			left = append(left, k)
		}
	}
	a.outbox = left
}

// peerUp makes sure that a process that came back does not get messages of a round that had ended
// before: to that process it would be a new one. It gets its own elects that went past it, even if
// another process that has come back is the successor: to that one they would be new.
func (a *activeListRing) peerUp(p Process) {
	a.voidRounds(p.Name)
	if a.next(a.self.Name) != p {
		for i := range a.outbox {
			if k := &a.outbox[i]; k.past && k.Process == p.Name {
				k.to, k.past = p.Name, false
				a.send(p, k.Message)
			}
		}
	}
	a.ring.peerUp(p)
}
