package election

// bully is the bully algorithm (seeds 000, 001, 002 section "The bully algorithm", 003;
// Garcia-Molina 1982).
//
//  1. P sends ELECTION to every process with a higher priority and waits T for an answer. It skips
//     the coordinator whose failure it has just detected, unless its link to that one is open. In a
//     group of more than 40 processes it asks the highest first (front.go).
//  2. If none answers within T, all higher processes have failed: P elects itself and sends
//     COORDINATOR to all lower processes.
//  3. If one answers, P waits T' for the COORDINATOR message. If it does not come, P starts again.
//  4. A process that receives ELECTION answers OK and calls its own election, unless it takes part
//     in one already, or has received COORDINATOR less than T ago (or earlier, while the links of a
//     large group are being made and that to the coordinator is open). A coordinator that has no
//     higher process to ask calls none: after its OK it repeats COORDINATOR to the sender (rule 7).
//  5. A process that receives COORDINATOR records the new coordinator; a candidate does so only if
//     that ranks above it. To a COORDINATOR from below it replies with an election of its own: its
//     OK must have come too late, and "the coordinator is always the process with the largest
//     priority number" (002). The seeds do not say what happens then; recording it would leave the
//     group with a coordinator that is not the highest for as long as it runs. If there was another
//     announcement less than T ago, it asks the sender when T is over whom that follows, and then
//     replies (settling.go). While the links of a large group are being made, a process does not
//     record a COORDINATOR from below its coordinator either: the sender has yet to hear of it.
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
// peer. front.go says what of this is otherwise in a crowd.
type bully struct {
	settling

	election ID
	asked    Process  // the lowest in this election, or in the last one, that was asked or passed over
	awaited  []string // asked, and neither answered nor known to have failed
	answered []string // answered: one of them will announce itself
	callers  []string // in a crowd: have asked this process
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

// call is rule 1. The highest process needs no answer (001).
func (b *bully) call(why Reason, initiator string) {
	b.election = b.begin(why, initiator)
	b.asked, b.answered = Process{}, b.answered[:0]
	b.ask()
}

// ask asks the processes above this one, in a crowd the next of them. If nobody is left, all have
// failed (rule 2).
func (b *bully) ask() {
	b.awaited = b.awaited[:0]
	b.stop(AwaitAnnouncement)
	b.sendElection()
	if len(b.awaited) == 0 {
		b.win()
		return
	}
	b.wait(AwaitAnswer, 1)
}

// sendElection sends ELECTION. Other processes that are known to have failed are sent it as in the
// book, but not waited for.
func (b *bully) sendElection() {
	for q := range b.higher {
		if b.hasAsked(q) {
			continue
		}
		if len(b.awaited) > 0 && b.opensBlock(q) {
			return
		}
		b.asked = q
		if b.missed(q) {
			continue
		}
		b.send(q, Message{Kind: Election, Election: b.election})
		if b.mayAnswer(q) {
			b.awaited = append(b.awaited, q.Name)
		}
	}
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
	b.forgetPartners()
	switch m.Kind {
	case Election:
		b.onElection(from, m)
	case OK: // rule 3
		if m.Election == b.election && b.electing {
			b.awaited, b.answered = without(b.awaited, from.Name), append(without(b.answered,
				from.Name), from.Name)
			b.stop(AwaitAnswer)
			b.wait(AwaitAnnouncement, 2+b.blocksBefore(from))
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
	b.calledBy(from)
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
		b.linger()
	default:
		b.call(why, m.Election.Initiator)
	}
}

// justElected reports whether an ELECTION of from may be of the election that has just ended, with
// a coordinator above this process, or of one of those before it while a large group makes its
// links. The coordinator's own ELECTION is not: it has withdrawn.
func (b *bully) justElected(from Process) bool {
	c, known := b.find(b.coordinator)
	return known && c.Outranks(b.self) && from.Name != c.Name && b.stands() &&
		(b.recent || b.forming())
}

// stands reports whether nothing speaks against the coordinator, which is another process: the link
// to it is open, or neither open nor down and it announced itself less than T ago.
func (b *bully) stands() bool {
	p := b.peers[b.coordinator]
	return p != nil && (p.link == up || p.link == unknown && b.recent)
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
	case b.knowsBetter(from) && b.forming():
		b.contest(from)
	default:
		b.follow(from, m.Election)
		b.settle()
	}
}

// knowsBetter reports whether this process follows one above the sender of a COORDINATOR.
func (b *bully) knowsBetter(from Process) bool {
	c, known := b.find(b.coordinator)
	return known && c.Outranks(from) && b.stands()
}

func (b *bully) timeout(t Timer) {
	switch {
	case t == AwaitStragglers:
		b.settled()
		b.forgetPartners()
	case !b.electing:
	case t == AwaitAnswer && b.awaitsLinks():
		b.awaitAgain()
	case t == AwaitAnswer:
		b.askOn()
	case t == AwaitAnnouncement: // rule 3: the processes that answered have failed since
		b.call(AnnouncementMissing, b.self.Name)
	}
}

func (b *bully) peerDown(p Process) {
	if b.electing && (!b.starting() || !b.awaits(p.Name)) {
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
	b.askOn()
}

// askOn handles that nobody who was asked answers. In a crowd others may be left.
func (b *bully) askOn() {
	if b.crowd() {
		b.ask()
		return
	}
	b.win()
}

func (b *bully) watched() []string { return nil }
