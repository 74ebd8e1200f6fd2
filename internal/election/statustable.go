package election

// statusTableBully is the election algorithm of seed 004 (Basu 2011): a bully algorithm in which a
// process reads its process status table. The numbers are the seed's sections.
//
//	4    The process that misses the coordinator asks one process only, the one just below the
//	     failed coordinator.
//	4.1  A process that receives ELECTION answers OK, and sends COORDINATOR to all other live
//	     processes below it.
//	4.2  If no OK comes within T, the process asked has failed, too. The next one below is asked;
//	     if none is left, the initiator itself takes charge.
//	4    A process that recovers holds no election. It sends REQUEST to a live neighbour and gets
//	     the process status table.
//	4.3  If the coordinator's priority is higher than its own, it sends UPDATE to all others. They
//	     change its status from CRASHED to NORMAL, even if their links to it are not open yet.
//	4.4  If its own priority is higher, it sends COORDINATOR to all others and takes over.
//	1    When the system is initialised, the process with the highest priority is the coordinator.
//
// Assumptions: no message is lost, and every table is correct. An outdated table costs a chain of
// timeouts, and two tables that differ may elect two coordinators. The seed leaves some points
// open. Here the neighbours are asked in ring order; after an OK without the COORDINATOR that
// belongs to it, the initiator starts again after T' = 2·T; a process that already coordinates when
// it is asked repeats its announcement to the sender; and to a COORDINATOR from below a candidate
// replies with an election of its own. Less than T after another announcement it first asks the
// sender, when that T is over, whom it follows (settling.go).
//
// In two points this differs from the seed, which assumes that silence is failure and that nothing
// fails during a recovery:
//
//   - Section 4: a process whose link to the suspected coordinator is open asks that one first. It
//     may live, and asking the next one would make a second coordinator. If it is dead, that costs
//     one message and T.
//   - Section 7, "when a failed process recovers then it must not initiate any election": it does
//     if there is no coordinator to follow. The table names one that its own link shows dead; or no
//     announcement comes within T' of a table that names none, because the neighbour was electing.
//     A process that no neighbour answers takes charge.
type statusTableBully struct {
	*Machine

	election   ID
	asking     string // the process that was sent ELECTION and has not announced itself
	unlinked   bool   // the link to it was down then
	neighbour  string // the process that was sent REQUEST and has not answered
	recovering bool
}

func (s *statusTableBully) recover() {
	s.recovering, s.neighbour, s.asking = true, "", ""
	s.election = s.begin(Started, s.self.Name)
	s.request()
}

// request asks the next live neighbour for its table. A process without one is alone.
func (s *statusTableBully) request() {
	for _, q := range s.neighbours(s.neighbour) {
		if s.peers[q.Name].link != down {
			s.neighbour = q.Name
			s.send(q, Message{Kind: Request, Election: s.election})
			s.wait(AwaitAnswer, 1)
			return
		}
	}
	s.neighbour = ""
	s.takeCharge(s.others())
}

// neighbours returns the processes after the given one in ring order, up to this process; after ""
// all others.
func (s *statusTableBully) neighbours(after string) []Process {
	others := s.others()
	for i, q := range others {
		if q.Name == after {
			return others[i+1:]
		}
	}
	return others
}

func (s *statusTableBully) onTable(m Message) {
	s.recovering, s.neighbour = false, ""
	s.stop(AwaitAnswer)
	coordinator := s.copyTable(m.Table)
	switch {
	// the neighbour takes part in an election, whose outcome will be announced
	case coordinator.Name == "":
		s.wait(AwaitAnnouncement, 2)
	case coordinator.Name == s.self.Name, s.candidate() && s.self.Outranks(coordinator): // 4.4
		s.takeCharge(s.others())
	case !s.alive(coordinator):
		s.askHighest()
	default: // 4.3
		for _, q := range s.others() {
			s.send(q, Message{Kind: Update, Election: s.election})
		}
		s.follow(coordinator, s.election)
	}
}

// copyTable copies a neighbour's table, except where this process's own links contradict it, and
// returns the coordinator.
func (s *statusTableBully) copyTable(table []Entry) (coordinator Process) {
	for _, e := range table {
		q, ok := s.find(e.Name)
		if !ok {
			continue
		}
		if e.Status == Coordinates && q.Priority > 0 {
			coordinator = q
		}
		if q.Name != s.self.Name && s.peers[q.Name].link == unknown {
			s.peers[q.Name].crashed = e.Status == Crashed
		}
	}
	return coordinator
}

func (s *statusTableBully) elect(why Reason) {
	if s.holding() {
		return
	}
	s.election = s.begin(why, s.self.Name)
	s.askHighest()
}

// askHighest is section 4: it sends ELECTION to the highest process that the table shows alive. If
// that is this process itself, it takes charge.
func (s *statusTableBully) askHighest() {
	for q := range s.higher {
		if s.alive(q) {
			s.asking, s.unlinked = q.Name, s.peers[q.Name].link == down
			s.send(q, Message{Kind: Election, Election: s.election})
			s.wait(AwaitAnswer, 1)
			return
		}
	}
	s.takeCharge(s.live(s.lower()))
}

// takeCharge makes this process the coordinator and announces it to the given processes.
func (s *statusTableBully) takeCharge(tell []Process) {
	s.asking, s.recovering = "", false
	if !s.candidate() {
		s.wait(AwaitAnnouncement, 2) // there is no candidate: ask again later
		return
	}
	for _, q := range tell {
		s.send(q, Message{
			Kind:     Coordinator,
			Election: s.election,
			Process:  s.self.Name,
		})
	}
	s.coordinate(s.election)
	s.settle()
}

func (s *statusTableBully) receive(from Process, m Message) {
	switch m.Kind {
	case Election:
		s.onElection(from, m)
	case OK:
		if m.Election == s.election && s.electing && from.Name == s.asking {
			s.stop(AwaitAnswer)
			s.wait(AwaitAnnouncement, 2)
		}
	case Coordinator:
		s.onCoordinator(from, m)
	case Request:
		if p := s.peers[from.Name]; p.link == down {
			p.request = m.Election
		}
		s.answer(from, m.Election)
	case StatusTable:
		if s.recovering && m.Election == s.election {
			s.onTable(m)
		}
	case Update:
		s.onUpdate(from, m)
	}
}

// onUpdate is 4.3. With an open link, every message shows that its sender lives; if the link is
// down, only an UPDATE from a later incarnation than the one that was lost does.
func (s *statusTableBully) onUpdate(from Process, m Message) {
	p := s.peers[from.Name]
	if m.Election.Initiator == from.Name && m.Election.Incarnation > p.lost {
		p.crashed = false
	}
}

func (s *statusTableBully) onElection(from Process, m Message) { // 4.1
	why := s.joinReason(from)
	if !s.candidate() {
		return // do not answer, like a process that has failed
	}
	s.send(from, Message{Kind: OK, Election: m.Election})
	if s.coordinator == s.self.Name {
		s.send(from, Message{
			Kind:     Coordinator,
			Election: s.decision,
			Process:  s.self.Name,
		})
		return
	}
	s.recovering = false
	s.election = s.begin(why, m.Election.Initiator)
	tell := s.live(s.lower())
	if from.Outranks(s.self) { // it has withdrawn: "all other live processes" (6.1)
		tell = append(tell, from)
	}
	s.takeCharge(tell)
}

func (s *statusTableBully) onCoordinator(from Process, m Message) {
	switch {
	case m.Election.Initiator != from.Name || !s.announcement(m.Election):
	case s.candidate() && s.self.Outranks(from):
		if s.contest(from) {
			s.elect(TwoCoordinators)
		}
	case from.Priority == 0: // on this roster it never coordinates: this roster is outdated
	default:
		s.recovering = false
		s.follow(from, m.Election)
	}
}

func (s *statusTableBully) timeout(t Timer) {
	switch {
	case !s.electing:
	case t == AwaitAnswer && s.recovering:
		s.unanswered(s.neighbour)
		s.request()
	case t == AwaitAnswer: // 4.2
		s.unanswered(s.asking)
		s.askHighest()
	case t == AwaitAnnouncement:
		s.recovering = false
		s.election = s.begin(AnnouncementMissing, s.self.Name)
		s.askHighest()
	}
}

func (s *statusTableBully) unanswered(name string) {
	if q, ok := s.find(name); ok {
		s.crash(q)
	}
}

func (s *statusTableBully) peerDown(p Process) {
	s.peers[p.Name].lost, s.peers[p.Name].request = s.peers[p.Name].incarnation, ID{}
	switch {
	case !s.electing:
	case s.recovering && p.Name == s.neighbour:
		s.request()
	case p.Name == s.asking: // 4.2
		s.stop(AwaitAnnouncement)
		s.askHighest()
	}
}

// peerUp repeats what this process sent to one that recovers while its own link to it was still
// down, because that was lost: the answer to a REQUEST, or ELECTION.
func (s *statusTableBully) peerUp(p Process) {
	if request := s.peers[p.Name].request; request != (ID{}) {
		s.peers[p.Name].request = ID{}
		s.answer(p, request)
	}
	if s.electing && s.unlinked && p.Name == s.asking {
		s.askHighest()
	}
}

// answer sends the answer to a REQUEST.
func (s *statusTableBully) answer(to Process, request ID) {
	s.send(to, Message{
		Kind:     StatusTable,
		Election: request,
		Table:    s.table(),
	})
}

// table returns the answer to a REQUEST. A process that is starting itself only knows the
// convention (section 1) that the highest process coordinates.
func (s *statusTableBully) table() []Entry {
	table := s.AppendTable(nil)
	if !s.recovering {
		return table
	}
	for _, q := range s.ranked {
		if q.Priority > 0 && s.alive(q) {
			table[s.place(q.Name)].Status = Coordinates
			break
		}
	}
	return table
}

func (s *statusTableBully) links() []string   { return s.otherNames() }
func (s *statusTableBully) watched() []string { return nil }
