package node

import "github.com/podesta-dev/podesta/internal/lease"

// exit stops taking part. What the app was told still runs, and is remembered by the lease
// protocol.
func (n *Node) exit() {
	if n.roster == nil {
		return
	}
	n.stirred, n.called = true, n.election.Called()
	n.early = waiting{}
	n.election, n.detector = nil, nil // what ends in the lease protocol nominates nobody any more
	n.authorise(lease.Event{Type: lease.RosterChanged})
	n.note(Note{Type: Exits})
	n.roster = nil
	n.inbox.election, n.nominated, n.alarms = n.inbox.election[:0], "", alarms{}
	n.peers = peers{}
	n.episode.cancel()
	n.links, n.ready.Roster, n.ready.Exited = nil, nil, true
}
