package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// unanswered is an election in which this process waits for answers, or has waited in vain. If one
// comes after that, T was too short, as it is when a process answers a question late.
type unanswered struct {
	called uint64        // the sequence of the election
	at     lease.Instant // when it was called; 0: there is none
	within time.Duration // the T in which no answer came
	late   string        // whose answer came after that; empty: nobody's yet
}

// noteCall notes in which election this process waits for answers.
func (n *Node) noteCall(out election.Output) {
	for _, op := range out.Timers {
		if op.Timer == election.AwaitAnswer && op.Wait > 0 && len(out.Messages) > 0 {
			n.asking = unanswered{
				called: out.Messages[0].Message.Election.Sequence,
				at:     n.now.Boot,
				within: n.detector.T(),
			}
		}
	}
}

// waitedInVain notes that the answers did not come in time. The oldest such election counts, since
// answers that take longer than an election come when others have been called. But it does not
// count for ever.
func (n *Node) waitedInVain() {
	if n.missed.at == 0 || n.missed.late != "" || n.now.Boot-n.missed.at > n.detector.Longest() {
		n.missed = n.asking
	}
}

// answersWaited handles that a link has opened: an answer may have waited for it. In a crowd it may
// be that of a process that was asked after others did not answer; it says nothing about those.
func (n *Node) answersWaited(from string) {
	if !n.election.Awaits(from) {
		n.asking, n.missed = unanswered{}, unanswered{}
	} else if n.asking.at != 0 {
		n.asking.at = n.now.Boot
	}
}

// learnFromLate lengthens T if a message of an election is a late answer. In a crowd, one of those
// that were asked last may be in time. Of an election the answers of two processes count: the
// second shows that it is not only one that is late.
func (n *Node) learnFromLate(from string, m *election.Message) {
	if n.missed.at == 0 || m.Kind == election.View || m.Election.Sequence != n.missed.called ||
		m.Election.Initiator != n.self.Name || m.Election.Incarnation != n.self.Number ||
		n.election.Awaits(from) || from == n.missed.late {
		return
	}
	n.detector.Late(from, n.now.Boot-n.missed.at, n.missed.within, n.now.Boot)
	if n.missed.late != "" {
		n.missed = unanswered{}
	} else {
		n.missed.late = from
	}
}
