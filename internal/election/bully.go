package election

// bully is the bully algorithm (seeds 000, 001, 002 section "The bully algorithm", 003;
// Garcia-Molina 1982).
//
//  1. P sends ELECTION to every process with a higher priority and waits T for an answer. It skips
//     the coordinator whose failure it has just detected, unless its link to that one is open.
//  2. If none answers within T, all higher processes have failed: P elects itself and sends
//     COORDINATOR to all lower processes.
//  3. If one answers, P waits T' for the COORDINATOR message. If it does not come, P starts again.
//  4. A process that receives ELECTION answers OK and calls its own election, unless it takes part
//     in one already, or has received COORDINATOR less than T ago. A coordinator that has no higher
//     process to ask calls none: after its OK it repeats COORDINATOR to the sender (rule 7).
//  5. A process that receives COORDINATOR records the new coordinator; a candidate does so only if
//     that ranks above it. To a COORDINATOR from below it replies with an election of its own: its
//     OK must have come too late, and "the coordinator is always the process with the largest
//     priority number" (002). The seeds do not say what happens then; recording it would leave the
//     group with a coordinator that is not the highest for as long as it runs. If there was another
//     announcement less than T ago, it asks the sender when T is over whom that follows, and then
//     replies (settling.go).
//  6. A process that recovers calls an election: the highest process takes over from a running
//     coordinator.
//  7. An election that is called while the coordinator runs is won by the coordinator (003).
//
// Rule 1 has an exception because the pages do not agree. By its text, every higher process is
// asked. In the example of 002 the process that missed P4 sends a request to P3 only, and P3, which
// missed nobody, asks P4; the figures of 004 for this algorithm (43 messages in 6.1, n−2 in 5.1.2)
// are reproduced only with this exception. A process whose link to the coordinator is open asks it
// all the same: it may live, and then "the coordinator will win the election" (003).
//
// Rule 4 says for how long an election counts as begun, which the pages do not. COORDINATOR reaches
// all lower processes within Ttrans. An ELECTION that one of them sends just before that is on its
// way for at most Ttrans more. So an ELECTION that comes within 2·Ttrans ≤ T after COORDINATOR may
// be of the election that is over, and its sender gets the same COORDINATOR. If each of these late
// messages started an election, n processes would need n³ messages and not n(n−1) (003). If the
// coordinator fails within that T, this process's own failure detector begins the election.
//
// Assumptions: every process knows the priority of every other, and a process that runs answers
// within T = 2·Ttrans + Tprocess. Where they do not hold (late messages, partitions), two processes
// may coordinate. T' is 2·T: the higher process's own wait for answers, and the travel of its
// announcement. A link that the peer's kernel closes or refuses counts as the end of T for that
// peer.
type bully struct {
	*Machine

	election ID
	awaited  []string // asked, and neither answered nor known to have failed
	answered []string // answered: one of them will announce itself
}

func (b *bully) recover() { // rule 6
	b.elect(Started)
}

func (b *bully) elect(why Reason) {
	if b.holding() {
		return
	}
	b.call(why, b.self.Name)
}

// call is rule 1. The highest process needs no answer (001). Other processes that are known to have
// failed are sent ELECTION as in the book, but not waited for.
func (b *bully) call(why Reason, initiator string) {
	b.election = b.begin(why, initiator)
	b.awaited, b.answered = b.awaited[:0], b.answered[:0]
	b.stop(AwaitAnnouncement)
	for q := range b.higher {
		if b.missed(q) {
			continue
		}
		b.send(q, Message{Kind: Election, Election: b.election})
		if b.peers[q.Name].link != down {
			b.awaited = append(b.awaited, q.Name)
		}
	}
	if len(b.awaited) == 0 {
		b.win()
		return
	}
	b.wait(AwaitAnswer, 1)
}

// missed reports whether q is the coordinator that this process has just missed and has no open
// link to.
func (b *bully) missed(q Process) bool {
	return q.Name == b.previous && b.peers[q.Name].crashed
}

func (b *bully) win() { // rule 2
	for q := range b.higher {
		b.crash(q)
	}
	if !b.candidate() {
		b.wait(AwaitAnnouncement, 2) // there is no candidate: ask again later
		return
	}
	for _, q := range b.lower() {
		b.send(q, Message{
			Kind:     Coordinator,
			Election: b.election,
			Process:  b.self.Name,
		})
	}
	b.coordinate(b.election)
	b.settle()
}

func (b *bully) receive(from Process, m Message) {
	switch m.Kind {
	case Election:
		b.onElection(from, m)
	case OK: // rule 3
		if m.Election == b.election && b.electing {
			b.awaited, b.answered = without(b.awaited, from.Name), append(without(b.answered,
				from.Name), from.Name)
			b.stop(AwaitAnswer)
			b.wait(AwaitAnnouncement, 2)
		}
	case Coordinator:
		b.onCoordinator(from, m)
	}
}

func (b *bully) onElection(from Process, m Message) { // rule 4
	why := b.joinReason(from)
	if !b.candidate() {
		return // do not answer, like a process that has failed
	}
	b.send(from, Message{Kind: OK, Election: m.Election})
	switch {
	case b.coordinator == b.self.Name && b.highest(): // rule 7
		b.send(from, Message{
			Kind:     Coordinator,
			Election: b.decision,
			Process:  b.self.Name,
		})
	case b.holding():
		b.gone(from.Name) // it asks this process, so it will not answer this process's ELECTION
	case b.justElected(from):
		b.uncounted++ // the OK is of an election that is over, and not of the next one
	default:
		b.call(why, m.Election.Initiator)
	}
}

// justElected reports whether an ELECTION of from may be of the election that has just ended, with
// a coordinator above this process to which the link is not down. The coordinator's own ELECTION is
// not: it has withdrawn.
func (b *bully) justElected(from Process) bool {
	c, known := b.find(b.coordinator)
	return b.settling.recent && known && c.Outranks(b.self) && from.Name != c.Name &&
		b.peers[c.Name].link != down
}

// highest reports whether no process above this one can answer.
func (b *bully) highest() bool {
	for q := range b.higher {
		if b.peers[q.Name].link != down {
			return false
		}
	}
	return true
}

func (b *bully) onCoordinator(from Process, m Message) { // rule 5
	switch {
	case m.Election.Initiator != from.Name || !b.announcement(m.Election):
	case b.candidate() && b.self.Outranks(from):
		if b.contest(from) {
			b.elect(TwoCoordinators)
		}
	case from.Priority == 0: // on this roster it never coordinates: this roster is outdated
	default:
		b.follow(from, m.Election)
		b.settle()
	}
}

func (b *bully) timeout(t Timer) {
	switch {
	case !b.electing:
	case t == AwaitAnswer:
		b.win()
	case t == AwaitAnnouncement: // rule 3: the processes that answered have failed since
		b.call(AnnouncementMissing, b.self.Name)
	}
}

func (b *bully) peerDown(p Process) {
	if b.electing {
		b.gone(p.Name)
	}
}

// gone handles that no answer will come from a process, and no announcement if it has answered.
func (b *bully) gone(name string) {
	before := len(b.awaited) + len(b.answered)
	b.awaited, b.answered = without(b.awaited, name), without(b.answered, name)
	if len(b.awaited)+len(b.answered) > 0 || before == 0 {
		return
	}
	b.stop(AwaitAnswer)
	b.win()
}

func (b *bully) peerUp(Process)    {}
func (b *bully) links() []string   { return b.otherNames() }
func (b *bully) watched() []string { return nil }
