package election

// leLann is the basic ring algorithm of seed 000 (Le Lann 1977).
//
//  1. Pi initiates an election by sending ("elect me", Pi) along its out-edge.
//  2. Pj that receives it sends ("elect me", Pj) of its own, and forwards ("elect me", Pi)
//     immediately after its own.
//  3. So ("elect me", Pi) comes back to Pi after all the others. Pi elects the highest priority it
//     has seen, and sends ("new coordinator", Phigh) along the ring to inform all processes.
//  4. The control part of a failed process forwards whatever it receives.
//
// Assumptions: FIFO links, and no failure during an election; then two elections in parallel have
// the same result. The seed leaves some points open. Here, besides what ring does, every "elect me"
// names the election it belongs to, so that a process answers once in each; it ends at the
// initiator of that election, which absorbs it; an election that does not come round within 2n·twc,
// twc ≤ T/2, plus one T is called again; a process that recovers initiates an election; a process
// that has withdrawn initiates with an "elect me" that names nobody, and does not answer.
type leLann struct {
	ring
	election  ID
	own       string   // the process that this process's "elect me" named
	collected []string // the names seen in its own election
}

func (l *leLann) recover() { l.elect(Started) }

func (l *leLann) elect(why Reason) { // rule 1
	if !l.holding() {
		l.call(why)
	}
}

func (l *leLann) call(why Reason) {
	l.election = l.begin(why, l.self.Name)
	if l.own, l.collected = l.self.Name, l.collected[:0]; l.withdrawn {
		l.own = ""
	}
	l.wait(AwaitAnnouncement, len(l.roster)+1)
	if !l.pass(Message{
		Kind:     ElectMe,
		Election: l.election,
		Process:  l.own,
		Hops:     l.travel(),
	}) {
		l.decide() // no other process is there
	}
}

func (l *leLann) receive(_ Process, m Message) {
	if !l.enter(&m, ElectMe, NewCoordinator) {
		return
	}
	switch {
	case m.Kind == NewCoordinator:
		l.announced(m)
	case m.Election.Initiator == l.self.Name: // rule 3
		l.collect(m)
	default: // rule 2
		own := Message{
			Kind:     ElectMe,
			Election: m.Election,
			Process:  l.self.Name,
			Hops:     l.travel(),
		}
		if !l.withdrawn && !l.passed(own) {
			l.pass(own)
		}
		l.pass(m)
	}
}

// collect is rule 3. Messages of an earlier election of this process are dropped.
func (l *leLann) collect(m Message) {
	switch {
	case m.Election != l.election || !l.electing:
	case m.Process == l.own:
		l.decide()
	case len(l.collected) < l.travel():
		l.collected = append(l.collected, m.Process)
	}
}

func (l *leLann) decide() {
	if l.candidate() {
		l.collected = append(l.collected, l.self.Name)
	}
	// otherwise there is no candidate, and the timer calls the election again
	if high, ok := l.highest(l.collected); ok {
		l.announce(NewCoordinator, l.election, high, nil)
	}
}

func (l *leLann) timeout(t Timer) {
	if t == AwaitAnnouncement && l.electing {
		l.call(AnnouncementMissing)
	}
}

// peerDown makes sure that a candidate that was collected and has vanished is not elected.
func (l *leLann) peerDown(p Process) {
	l.collected = without(l.collected, p.Name)
	l.again(p)
}
