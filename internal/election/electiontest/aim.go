package electiontest

import "github.com/podesta-dev/podesta/internal/election"

// doom says how many of its messages a step still sends before its process crashes; -1: it does not crash. Some crashes are
// aimed at the moments that hazards name: the initiator (R2, M3), who holds the ring's message (R1), the winner before it
// announces itself (R3, R9), who has answered OK (B4, M4).
func (s *Simulator) doom(p int32, before election.State, e *election.Event, out election.Output) int {
	if s.calm || len(out.Messages) == 0 {
		return -1
	}
	after := s.nodes[p].machine.State()
	switch {
	case s.chance(s.Doom):
		return s.rng.IntN(len(out.Messages) + 1)
	case s.Winner > 0 && after.Coordinator == s.nodes[p].name && before.Coordinator != after.Coordinator && s.chance(s.Winner):
		return s.rng.IntN(len(out.Messages))
	case s.Helper > 0 && out.Messages[0].Message.Kind == election.OK && s.chance(s.Helper):
		return 1
	case s.Initiator > 0 && after.Electing && !before.Electing && s.chance(s.Initiator):
		return len(out.Messages)
	case s.Holder > 0 && e.Type == election.Receive && out.Messages[0].Message.Kind == e.Message.Kind && s.chance(s.Holder):
		return 0
	}
	return -1
}

// forge lets the rogue send whatever it likes; it cannot send under another name, nor from another life.
func (s *Simulator) forge() {
	if s.rogue < 0 || s.nodes[s.rogue].machine == nil {
		return
	}
	to := s.someone()
	if to == s.rogue {
		return
	}
	if s.Guarded && s.rng.IntN(2) == 0 {
		s.forgeRequest(to)
		return
	}
	m := s.forged()
	s.sequence++
	if s.observe != nil {
		s.observe(Event{At: s.now, Kind: Sent, Process: s.nodes[s.rogue].name, Peer: s.nodes[to].name, Message: m, Sequence: s.sequence, Note: "forged"})
	}
	t := s.post(s.arrival(s.pair(s.rogue, to)), s.rogue, to, &m, s.sequence)
	s.stamp(t)
}

var forgedKinds = [...]election.Kind{
	election.Election, election.OK, election.Coordinator, election.Request, election.StatusTable, election.Update, election.ElectMe,
	election.NewCoordinator, election.Elect, election.ElectNobody, election.Inquiry, election.Reply, election.View, "", "GARBAGE",
}

func (s *Simulator) forged() election.Message {
	name := func() string {
		if s.rng.IntN(10) == 0 {
			return []string{"", "P99"}[s.rng.IntN(2)]
		}
		return s.nodes[s.someone()].name
	}
	m := election.Message{
		Kind: forgedKinds[s.rng.IntN(len(forgedKinds))], Process: name(), Hops: s.rng.IntN(3*len(s.nodes)) - 3,
		Election: election.ID{Initiator: name(), Incarnation: uint64(s.rng.IntN(4)), Sequence: uint64(s.rng.IntN(20))},
	}
	if s.rng.IntN(2) == 0 {
		m.Election = s.nodes[s.rogue].machine.State().Last.Decision
	}
	for range s.rng.IntN(12) {
		m.List = append(m.List, name())
		m.Table = append(m.Table, election.Entry{Name: name(), Status: [...]election.Status{
			election.Normal, election.Coordinates, election.Crashed, ""}[s.rng.IntN(4)]})
	}
	return m
}
