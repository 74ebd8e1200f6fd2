package sim

import (
	"strconv"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// doom says how many of its messages a step still sends before its process crashes; −1: it does not
// crash. Some crashes are aimed at the moments that hazards name: the initiator (R2, M3), who holds
// the ring's message (R1), the winner before it announces itself (R3, R9), who has answered OK (B4,
// M4), a voter that grants (T5).
func (w *World) doom(p int32, e *node.Event, r *node.Ready, before *election.State) int {
	if w.calm || len(r.Messages) == 0 {
		return -1
	}
	after, first := &w.processes[p].seen, &r.Messages[0]
	switch {
	case first.Type == node.LeaseResponse:
		if w.VoterDies > 0 && first.Response.Granted && votes(first.Response.Kind) &&
			w.chance(w.VoterDies) {
			return w.rng.IntN(2)
		}
	case first.Type != node.Election:
	case w.chance(w.Doom):
		return w.rng.IntN(len(r.Messages) + 1)
	case w.Winner > 0 && after.Coordinator == names[p] && before.Coordinator != after.Coordinator &&
		w.chance(w.Winner):
		return w.rng.IntN(len(r.Messages))
	case w.Helper > 0 && first.Election.Kind == election.OK && w.chance(w.Helper):
		return 1
	case w.Initiator > 0 && after.Electing && !before.Electing && w.chance(w.Initiator):
		return len(r.Messages)
	case w.Holder > 0 && e.Type == node.Received && first.Election.Kind == e.Message.Election.Kind &&
		w.chance(w.Holder):
		return 0
	}
	return -1
}

// forge lets the rogue send whatever it likes; it cannot send under another name, nor from another
// run.
func (w *World) forge() {
	if w.rogue < 0 || w.processes[w.rogue].node == nil || w.processes[w.rogue].roster == nil {
		return
	}
	to := w.someone()
	l := w.pair(w.rogue, to)
	if to == w.rogue || l.connection == nil {
		return
	}
	m := node.Message{
		Type:      node.Election,
		To:        names[to],
		Algorithm: w.processes[w.rogue].roster.Algorithm,
	}
	if w.Guarded && w.rng.IntN(2) == 0 {
		m.Type, m.Request = node.LeaseRequest, w.forgedRequest()
	} else {
		m.Election = w.forged()
	}
	w.tell("%s → %s forged: %s", names[w.rogue], names[to], describeMessage(&m))
	w.send1(w.rogue, to, &m, w.arrival(l), l.connection)
}

var forgedKinds = [...]election.Kind{
	election.Election, election.OK, election.Coordinator, election.Request, election.StatusTable,
	election.Update,
	election.ElectMe, election.NewCoordinator, election.Elect, election.ElectNobody, election.Inquiry,
	election.Reply,
	election.View, "", "GARBAGE",
}

func (w *World) forged() election.Message {
	name := func() string {
		if w.rng.IntN(10) == 0 {
			return []string{"", "stranger-" + strconv.Itoa(w.rng.IntN(1000))}[w.rng.IntN(2)]
		}
		return names[w.someone()]
	}
	m := election.Message{
		Kind:    forgedKinds[w.rng.IntN(len(forgedKinds))],
		Process: name(),
		Hops:    w.rng.IntN(3*len(w.processes)) - 3,
		Election: election.ID{
			Initiator:   name(),
			Incarnation: uint64(w.rng.IntN(4)),
			Sequence:    uint64(w.rng.IntN(20)),
		},
	}
	if w.rng.IntN(2) == 0 {
		m.Election = w.processes[w.rogue].seen.Last.Decision
	}
	for range w.rng.IntN(12) {
		m.List = append(m.List, name())
		m.Table = append(m.Table, election.Entry{Name: name(), Status: [...]election.Status{
			election.Normal, election.Coordinates, election.Crashed, ""}[w.rng.IntN(4)]})
	}
	return m
}

var forgedRequests = [...]lease.Kind{lease.PreVote, lease.Vote, lease.Renew, lease.Vote,
	lease.StepDown, lease.Release,
	lease.Transfer, lease.TakeOver, "GARBAGE"}

// forgedRequest asks for a lease in the rogue's own name. It does not vote.
func (w *World) forgedRequest() lease.Request {
	r := w.processes[w.rogue].roster
	highest := w.oracle().highest.Ballot()
	ballot := [...]int64{0, 1, highest, highest + 1, lease.MaxBallot}[w.rng.IntN(5)]
	return lease.Request{
		Kind:  forgedRequests[w.rng.IntN(len(forgedRequests))],
		Group: r.Group,
		Epoch: lease.NewEpoch(r.Generation+int64(w.rng.IntN(3)-1), ballot),
		Round: w.rng.Uint64() | 1<<40,
		Lease: lease.Instant(w.rng.IntN(4000)-500) * 1_000_000,
		Heir:  names[w.someone()],
	}
}
