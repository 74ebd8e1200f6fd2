package election

import "slices"

// ring is what the ring algorithms share: a unidirectional ring in the order of the roster.
//
// A process that has vanished is skipped ("instead of sending to process j, send to j + 1", 003).
// Each process keeps links to its next two live successors ("its successor and the successor's
// successor", 001). It keeps what it sent in an election that is under way, and sends it again to
// the next process when the successor vanishes. So a message may arrive at a process twice; the
// second one is dropped. No message travels more than 2n links. A suspected coordinator is not
// skipped: "the control part of a failed process continues to function" (000).
//
// A process that has just recovered may call an election before its predecessor has a link to it.
// The messages of its election end at that predecessor, which keeps them until the link opens,
// whatever other elections end meanwhile.
type ring struct {
	*Machine
	outbox []Message       // sent, and possibly lost with the successor; oldest first
	trips  map[string]trip // by initiator: what has passed here in its newest election
	noted  int             // the number of the roster that trips belongs to
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
// has passed here before.
func (r *ring) enter(m *Message) bool {
	if m.Hops <= 0 || m.Hops > r.travel() {
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
	return r.emit(m)
}

// keep puts a message into the outbox, in place of those of earlier elections of its initiator. If
// the outbox is full, the oldest message goes, unless it is owed and another one is not.
func (r *ring) keep(m Message) {
	r.outbox = slices.DeleteFunc(r.outbox, func(kept Message) bool {
		return kept.Election.Initiator == m.Election.Initiator && kept.Election.earlier(m.Election)
	})
	if len(r.outbox) >= r.travel() {
		oldest := slices.IndexFunc(r.outbox, func(kept Message) bool { return !r.owed(kept) })
		r.outbox = slices.Delete(r.outbox, max(0, oldest), max(0, oldest)+1)
	}
	r.outbox = append(r.outbox, m)
}

// conclude drops the messages of an election that has ended, and of those that it has made
// pointless, but not what is owed.
func (r *ring) conclude() {
	r.outbox = slices.DeleteFunc(r.outbox, func(m Message) bool { return !r.owed(m) })
}

// owed reports whether a message is of an election whose initiator this process skips. It can go
// nowhere else: the processes beyond the initiator have had it first.
func (r *ring) owed(m Message) bool {
	return m.Kind != NewCoordinator && m.Kind != Coordinator && r.skips(m.Election.Initiator)
}

func (r *ring) emit(m Message) bool {
	successor := r.next(r.self.Name)
	if successor.Name == r.self.Name {
		return false
	}
	r.send(successor, m)
	return true
}

// again drops the messages about a vanished process, which can win nothing any more. If that
// process was the successor, it sends the remaining messages to the next one.
func (r *ring) again(vanished Process) {
	r.outbox = slices.DeleteFunc(r.outbox, func(m Message) bool {
		return m.Process == vanished.Name || m.Election.Initiator == vanished.Name
	})
	if r.next(vanished.Name) != r.next(r.self.Name) {
		return // it was not the successor
	}
	for _, m := range r.outbox {
		if !r.owed(m) {
			r.emit(m)
		}
	}
}

// peerUp handles a process that came back. It may have called an election before this process could
// reach it, so that the messages of the election skipped it. If it is the successor now, it gets
// them.
func (r *ring) peerUp(back Process) {
	if r.next(r.self.Name) != back {
		return
	}
	for _, m := range r.outbox {
		if m.Election.Initiator == back.Name {
			r.emit(m)
		}
	}
}

// announce sends the outcome of this process's election round the ring, and accepts it itself.
func (r *ring) announce(kind Kind, election ID, coordinator Process, list []string) {
	r.conclude()
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
		r.conclude()
	case !known:
	case coordinator.Name == r.self.Name && !r.candidate():
		r.algorithm.elect(Withdrawn)
	case r.candidate() && r.self.Outranks(coordinator):
		r.algorithm.elect(TwoCoordinators)
	case coordinator.Priority == 0: // on this roster it never coordinates: this roster is outdated
		r.pass(m)
	default:
		r.conclude()
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
