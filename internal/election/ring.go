package election

import "slices"

// ring is what the ring algorithms share: a unidirectional ring in the order of the roster.
//
// A process that has vanished is skipped ("instead of sending to process j, send to j + 1", 003).
// Each process keeps links to its next two live successors ("its successor and the successor's
// successor", 001). It keeps what it sent in an election that is under way, and sends it again to
// the next process when the successor vanishes. So a message may arrive at a process twice; the
// second one is dropped. No message travels more than 2n links. A coordinator that is suspected,
// and answers, is not skipped: "the control part of a failed process continues to function" (000).
//
// A process that has just recovered may call an election before its predecessor has a link to it.
// The messages of its election end at that predecessor, which keeps them until the link opens,
// whatever other elections end meanwhile.
//
// A message that is lost with a vanished process may be for one that was skipped then, and has come
// back since; or nobody else may be in reach until somebody comes back. So each message is kept
// with the process that it was sent to last. The outcome of an election is kept, too: a process
// that was skipped when it went round, and holds an election that ended at another process, would
// hear of it by its timer only.
type ring struct {
	*Machine
	outbox []kept          // sent, and possibly lost with the receiver; oldest first
	trips  map[string]trip // by initiator: what has passed here in its newest election
	noted  int             // the number of the roster that trips belongs to
}

// kept is a message in the outbox.
type kept struct {
	Message
	to string // whom it was sent to last; empty: that one has vanished, and nobody else was there
	// an elect that went past its sender, which had vanished: it is for nobody else any more
	past bool
}

// trip is the newest election of an initiator, as far as it has passed here.
type trip struct {
	election ID
	passed   []mark
}

// mark distinguishes the messages of one election.
type mark struct {
	kind    Kind
	process string
}

// travel returns how many links a message may travel.
func (r *ring) travel() int { return 2 * len(r.roster) }

// enter takes a message off the in-edge. It returns false if the message has travelled too far or
// has passed here before. A member that lies cannot make a ring grow: enter also refuses kinds that
// the algorithm does not use, a process that is not on the roster, and a list that is longer than
// the roster.
func (r *ring) enter(m *Message, kinds ...Kind) bool {
	_, known := r.find(m.Process)
	if !slices.Contains(kinds, m.Kind) || m.Process != "" && !known ||
		len(m.List) > len(r.roster) || m.Hops <= 0 || m.Hops > r.travel() {
		return false
	}
	m.Hops--
	ours := m.Election.Initiator == r.self.Name || m.Process == r.self.Name
	return ours || !r.passed(*m)
}

// passed records that a message passes, and reports whether it has passed before. A message of an
// earlier election of the same initiator counts as passed. A ring has to trust its relays, because
// nobody can check what a message says about its initiator. When the roster changes, a process that
// lied may be gone, so the records are dropped.
func (r *ring) passed(m Message) bool {
	if r.trips == nil || r.noted != r.changes {
		r.trips, r.noted = map[string]trip{}, r.changes
	}
	t := r.trips[m.Election.Initiator]
	if m.Election.earlier(t.election) {
		return true
	}
	if t.election != m.Election {
		t = trip{election: m.Election, passed: t.passed[:0]}
	}
	k := mark{m.Kind, m.Process}
	if slices.Contains(t.passed, k) {
		return true
	}
	t.passed = append(t.passed, k)
	r.trips[m.Election.Initiator] = t
	return false
}

// pass sends a message along the out-edge. It returns false if this process is alone in the ring.
func (r *ring) pass(m Message) bool {
	r.keep(m)
	return r.emit(&r.outbox[len(r.outbox)-1])
}

// keep puts a message into the outbox, in place of those of earlier elections of its initiator. If
// the outbox is full, the oldest message goes, unless it is owed and another one is not. An elect
// that went past its sender stays until the next one of that sender, or until a roster does not
// name it: there are fewer of these than processes, so they leave room for a round.
func (r *ring) keep(m Message) {
	r.outbox = slices.DeleteFunc(r.outbox, func(k kept) bool {
		if k.past {
			_, known := r.find(k.Process)
			return k.Process == m.Process || !known
		}
		return k.Election.Initiator == m.Election.Initiator && k.Election.earlier(m.Election)
	})
	if len(r.outbox) >= r.travel() {
		oldest := slices.IndexFunc(r.outbox, func(k kept) bool { return !r.owed(&k) })
		r.outbox = slices.Delete(r.outbox, max(0, oldest), max(0, oldest)+1)
	}
	r.outbox = append(r.outbox, kept{Message: m})
}

// conclude drops what an election that has ended leaves without a purpose. It keeps three things:
// its outcome, later elections of its initiator, and messages that are owed.
func (r *ring) conclude(over ID) {
	r.outbox = slices.DeleteFunc(r.outbox, func(k kept) bool {
		goesOn := k.Election.Initiator == over.Initiator && over.earlier(k.Election)
		isOutcome := k.Election == over && k.outcome()
		return !goesOn && !isOutcome && !r.owed(&k)
	})
}

// outcome reports whether the message tells how an election has ended.
func (k *kept) outcome() bool { return k.Kind == NewCoordinator || k.Kind == Coordinator }

// sender returns the process that sent a message first, and waits for it to come round.
func (k *kept) sender() string {
	if k.isElect() {
		return k.Process
	}
	return k.Election.Initiator
}

func (k *kept) isElect() bool { return k.Kind == Elect || k.Kind == ElectNobody }

// owed reports whether this process skips the one that waits for a message. It can go nowhere else:
// the processes beyond that one have had it first.
func (r *ring) owed(k *kept) bool { return !k.outcome() && (k.past || r.skips(k.sender())) }

func (r *ring) emit(k *kept) bool {
	successor := r.next(r.self.Name)
	if k.to = successor.Name; k.to == r.self.Name {
		k.to = ""
		return false
	}
	k.past = k.isElect() && r.skips(k.Process)
	r.send(successor, k.Message)
	return true
}

// again drops the messages about a vanished process, which can win nothing any more, and sends what
// else went to that process to the successor.
func (r *ring) again(vanished Process) {
	r.outbox = slices.DeleteFunc(r.outbox, func(k kept) bool {
		about := k.Process == vanished.Name || k.Election.Initiator == vanished.Name
		return about && !k.past
	})
	for i := range r.outbox {
		if k := &r.outbox[i]; k.to == vanished.Name && !r.owed(k) {
			r.emit(k)
		}
	}
}

// peerUp handles a process that came back. If it is the successor now, it gets what went past it
// while it was skipped and concerns it: the messages of elections that it has called, those that it
// waits for, and an outcome that it has not been told. The successor also gets what went to nobody,
// or to a process farther away to which this one no longer keeps a link: what was under way on that
// link may be lost.
func (r *ring) peerUp(back Process) {
	links, isNext := r.links(), r.next(r.self.Name) == back
	for i := range r.outbox {
		k := &r.outbox[i]
		own := !k.outcome() && (k.sender() == back.Name || k.Election.Initiator == back.Name)
		stranded := !slices.Contains(links, k.to) && !r.owed(k)
		if stranded || isNext && (own || r.inForce(k, back)) {
			r.emit(k)
		}
	}
}

// inForce reports whether a message is the outcome that this process goes by, and is news to
// another one that may go by it, too. (To one that outranks the coordinator, the VIEW says enough.)
func (r *ring) inForce(k *kept, other Process) bool {
	coordinator, known := r.find(r.coordinator)
	return k.outcome() && !r.electing && k.Process == r.coordinator && known &&
		!other.Outranks(coordinator) && k.Election.Initiator != other.Name
}

// announce sends the outcome of this process's election round the ring, and accepts it itself.
func (r *ring) announce(kind Kind, election ID, coordinator Process, list []string) {
	r.conclude(election)
	r.pass(Message{
		Kind:     kind,
		Election: election,
		Process:  coordinator.Name,
		List:     list,
		Hops:     r.travel(),
	})
	r.accept(coordinator, election)
}

func (r *ring) accept(coordinator Process, election ID) {
	if coordinator.Name == r.self.Name {
		r.coordinate(election)
	} else {
		r.follow(coordinator, election)
	}
}

// announced handles the outcome of another process's election: it records and forwards the outcome,
// which ends at its initiator. An outcome that is wrong about this process ends here, and this
// process calls an election.
func (r *ring) announced(m Message) {
	coordinator, known := r.find(m.Process)
	switch {
	case m.Election.Initiator == r.self.Name: // it has come round
		r.conclude(m.Election)
	case !known:
	case coordinator.Name == r.self.Name && !r.candidate():
		r.algorithm.elect(Withdrawn)
	case r.candidate() && r.self.Outranks(coordinator):
		r.algorithm.elect(TwoCoordinators)
	case coordinator.Priority == 0: // on this roster it never coordinates: this roster is outdated
		r.pass(m)
	default:
		r.conclude(m.Election)
		r.pass(m)
		r.accept(coordinator, m.Election)
	}
}

// next returns the first process after the given one in the ring that is not known to have
// vanished.
func (r *ring) next(name string) Process {
	at := r.place(name)
	for i := 1; i < len(r.roster); i++ {
		if q := r.roster[(at+i)%len(r.roster)]; !r.vanished(q) {
			return q
		}
	}
	return r.self
}

// skips reports whether a process lies between this one and its successor.
func (r *ring) skips(name string) bool {
	for _, q := range r.others() {
		if !r.vanished(q) {
			return false
		}
		if q.Name == name {
			return true
		}
	}
	return false
}

func (r *ring) vanished(q Process) bool {
	return q.Name != r.self.Name && r.peers[q.Name].link == down
}

// links returns the processes up to the second live one after this process, including the skipped
// ones, which may come back.
func (r *ring) links() []string {
	names, live := []string(nil), 0
	at := r.place(r.self.Name)
	for i := 1; i < len(r.roster); i++ {
		q := r.roster[(at+i)%len(r.roster)]
		if names = append(names, q.Name); !r.vanished(q) {
			if live++; live == 2 {
				break
			}
		}
	}
	return names
}

func (r *ring) watched() []string {
	if successor := r.next(r.self.Name); successor.Name != r.self.Name {
		return []string{successor.Name}
	}
	return nil
}

// highest returns the highest candidate among names; ok is false if there is none.
func (r *ring) highest(names []string) (best Process, ok bool) {
	for _, name := range names {
		if q, known := r.find(name); known && q.Priority > 0 && (!ok || q.Outranks(best)) {
			best, ok = q, true
		}
	}
	return best, ok
}
