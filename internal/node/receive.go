package node

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// received hands a message to the machine that it is for.
func (n *Node) received(e *Event) {
	if n.roster == nil {
		return
	}
	switch e.Message.Type {
	case Election:
		n.receivedElection(e)
	case Question:
		n.compare(e.From, e.Message.Generation)
		n.send(Message{
			Type:       Answer,
			To:         e.From,
			ReplyTo:    e.Message.ReplyTo,
			Sequence:   e.Message.Sequence,
			Generation: n.roster.Generation,
			Follows:    n.coordinator(),
		})
	case Answer:
		n.compare(e.From, e.Message.Generation)
		n.receivedAnswer(e)
	case LeaseRequest:
		n.compare(e.From, e.Message.Request.Epoch.Generation())
		if from, ok := n.incarnation(e); ok {
			n.authorise(lease.Event{
				Type:    lease.Requested,
				From:    from,
				Request: e.Message.Request,
				ReplyTo: e.Message.ReplyTo,
			})
		}
	case LeaseResponse:
		n.compare(e.From, e.Message.Response.Generation)
		n.answeredRenewal(e.From)
		if from, ok := n.incarnation(e); ok {
			n.authorise(lease.Event{
				Type:     lease.Responded,
				From:     from,
				Response: e.Message.Response,
			})
		}
	case RosterRequest:
		n.rosterRequested(e)
	case RosterReply:
		n.rosterPassedOn(e)
	}
}

// receivedElection takes a message of an election. One of another algorithm than ours is of a
// roster that this process or the sender has yet to get; timeouts make up for it.
func (n *Node) receivedElection(e *Event) {
	m := &e.Message.Election
	if e.Message.Algorithm != n.roster.Algorithm {
		return
	}
	opens := !n.episode.open()
	if m.Kind != election.View {
		n.episode.begin(n.now.Boot)
	}
	n.hear(e)
	n.elect(election.Event{
		Type:        election.Receive,
		Process:     e.From,
		Incarnation: e.Incarnation,
		Message:     *m,
	})
	if s := n.election.State(); opens && s.Coordinator != "" && !s.Electing {
		n.episode.cancel() // it changed nothing here
	}
}

// receivedAnswer takes an answer to a question. A coordinator that follows another process is as
// good as gone, even if it lives: it withdrew, or it restarted unnoticed. One that follows nobody
// takes part in an election, and may be about to win it. An answer to a question of before this
// process followed it says nothing.
func (n *Node) receivedAnswer(e *Event) {
	n.detector.Answered(e.From, e.Message.Sequence, n.now.Boot)
	if slices.Contains(n.peers.silent, e.From) {
		n.linkUp(e.From)
	}
	if e.Message.Follows == e.From {
		n.detector.Opened(e.From)
	}
	if e.Message.Sequence <= n.peers.followed {
		return
	}
	switch e.Message.Follows {
	case e.From:
	case "":
		n.detector.Electing(e.From, n.now.Boot)
	default:
		n.detector.Closed(e.From, n.now.Boot)
	}
	n.elect(election.Event{
		Type:    election.Answered,
		Process: e.From,
		Message: election.Message{Process: e.Message.Follows},
	})
}

// coordinator is whom this process names to others. A leaseholder is sure of itself, whoever is
// being nominated.
func (n *Node) coordinator() string {
	if n.holds != 0 {
		return n.self.Name
	}
	return n.election.State().Coordinator
}

// incarnation is the sender of a message of the lease protocol. The link has seen to it that it is
// the pod which the roster names; state directory and number are what the sender says of itself.
func (n *Node) incarnation(e *Event) (lease.Incarnation, bool) {
	m, ok := n.roster.find(e.From)
	return lease.Incarnation{
		Name:    e.From,
		UID:     m.UID,
		StateID: e.StateID,
		Number:  e.Incarnation,
	}, ok
}
