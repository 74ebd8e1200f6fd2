package sim

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// truth is what invariants of the algorithms remember of a run.
type truth struct {
	decisions map[election.ID]string // who was followed because of which announcement
	lastSent  Time                   // a message of an algorithm
	lastHeld  Time                   // a process began to hold an epoch
}

func (t *truth) begin() {
	if t.decisions == nil {
		t.decisions = map[election.ID]string{}
	}
	clear(t.decisions)
	t.lastSent, t.lastHeld = 0, 0
}

// countMessage counts what a process sends.
func (w *World) countMessage(p int32, m *node.Message) {
	switch m.Type {
	case node.Election:
		w.Messages++
		w.truth.lastSent = w.now
	case node.Question, node.Answer:
		w.Questions++
	case node.LeaseRequest, node.LeaseResponse:
		w.Requests++
	case node.RosterRequest, node.RosterReply:
	}
	if w.out != nil && m.Type != node.Question && m.Type != node.Answer {
		to := m.To
		if s, ok := m.ReplyTo.(*connection); ok {
			to = names[s.from]
		}
		w.tell("%s → %s  %s", names[p], to, describeMessage(m))
	}
}

// checkDecision checks what a step, perhaps with a new roster, has made of whom a process follows.
func (w *World) checkDecision(p int32, before *election.State, newRoster bool) {
	v := &w.processes[p]
	if v.node.Election() == nil {
		return
	}
	s := &v.seen
	if newRoster || s.Coordinator != before.Coordinator || s.Withdrawn != before.Withdrawn {
		w.checkCoordinator(p, s)
	}
	if s.Coordinator == "" && !s.Electing {
		w.fail("L1: %s follows nobody, and does not elect", v.name)
	}
	if s.Coordinator == "" ||
		s.Coordinator == before.Coordinator && s.Last.Decision == before.Last.Decision {
		return
	}
	if w.out != nil {
		w.tell("%s follows %s", v.name, s.Coordinator)
	}
	w.checkOneDecision(p, s)
}

// checkOneDecision: one announcement has one coordinator. Where a rogue forges announcements, it
// need not; nor in the active-list ring, where every process decides by its own list.
func (w *World) checkOneDecision(p int32, s *election.State) {
	id := s.Last.Decision
	if w.Rogue || id.Initiator == "" || w.Algorithm == "ActiveListRing" || w.Switch {
		return
	}
	if other, ok := w.truth.decisions[id]; ok && other != s.Coordinator {
		w.fail("one decision: %s follows %s by %s, another followed %s", names[p], s.Coordinator, id,
			other)
	}
	w.truth.decisions[id] = s.Coordinator
}
