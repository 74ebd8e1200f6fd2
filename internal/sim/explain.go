package sim

import (
	"fmt"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// What a transcript of a run says.

func describeMessage(m *node.Message) string {
	switch m.Type {
	case node.Election:
		return describeElection(&m.Election)
	case node.Question:
		return fmt.Sprintf("question %d", m.Sequence)
	case node.Answer:
		return fmt.Sprintf("answer %d: follows %q", m.Sequence, m.Follows)
	case node.RosterRequest:
		return "roster, please"
	case node.RosterReply:
		return fmt.Sprintf("roster of generation %d", m.Roster.Generation)
	case node.LeaseRequest:
		q := &m.Request
		return fmt.Sprintf("%s %s %s round %d lease %v heir %q", q.Kind, q.Group, q.Epoch, q.Round,
			q.Lease, q.Heir)
	case node.LeaseResponse:
		v := &m.Response
		return fmt.Sprintf("%s %s round %d: %t, generation %d, highest %s, %q holds %s for %v, heard "+
			"%t, candidate %t", v.Kind,
			v.Epoch, v.Round, v.Granted, v.Generation, v.Highest, v.Holder, v.HolderEpoch, v.Remaining,
			v.Heard, v.Candidate)
	}
	return "?"
}

func describeElection(m *election.Message) string {
	if m.Election.Initiator == "" {
		return Describe(m)
	}
	return fmt.Sprintf("%s  [%s]", Describe(m), m.Election)
}

// Describe writes a message of an election as a transcript shows it.
func Describe(m *election.Message) string {
	var b strings.Builder
	b.WriteString(string(m.Kind))
	if m.Process != "" {
		b.WriteString(" " + m.Process)
	}
	if len(m.List) > 0 {
		fmt.Fprintf(&b, " %v", m.List)
	}
	for _, e := range m.Table {
		fmt.Fprintf(&b, " %s:%s", e.Name, e.Status)
	}
	return b.String()
}

// tellLost says that a message does not arrive.
func (w *World) tellLost(p, q int32, m *node.Message, why string) {
	if w.out != nil && m.Type != node.Question && m.Type != node.Answer {
		w.tell("%s ✗ %s  %s  (%s)", names[p], names[q], describeMessage(m), why)
	}
}

// tellStep says what a process hears, and what a Ready notes.
func (w *World) tellStep(p int32, e *node.Event, r *node.Ready) {
	if e.Type == node.Received && e.Message.Type != node.Question && e.Message.Type != node.Answer {
		w.tell("%s ← %s  %s", names[p], e.From, describeMessage(&e.Message))
	}
	if r.Revoke {
		w.tell("%s revokes the permission", names[p])
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		switch n.Type {
		case node.Suspects, node.Silent:
			w.tell("%s suspects %s", names[p], n.Process)
		case node.TimedOut:
			w.tell("%s waited in vain (%s)", names[p], n.Timer)
		case node.Releases:
			w.tell("%s releases %s", names[p], n.Epoch)
		case node.OldRoster:
			w.tell("%s passes over a roster: it has used the generation %s", names[p], n.Epoch)
		default:
		}
	}
}
