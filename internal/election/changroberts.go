package election

// changRoberts is the refined ring algorithm of seed 000 (Chang and Roberts 1979), on a unidirectional ring in the
// roster's order.
//
//  1. Pi initiates an election by sending ("elect me", Pi) along its out-edge.
//  2. Pj that receives ("elect me", Pi) sends one message: ("elect me", Pj) if its own priority is higher, else it forwards.
//  3. Only the highest-priority nonfailed process gets its own "elect me" back. It sends ("new coordinator", Phigh) round.
//  4. Who receives "new coordinator" abandons its own election and forwards; it ends at the one that sent it.
//  5. The control part of a failed process forwards whatever it receives.
//
// Assumes FIFO links, and no failure during an election. What the seed leaves open: a vanished process is skipped, and
// what it may have swallowed is sent again to the next (001: "each process knows its successor and the successor's
// successor"); an election that does not come round within (3n−1)·twc, twc ≤ T/2, is called anew; a process calls one
// election at a time, so a second lower "elect me" ends at it; recovering is initiating an election; a process that can
// not coordinate initiates with an "elect me" that names nobody. No message travels more than 2n links.
type changRoberts struct {
	*Machine
	election  ID
	strongest Message // the highest ELECT ME that went out in this election; sent again if the successor fails
	announced Message // the last NEW COORDINATOR that went out, likewise
}

func (c *changRoberts) recover() { c.elect(Started) }

func (c *changRoberts) elect(why Reason) { // rule 1
	if !c.holding() {
		c.call(why, c.self.Name)
	}
}

func (c *changRoberts) call(why Reason, initiator string) {
	c.election = c.begin(why, initiator)
	c.wait(AwaitAnnouncement, (3*len(c.ring)-1+1)/2)
	name := ""
	if c.candidate() {
		name = c.self.Name
	}
	c.strongest = Message{Kind: ElectMe, Election: c.election, Process: name, Hops: 2 * len(c.ring)}
	c.forward(c.strongest)
}

func (c *changRoberts) receive(_ Process, m Message) {
	if m.Hops <= 0 || m.Hops > 2*len(c.ring) {
		return
	}
	m.Hops--
	switch m.Kind {
	case ElectMe:
		c.onElectMe(m)
	case NewCoordinator:
		c.onNewCoordinator(m)
	}
}

func (c *changRoberts) onElectMe(m Message) {
	p, known := c.find(m.Process)
	switch {
	case m.Election.Initiator == c.self.Name: // rule 3, or a message of an earlier election
		if m.Election == c.election && c.electing {
			c.cameRound()
		}
	case m.Process != "" && !known: // its process has left the roster
	case c.candidate() && (m.Process == "" || c.self.Outranks(p)): // rule 2
		if !c.holding() {
			initiator, _ := c.find(m.Election.Initiator)
			c.call(c.asked(initiator), initiator.Name)
		}
	default: // rules 2 and 5
		if s, ok := c.find(c.strongest.Process); !ok || !s.Outranks(p) {
			c.strongest = m
		}
		c.forward(m)
	}
}

// cameRound is rule 3: every nonfailed process has seen this one's "elect me".
func (c *changRoberts) cameRound() {
	if !c.candidate() {
		return // nobody can coordinate: the timer calls the election anew
	}
	c.strongest = Message{}
	c.announced = Message{Kind: NewCoordinator, Election: c.election, Process: c.self.Name, Hops: 2 * len(c.ring)}
	c.forward(c.announced)
	c.coordinate(c.election)
}

func (c *changRoberts) onNewCoordinator(m Message) { // rule 4
	p, known := c.find(m.Process)
	switch {
	case !known || m.Election.Initiator != p.Name:
	case p.Name == c.self.Name: // round
		c.announced = Message{}
	case c.announced.Election == m.Election, !c.announcement(p, m.Election): // seen, or late
	case c.candidate() && c.self.Outranks(p):
		c.elect(TwoCoordinators)
	default:
		c.strongest = Message{}
		c.announced = m
		c.forward(m)
		c.follow(p, m.Election)
	}
}

func (c *changRoberts) timeout(t Timer) {
	if t == AwaitAnnouncement && c.electing {
		c.call(AnnouncementMissing, c.self.Name)
	}
}

// peerDown: what the failed successor may have swallowed goes to the next one. If the failed one is the candidate whom this
// process passed on, that election is over, and who takes part in it begins anew.
func (c *changRoberts) peerDown(p Process) {
	if c.announced.Process == p.Name {
		c.announced = Message{}
	}
	if c.strongest.Process == p.Name {
		c.strongest = Message{}
		if c.electing {
			c.call(CoordinatorUnreachable, c.self.Name)
			return
		}
	}
	if c.next(p.Name) != c.next(c.self.Name) {
		return // it was not the successor
	}
	for _, m := range [...]Message{c.strongest, c.announced} {
		if m.Kind != "" {
			c.forward(m)
		}
	}
}

// forward sends a message along the out-edge; a process that is alone in the ring gets it back at once.
func (c *changRoberts) forward(m Message) {
	successor := c.next(c.self.Name)
	if successor.Name != c.self.Name {
		c.send(successor, m)
	} else if m.Kind == ElectMe && m.Election == c.election {
		c.cameRound()
	}
}

// next is the first process after the given one in the ring that is not known to have vanished. A coordinator that is
// only suspected is not skipped: its control part may well forward.
func (c *changRoberts) next(name string) Process {
	at := c.place(name)
	for i := 1; i < len(c.ring); i++ {
		if q := c.ring[(at+i)%len(c.ring)]; !c.vanished(q) {
			return q
		}
	}
	return c.self
}

func (c *changRoberts) vanished(q Process) bool {
	return q.Name != c.self.Name && c.peers[q.Name].link == down
}

// links reach to the second live process after this one, and to those skipped on the way, which may come back.
func (c *changRoberts) links() []string {
	names, live := []string(nil), 0
	for _, q := range c.everyOther() {
		if names = append(names, q.Name); !c.vanished(q) {
			if live++; live == 2 {
				break
			}
		}
	}
	return names
}

func (c *changRoberts) watched() []string {
	if successor := c.next(c.self.Name); successor.Name != c.self.Name {
		return []string{successor.Name}
	}
	return nil
}
