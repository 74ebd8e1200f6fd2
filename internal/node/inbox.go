package node

import (
	"cmp"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// The election algorithm nominates, the lease protocol authorises. What one of the two says that
// concerns the other lies in the inbox of the other until it has finished its own step, so neither
// calls the other, and each event is dealt with before the next one: the lease protocol first,
// since what it knows wins over nominations (F1).

// inbox holds what the two machines have yet to hear. It is empty between two Steps.
type inbox struct {
	election []election.Event
	lease    []lease.Event
	open     bool // somebody empties it already
}

// elect gives an event to the election algorithm.
func (n *Node) elect(e election.Event) {
	n.inbox.election = append(n.inbox.election, e)
	n.drain()
}

// authorise gives an event to the lease protocol. In a Classic group, and in none, it hears only of
// the disk and of the app, about what an earlier Guarded group of this run has left.
func (n *Node) authorise(e lease.Event) {
	left := e.Type == lease.Told || e.Type == lease.Persisted || e.Type == lease.WriteFailed
	if n.lease != nil && (n.guarded() || left) {
		n.inbox.lease = append(n.inbox.lease, e)
		n.drain()
	}
}

// drain empties the inboxes.
func (n *Node) drain() {
	if n.inbox.open {
		return
	}
	n.inbox.open = true
	for {
		if len(n.inbox.lease) > 0 {
			e := n.inbox.lease[0]
			n.inbox.lease = slices.Delete(n.inbox.lease, 0, 1)
			n.stepLease(e)
			continue
		}
		if len(n.inbox.election) == 0 {
			break
		}
		e := n.inbox.election[0]
		n.inbox.election = slices.Delete(n.inbox.election, 0, 1)
		if n.election != nil {
			n.stepElection(e)
		}
	}
	n.inbox.open = false
}

// stepElection has the election algorithm take an event, and carries out what it says.
func (n *Node) stepElection(e election.Event) {
	if !n.concernsElection(&e) {
		return
	}
	n.stirred, n.tableStale = true, true
	before := n.election.State()
	out := n.election.Step(e)
	after := n.election.State()
	if after.Electing || after.Coordinator == "" {
		n.episode.begin(n.now.Boot)
	}
	n.setAlarms(out.Timers)
	for i := range out.Messages {
		n.say(out.Messages[i].To, out.Messages[i].Message)
	}
	n.elected(before, after)
	n.nominate(after)
}

// concernsElection is F5: while this process knows who holds the lease, or is about to, what others
// say of elections must not reach the election algorithm, or a leaseholder that is not the highest
// would be bullied for ever. Nor does a message reach it that names a process which is not on the
// roster. Such messages wait. One with a list or table that is longer than the roster is dropped.
// But the algorithm notes at once which incarnation has spoken.
func (n *Node) concernsElection(e *election.Event) bool {
	led := n.guarded() && n.lease.IgnoresElections()
	switch e.Type {
	case election.Answered:
		return !led
	case election.Receive:
	default:
		return true
	}
	switch m := &e.Message; {
	case max(len(m.List), len(m.Table)) > len(n.roster.Members):
	case led:
		n.waiting.add(*e, n.now.Boot)
	case !n.roster.names(m.Process) || !n.roster.names(m.Election.Initiator):
		n.early.add(*e, n.now.Boot)
	default:
		return true
	}
	e.Message = election.Message{}
	return true
}

// elected notes the outcome of an election: in a Guarded group that is a nomination only.
func (n *Node) elected(before, after election.State) {
	decided := after.Last.Decision != before.Last.Decision ||
		after.Coordinator != before.Coordinator && after.Coordinator != ""
	if !decided {
		return
	}
	n.episode.account, n.peers.followed = after.Last, n.peers.asked
	if !n.guarded() {
		n.follows(after.Coordinator, 0)
	}
}

// nominate tells the lease protocol whom the election algorithm names now; nobody while it elects.
func (n *Node) nominate(s election.State) {
	if s.Electing {
		s.Coordinator = ""
	}
	if n.guarded() && s.Coordinator != n.nominated {
		n.nominated = s.Coordinator
		n.authorise(lease.Event{Type: lease.Nominated, Process: n.nominated})
	}
}

// stepLease has the lease protocol take an event, and carries out what it says.
func (n *Node) stepLease(e lease.Event) {
	e.Now = n.now
	if n.detector != nil {
		e.T = n.detector.T()
	}
	n.stirred = true
	led := n.lease.IgnoresElections()
	out := n.lease.Step(e)
	if !led && n.guarded() && n.lease.IgnoresElections() { // F5
		n.elect(election.Event{Type: election.Led})
	}
	if out.Delay != nil {
		epoch, _, _ := n.lease.Permission() // n.holds is set later in the step that takes the lease
		n.note(Note{Type: Delayed, Epoch: cmp.Or(n.holds, epoch), Delay: out.Delay})
	}
	if out.Revoke {
		n.ready.Revoke = true
		n.note(Note{Type: Revoked, Epoch: n.holds})
		n.holds, n.tableStale = 0, true
		n.keepUnheard()
	}
	if out.Version != 0 {
		n.writes.changeState(out.Version)
	}
	for _, r := range out.Replies {
		n.send(Message{
			Type:     LeaseResponse,
			To:       r.To,
			ReplyTo:  r.ReplyTo,
			Response: r.Response,
		})
	}
	if r := out.Release; r != nil {
		n.note(Note{
			Type:  Releases,
			Epoch: r.Epoch,
			Group: r.Group,
		})
	}
	for _, r := range out.Requests {
		if r.Request.Kind == lease.Renew {
			n.renewed(r.To)
		}
		n.send(Message{
			Type:    LeaseRequest,
			To:      r.To,
			Request: r.Request,
		})
	}
	if out.Heard != "" {
		n.heard(out.Heard, out.HeardEvery)
	}
	if n.guarded() && !n.lease.IgnoresElections() {
		n.inbox.election = n.waiting.take(n.inbox.election, n.now.Boot, n.patience())
	}
	if out.Silent != "" && n.election.Linked(out.Silent) {
		n.fellSilent(out.Silent)
	}
	if out.Suspect != "" {
		n.elect(election.Event{Type: election.Suspect, Process: out.Suspect})
	}
	if out.Appoint != "" {
		n.elect(election.Event{
			Type:        election.Appoint,
			Process:     out.Appoint,
			Predecessor: out.Predecessor,
		})
	}
	n.rest() // after it has named its heir, a process calls no election
}

func (n *Node) send(m Message) { n.ready.Messages = append(n.ready.Messages, m) }
