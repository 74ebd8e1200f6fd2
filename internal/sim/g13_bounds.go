package sim

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// G13: memory and messages are bounded, and nothing panics (Run, and until in task.go).
//
// L1 begins here: an election under way has a time at which it ends.

// checkStep checks what a step asks for, and what it has made of the process.
func (w *World) checkStep(p int32, e *node.Event, r *node.Ready) {
	v := &w.processes[p]
	w.mix(uint64(p), uint64(e.Type))
	n := len(w.processes)
	// a write may have kept many waiting
	if most := 8*n + 8; e.Type != 0 && len(r.Messages) > most || len(r.Messages) > 2000 {
		w.fail("G13: one step of %s sends %d messages", v.name, len(r.Messages))
	}
	if w.Guarded && e.Type == node.Received && e.Message.Type == node.LeaseRequest {
		w.noteWord(p, &e.Message.Request, r)
	}
	// a RELEASE to itself: where it is alone on the roster, no message says so
	for i := range r.Notes {
		if note := &r.Notes[i]; note.Type == node.Releases && p != w.rogue {
			w.releases(p, v.name, v.number, note.Group, note.Epoch)
		}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		switch m.Type {
		case node.Election:
			w.checkElection(p, e, &m.Election)
		case node.LeaseRequest:
			w.checkRequest(p, m)
		case node.LeaseResponse:
			w.checkGrant(p, m)
		case node.Question, node.Answer, node.RosterRequest, node.RosterReply:
		}
	}
	if w.Guarded {
		w.checkHold(p, r.Permission)
	}
}

func (w *World) checkElection(p int32, e *node.Event, m *election.Message) {
	n := len(w.processes)
	if m.Hops < 0 || m.Hops > 2*n || max(len(m.List), len(m.Table)) > n+1 {
		w.fail("G13: %s sends %v", names[p], *m)
	}
	if in := &e.Message.Election; e.Type == node.Received && e.Message.Type == node.Election &&
		relays(m, in) &&
		m.Process != names[p] && m.Hops >= in.Hops {
		w.fail("G13: %s passes %v on as if it had not travelled", names[p], *m)
	}
}

// relays reports whether a ring's message is the one that came in.
func relays(out, in *election.Message) bool {
	return in.Hops > 0 && out.Hops > 0 && out.Kind == in.Kind && out.Election == in.Election &&
		out.Process == in.Process
}
