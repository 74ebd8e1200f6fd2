package agent

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/transport"
)

// carryOut does what the node says, in the order that package node prescribes.
func (a *agent) carryOut(r *node.Ready) {
	if r.Revoke {
		a.Ledger.grant(lease.Permission{})
	}
	a.follow(r)
	if r.Write != nil {
		a.write(*r.Write)
	}
	if r.Relink {
		a.Links.Link(union(a.links, r.Links))
	}
	for i := range r.Messages {
		a.send(&r.Messages[i])
	}
	if r.Relink {
		a.links = slices.Clone(r.Links)
		a.keepUnlinked()
		a.Links.Link(a.links)
	}
	a.Ledger.grant(r.Permission)
	if m := a.node.Lease(); m != nil {
		a.Meter.lease.Set(m.Asks().Seconds())
	}
	a.log(r.Notes)
	if r.Changed {
		a.publish()
	}
	if r.Behind && a.Behind != nil {
		a.Behind()
	}
	a.next, a.left = r.Next, a.left || r.Left
	if r.Revoke { // the Ready is not valid any more after this
		a.told()
	}
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// send hands a message to the links. A reply goes back on the stream that its request came on.
func (a *agent) send(m *node.Message) {
	switch m.Type {
	case node.Election:
		a.Links.Send(m.To, m.Algorithm, m.Sequence, m.Election)
		a.Meter.messagesSent.inc(m.Election.Kind)
	case node.Question:
		a.Links.Ask(m.To, m.Sequence, m.Generation)
		a.Meter.questionsSent.Inc()
	case node.Answer:
		if answer, ok := m.ReplyTo.(func(string, int64)); ok {
			answer(m.Follows, m.Generation)
		}
		a.Meter.answersSent.Inc()
	case node.LeaseRequest:
		a.Links.Request(m.To, m.Request)
		a.Meter.requestsSent.inc(m.Request.Kind)
		if m.Request.Kind == lease.Renew {
			a.renewals.sent(m.Request.Round, a.now.Boot)
		}
	case node.LeaseResponse:
		if respond, ok := m.ReplyTo.(func(lease.Response)); ok {
			respond(m.Response)
		}
		a.Meter.responsesSent.inc(m.Response.Granted)
	case node.RosterRequest:
		a.Links.RequestRoster(m.To)
	case node.RosterReply:
		if answer, ok := m.ReplyTo.(func([]byte)); ok && len(a.inUse.Signed) > 0 {
			answer(a.inUse.Signed)
		}
	}
}

// hear brings the node an event of the links.
func (a *agent) hear(e transport.Event) {
	switch e := e.(type) {
	case transport.Up:
		a.Meter.linked(e.Name, true)
		a.step(node.Event{Type: node.LinkUp, From: e.Name})
		a.isLinked(e.Name)
	case transport.Down:
		a.Meter.linked(e.Name, false)
		down := node.LinkDown
		if e.Evidence == transport.Dropped {
			down = node.LinkDropped
		}
		a.step(node.Event{
			Type: down,
			From: e.Name,
			Unreachable: e.Evidence == transport.Unreachable ||
				e.Evidence == transport.Rejected,
		})
	case transport.Received:
		a.Meter.messagesReceived.inc(e.Message.Kind)
		a.receive(e.From, "", e.Incarnation, node.Message{
			Type:      node.Election,
			Algorithm: e.Algorithm,
			Sequence:  e.Sequence,
			Election:  e.Message,
		})
	case transport.Asked:
		a.receive(e.From, "", e.Incarnation, node.Message{
			Type:       node.Question,
			Generation: e.Generation,
			ReplyTo:    e.Answer,
		})
	case transport.Answered:
		a.Meter.answered(e.From, e.Coordinator)
		a.receive(e.From, "", 0, node.Message{
			Type:       node.Answer,
			Sequence:   e.Sequence,
			Generation: e.Generation,
			Follows:    e.Coordinator,
		})
	case transport.LeaseRequested:
		a.receive(e.From, e.StateID, e.Incarnation, node.Message{
			Type:    node.LeaseRequest,
			Request: e.Request,
			ReplyTo: e.Answer,
		})
	case transport.LeaseResponded:
		a.receive(e.From, e.StateID, e.Incarnation, node.Message{
			Type:     node.LeaseResponse,
			Response: e.Response,
		})
		a.measure(e.Response)
	case transport.RosterRequested:
		a.receive(e.From, "", 0, node.Message{Type: node.RosterRequest, ReplyTo: e.Answer})
	case transport.RosterReceived:
		a.passedOn(e.From, e.Signed)
	case transport.Unlinked:
		a.isUnlinked(e)
	case transport.Outnumbered:
		a.outnumbered = &OutnumberedError{By: e.By, Own: a.Incarnation, Latest: e.Incarnation}
	}
}

func (a *agent) receive(from, stateID string, incarnation uint64, m node.Message) {
	a.step(node.Event{
		Type:        node.Received,
		From:        from,
		StateID:     stateID,
		Incarnation: incarnation,
		Message:     m,
	})
}

// measure takes the time of a grant that has just been handled.
func (a *agent) measure(r lease.Response) {
	if r.Kind != lease.Renew || !r.Granted {
		return
	}
	if took, known := a.renewals.took(r.Round, a.now.Boot); known {
		a.Meter.renewal.Observe(took.Seconds())
	}
}
