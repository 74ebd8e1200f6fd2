package election

import "slices"

// ring is what the ring algorithms share: a unidirectional ring in the roster's order.
//
// A vanished process is skipped ("instead of sending to process j, send to j + 1", 003); each process keeps links to its next
// two live successors ("its successor and the successor's successor", 001). What went out in an election under way is kept,
// and sent again to the next process when the successor vanishes; so a message passes a process once, and what has passed
// is not heard again. No message travels more than 2n links. A suspected coordinator is not skipped: "the control part of a
// failed process continues to function" (000).
type ring struct {
	*Machine
	outbox []Message       // what went out and may have been swallowed by the successor, oldest first
	trips  map[string]trip // by initiator: what has passed here of its newest election
	noted  int             // the roster that trips belongs to
}

// trip is one initiator's newest election, as far as it has passed here.
type trip struct {
	election ID
	passed   []mark
}

// mark tells the messages of one election apart.
type mark struct {
	kind    Kind
	process string
}

// travel is how many links a message may travel.
func (r *ring) travel() int { return 2 * len(r.roster) }

// enter takes a message off the in-edge. It reports false for one that has come too far or has passed here before.
func (r *ring) enter(m *Message) bool {
	if m.Hops <= 0 || m.Hops > r.travel() {
		return false
	}
	m.Hops--
	ours := m.Election.Initiator == r.self.Name || m.Process == r.self.Name
	return ours || !r.passed(*m)
}

// passed notes that a message passes, and reports whether it has passed before. An earlier election of the same initiator has.
// A ring believes its relays (what a message says of its initiator, nobody can check), until the roster changes: then whoever
// lied may be gone, and what was noted is forgotten.
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

// pass sends a message along the out-edge. It reports false if this process is alone in the ring.
func (r *ring) pass(m Message) bool {
	if len(r.outbox) >= r.travel() {
		r.outbox = slices.Delete(r.outbox, 0, 1)
	}
	r.outbox = append(r.outbox, m)
	return r.emit(m)
}

func (r *ring) emit(m Message) bool {
	successor := r.next(r.self.Name)
	if successor.Name == r.self.Name {
		return false
	}
	r.send(successor, m)
	return true
}

// again forgets what names a vanished process, which can win nothing any more, and if that was the successor sends the rest
// to the next one.
func (r *ring) again(vanished Process) {
	r.outbox = slices.DeleteFunc(r.outbox, func(m Message) bool {
		return m.Process == vanished.Name || m.Election.Initiator == vanished.Name
	})
	if r.next(vanished.Name) != r.next(r.self.Name) {
		return // it was not the successor
	}
	for _, m := range r.outbox {
		r.emit(m)
	}
}

// peerUp: a process that came back may have called an election before this one could reach it: its messages went past it.
// If it is the successor now, it gets them.
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

// announce sends the outcome of this process's election round the ring, and takes it for true itself.
func (r *ring) announce(kind Kind, election ID, coordinator Process, list []string) {
	r.outbox = r.outbox[:0]
	r.pass(Message{Kind: kind, Election: election, Process: coordinator.Name, List: list, Hops: r.travel()})
	r.accept(coordinator, election)
}

func (r *ring) accept(coordinator Process, election ID) {
	if coordinator.Name == r.self.Name {
		r.coordinate(election)
	} else {
		r.follow(coordinator, election)
	}
}

// announced handles the outcome of another process's election: it is recorded and forwarded, and ends at its initiator. One
// that is wrong about this process ends here, and this process calls an election.
func (r *ring) announced(m Message) {
	coordinator, known := r.find(m.Process)
	switch {
	case m.Election.Initiator == r.self.Name: // it has come round
		r.outbox = r.outbox[:0]
	case !known:
	case coordinator.Name == r.self.Name && !r.candidate():
		r.algorithm.elect(Withdrawn)
	case r.candidate() && r.self.Outranks(coordinator):
		r.algorithm.elect(TwoCoordinators)
	case coordinator.Priority == 0: // by this roster it never coordinates: a newer one will tell
		r.pass(m)
	default:
		r.outbox = r.outbox[:0]
		r.pass(m)
		r.accept(coordinator, m.Election)
	}
}

// next is the first process after the given one in the ring that is not known to have vanished.
func (r *ring) next(name string) Process {
	at := r.place(name)
	for i := 1; i < len(r.roster); i++ {
		if q := r.roster[(at+i)%len(r.roster)]; !r.vanished(q) {
			return q
		}
	}
	return r.self
}

func (r *ring) vanished(q Process) bool {
	return q.Name != r.self.Name && r.peers[q.Name].link == down
}

// links reach to the second live process after this one, and to those skipped on the way, which may come back.
func (r *ring) links() []string {
	names, live := []string(nil), 0
	for _, q := range r.everyOther() {
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

// highest is the highest candidate among names; ok is false if there is none.
func (r *ring) highest(names []string) (best Process, ok bool) {
	for _, name := range names {
		if q, known := r.find(name); known && q.Priority > 0 && (!ok || q.Outranks(best)) {
			best, ok = q, true
		}
	}
	return best, ok
}
