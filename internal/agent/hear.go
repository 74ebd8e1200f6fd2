package agent

import (
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/transport"
)

// hear handles an event of the links.
func (a *agent) hear(e transport.Event) {
	if a.gate == nil {
		return
	}
	switch e := e.(type) {
	case transport.Up:
		a.up(e.Name)
	case transport.Down:
		a.down(e)
	case transport.Received:
		a.received(e)
	case transport.Asked:
		e.Answer(a.follows())
		a.Meter.answers.Inc()
	case transport.Answered:
		a.answered(e)
	case transport.LeaseRequested:
		a.requested(e)
	case transport.LeaseResponded:
		a.decidedOn(e)
	}
}

// follows is whom this process names to who asks: whoever holds is sure of itself, whatever is being nominated.
func (a *agent) follows() string {
	if a.acts != 0 {
		return a.Self
	}
	return a.gate.Machine.State().Coordinator
}

func (a *agent) up(name string) {
	delete(a.silent, name)
	a.detector.Opened(name)
	if s := a.gate.Machine.State(); s.Coordinator == name && !s.Electing {
		a.episode.cancel()
	}
	a.gate.Elect(election.Event{Type: election.PeerUp, Process: name})
}

// down: whatever the evidence, nothing more comes from that process on this link; only a link that we ended ourselves says
// nothing. It is evidence for suspicion.
func (a *agent) down(e transport.Down) {
	delete(a.silent, e.Name)
	if e.Evidence == transport.Dropped {
		a.gate.Elect(election.Event{Type: election.PeerUnlinked, Process: e.Name})
		return
	}
	now := time.Now()
	if e.Name == a.gate.Machine.State().Coordinator {
		a.episode.begin(now)
	}
	a.gate.Elect(election.Event{Type: election.PeerDown, Process: e.Name})
	a.gate.Authorise(lease.Event{Type: lease.Unlinked, Process: e.Name})
	a.detector.Closed(e.Name, a.gate.Machine.Rank(), now)
}

// received: a message of another algorithm than the one in use is of a roster that this process, or the sender, has not got
// yet; timeouts make up for it.
func (a *agent) received(e transport.Received) {
	if e.Algorithm != a.Roster.Algorithm {
		return
	}
	opens := !a.episode.open()
	if e.Message.Kind != election.View {
		now := time.Now()
		a.episode.begin(now)
		a.episode.record(now, e.From, a.Self, e.Message)
	}
	a.gate.Elect(election.Event{Type: election.Receive, Process: e.From, Incarnation: e.Incarnation, Message: e.Message})
	if s := a.gate.Machine.State(); opens && s.Coordinator != "" && !s.Electing {
		a.episode.cancel() // it changed nothing here
	}
}

// answered: a coordinator that says it is none is as good as gone, even if it lives (it withdrew, or it restarted unnoticed). An
// answer to a question of before this process followed it says nothing.
func (a *agent) answered(e transport.Answered) {
	now := time.Now()
	a.detector.Answered(e.From, e.Sequence, now)
	if a.silent[e.From] {
		a.up(e.From)
	}
	if e.Coordinator == e.From {
		a.detector.Opened(e.From)
	}
	if e.Sequence <= a.followed {
		return
	}
	if e.Coordinator != e.From {
		a.detector.Closed(e.From, a.gate.Machine.Rank(), now)
	}
	a.gate.Elect(election.Event{Type: election.Answered, Process: e.From, Message: election.Message{Process: e.Coordinator}})
}

// timing is the detector's form of the roster's timing.
func (a *agent) timing() detector.Timing {
	return detector.Timing{Heartbeat: a.Roster.Heartbeat, Timeout: a.Roster.Timeout}
}
