package node

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// peers is what this process knows of the others beyond what the machines do.
type peers struct {
	silent     []string               // watched, and do not answer over an open link; sorted
	ended      []string               // our links to them were closed or refused last; sorted
	asked      uint64                 // sequence of the newest question
	followed   uint64                 // the same when this process began to follow its coordinator
	reach      lease.Reach            // that links were made for
	stale      bool                   // the links are to be looked at
	doubters   []string               // whom the failure detector asks for the algorithm's sake
	unanswered map[string]*unanswered // renewals of this leaseholder
	unheard    []string               // have not answered a process that finds no majority

	coordinator string // by the algorithm, when the links were looked at last
}

// fallSilent notes that a process does not answer.
func (p *peers) fallSilent(name string) {
	p.stale = true
	if i, known := slices.BinarySearch(p.silent, name); !known {
		p.silent = slices.Insert(p.silent, i, name)
	}
}

// unsilence notes that a process is not silent, and reports whether it was.
func (p *peers) unsilence(name string) bool {
	i, was := slices.BinarySearch(p.silent, name)
	if was {
		p.silent, p.stale = slices.Delete(p.silent, i, i+1), true
	}
	return was
}

// hasEnded notes whether our link to a process shows that it has ended.
func (p *peers) hasEnded(name string, ended bool) {
	i, known := slices.BinarySearch(p.ended, name)
	switch {
	case ended && !known:
		p.ended = slices.Insert(p.ended, i, name)
	case !ended && known:
		p.ended = slices.Delete(p.ended, i, i+1)
	}
}

// detect has the failure detector look at its clock: it asks those whom the algorithm watches, and
// suspects a coordinator that does not answer.
func (n *Node) detect() {
	finding := n.detector.Tick(n.now.Boot)
	for _, q := range finding.Ask {
		n.peers.asked = q.Sequence
		n.send(Message{
			Type:       Question,
			To:         q.Process,
			Sequence:   q.Sequence,
			Generation: n.roster.Generation,
		})
	}
	for _, name := range finding.Silent {
		n.fellSilent(name)
	}
	if finding.Suspect != "" {
		n.suspect(finding.Suspect)
	}
}

// fellSilent: a process does not answer though our link to it is open. The failure detector has
// found that, or a majority that does not hear the leaseholder (C8), which may be sooner: a ring
// would send that one its messages, and wait for T. Who finds it second says nothing new.
func (n *Node) fellSilent(name string) {
	if slices.Contains(n.peers.silent, name) && !n.election.Linked(name) {
		return
	}
	n.peers.fallSilent(name)
	n.note(Note{Type: Silent, Process: name})
	n.elect(election.Event{Type: election.PeerDown, Process: name})
}

// suspect: in a Guarded group the voters are asked before the election algorithm hears of it (C8).
func (n *Node) suspect(name string) {
	n.note(Note{Type: Suspects, Process: name})
	if n.guarded() {
		n.authorise(lease.Event{Type: lease.Suspected, Process: name})
		return
	}
	n.episode.begin(n.now.Boot)
	n.elect(election.Event{Type: election.Suspect, Process: name})
}

// appSuspects takes the app's word that the coordinator does not answer it: "a process P sends a
// request that is not answered by the coordinator" (002). In a Classic group that calls an
// election. In a Guarded group the voters are asked, and what they hear counts (C8).
func (n *Node) appSuspects(name string) {
	if n.roster == nil || name != n.coordinator() || name == n.self.Name {
		return
	}
	n.note(Note{Type: AppSuspected, Process: name})
	if n.guarded() {
		n.authorise(lease.Event{Type: lease.Doubted, Process: name})
		return
	}
	n.episode.begin(n.now.Boot)
	n.elect(election.Event{Type: election.Suspect, Process: name})
}

// heard takes a renewal of the leaseholder for a heartbeat of it; every says when the next is due.
func (n *Node) heard(name string, every time.Duration) {
	n.detector.Heard(name, every, n.now.Boot)
	if n.peers.unsilence(name) {
		n.elect(election.Event{Type: election.PeerUp, Process: name})
	}
}

// linkChanged hears of our link to a process.
func (n *Node) linkChanged(e *Event) {
	if n.roster == nil {
		return
	}
	switch e.Type {
	case LinkUp:
		n.peers.hasEnded(e.From, false)
		n.linkUp(e.From)
	case LinkDown:
		n.peers.hasEnded(e.From, !e.Unreachable)
		n.linkDown(e.From)
	case LinkDropped:
		n.peers.unsilence(e.From)
		n.elect(election.Event{Type: election.PeerUnlinked, Process: e.From})
	default:
	}
}

func (n *Node) linkUp(name string) {
	n.peers.unsilence(name)
	n.detector.Opened(name)
	if s := n.election.State(); s.Coordinator == name && !s.Electing {
		n.episode.cancel()
	}
	n.elect(election.Event{Type: election.PeerUp, Process: name})
	n.authorise(lease.Event{Type: lease.LinkUp, Process: name})
}

// linkDown: nothing more comes from that process on this link. That is evidence for suspicion.
func (n *Node) linkDown(name string) {
	n.peers.unsilence(name)
	n.waiting.forget(name)
	if name == n.election.State().Coordinator {
		n.episode.begin(n.now.Boot)
	}
	n.elect(election.Event{Type: election.PeerDown, Process: name})
	n.authorise(lease.Event{Type: lease.LinkDown, Process: name})
	n.detector.Closed(name, n.now.Boot)
}
