package election

import "slices"

// ringList is the ring algorithm of seeds 001 and 003 (Tanenbaum): one message collects the list of
// live processes.
//
//  1. P thinks that the coordinator has crashed. It builds an ELECTION message with its own number
//     and sends it to its first live successor.
//  2. Each process adds its own number and forwards the message.
//  3. When the message returns to P, P sees its own number in the list and knows that the circuit
//     is complete.
//  4. P circulates a COORDINATOR message with the new highest number.
//  5. Two elections at once do no harm: both have the same result (003).
//
// Assumptions: every process knows the order of the ring, and faulty processes do not respond in a
// fixed amount of time and are skipped. The seeds leave some points open. Here, besides what ring
// does, an election that does not come round within 2n·twc, twc ≤ T/2, plus one T is called again;
// a process that was down starts an election when it comes back (001); a process that has withdrawn
// does not add its number.
type ringList struct {
	ring
	election ID
}

func (r *ringList) recover() { r.elect(Started) }

func (r *ringList) elect(why Reason) { // rule 1
	if !r.holding() {
		r.call(why)
	}
}

func (r *ringList) call(why Reason) {
	r.election = r.begin(why, r.self.Name)
	r.wait(AwaitAnnouncement, len(r.roster)+1)
	m := Message{
		Kind:     Election,
		Election: r.election,
		List:     r.withSelf(nil),
		Hops:     r.travel(),
	}
	if !r.pass(m) {
		r.complete(m.List) // no other process is there
	}
}

// withSelf returns the list with this process's number appended.
func (r *ringList) withSelf(list []string) []string {
	list = slices.Clone(list) // the message may be kept elsewhere
	if !r.withdrawn {
		list = append(list, r.self.Name)
	}
	return list
}

func (r *ringList) receive(_ Process, m Message) {
	if !r.enter(&m, Election, Coordinator) {
		return
	}
	switch {
	case m.Kind == Coordinator: // rule 4
		r.announced(m)
	case m.Election.Initiator != r.self.Name: // rule 2
		m.List = r.withSelf(m.List)
		r.pass(m)
	case m.Election == r.election && r.electing: // rule 3; else of an earlier election
		r.complete(m.List)
	}
}

func (r *ringList) complete(list []string) { // rules 3 and 4
	if r.withdrawn { // it may have withdrawn since it sent the message
		list = without(slices.Clone(list), r.self.Name)
	}
	// otherwise there is no candidate, and the timer calls the election again
	if high, ok := r.highest(list); ok {
		r.announce(Coordinator, r.election, high, list)
	}
}

func (r *ringList) timeout(t Timer) {
	if t == AwaitAnnouncement && r.electing {
		r.call(AnnouncementMissing)
	}
}

func (r *ringList) peerDown(p Process) { r.again(p) }
