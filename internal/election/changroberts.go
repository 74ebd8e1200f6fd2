package election

// changRoberts is the refined ring algorithm of seed 000 (Chang and Roberts 1979).
//
//  1. Pi initiates an election by sending ("elect me", Pi) along its out-edge.
//  2. Pj that receives ("elect me", Pi) sends one message: ("elect me", Pj) if its own priority is
//     higher, otherwise it forwards the message.
//  3. Only the highest-priority nonfailed process gets its own "elect me" back. It sends ("new
//     coordinator", Phigh) round.
//  4. A process that receives "new coordinator" abandons its own election.
//  5. The control part of a failed process forwards whatever it receives.
//
// Assumptions: FIFO links, and no failure during an election. The seed leaves some points open.
// Here, besides what ring does, an election that does not come round within (3n−1)·twc, twc ≤ T/2,
// is called again; a process calls one election at a time, so a second lower "elect me" ends at it;
// a process that recovers initiates an election; a process that cannot coordinate initiates with an
// "elect me" that names nobody.
type changRoberts struct {
	ring
	election ID
}

func (c *changRoberts) recover() { c.elect(Started) }

func (c *changRoberts) elect(why Reason) { // rule 1
	if !c.holding() {
		c.call(why, c.self.Name)
	}
}

func (c *changRoberts) call(why Reason, initiator string) {
	c.election = c.begin(why, initiator)
	c.wait(AwaitAnnouncement, (3*len(c.roster)-1+1)/2)
	candidate := ""
	if c.candidate() {
		candidate = c.self.Name
	}
	if !c.pass(Message{
		Kind:     ElectMe,
		Election: c.election,
		Process:  candidate,
		Hops:     c.travel(),
	}) {
		c.cameRound() // no other process is there
	}
}

func (c *changRoberts) receive(_ Process, m Message) {
	if !c.enter(&m, ElectMe, NewCoordinator) {
		return
	}
	switch m.Kind {
	case ElectMe:
		c.onElectMe(m)
	case NewCoordinator: // rule 4
		c.announced(m)
	}
}

func (c *changRoberts) onElectMe(m Message) {
	p, _ := c.find(m.Process)
	switch {
	case m.Election.Initiator == c.self.Name: // rule 3, or a message of an earlier election
		if m.Election == c.election && c.electing {
			c.cameRound()
		}
	case c.candidate() && (m.Process == "" || c.self.Outranks(p)): // rule 2
		if !c.holding() {
			initiator, _ := c.find(m.Election.Initiator)
			c.call(c.joinReason(initiator), initiator.Name)
		}
	default: // rules 2 and 5
		c.pass(m)
	}
}

// cameRound is rule 3: every nonfailed process has seen this one's "elect me".
func (c *changRoberts) cameRound() {
	if c.candidate() { // otherwise there is no candidate, and the timer calls the election again
		c.announce(NewCoordinator, c.election, c.self, nil)
	}
}

func (c *changRoberts) timeout(t Timer) {
	if t == AwaitAnnouncement && c.electing {
		c.call(AnnouncementMissing, c.self.Name)
	}
}

// peerDown handles a vanished process. If it is a candidate that this process let pass during an
// election, that candidate's election is over, and this process starts again.
func (c *changRoberts) peerDown(p Process) {
	gaveWay := c.electing && c.passedOn(p.Name)
	c.again(p)
	if gaveWay {
		c.call(CoordinatorUnreachable, c.self.Name)
	}
}

func (c *changRoberts) passedOn(candidate string) bool {
	for _, m := range c.outbox {
		if m.Kind == ElectMe && m.Process == candidate {
			return true
		}
	}
	return false
}
