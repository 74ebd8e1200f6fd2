package node

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// turn is when this process of a Classic group makes a link to a coordinator that it only watches
// (hazard R13). Where an algorithm has no links to everybody, everybody else needs one to each new
// coordinator, and the handshake of a link costs more than the messages of the election. So these
// links are made one after the other, within a heartbeat, in the order in which the news goes round
// the ring. Until then the processes before the coordinator in the ring, which have links to it,
// watch it.
//
// In a Guarded group all make it at once. Others ask each process whether it hears the leaseholder
// (V9), and without a link it would not know that the leaseholder has ended.
type turn struct {
	coordinator string
	at          lease.Instant // 0: nobody is waited for
}

// come reports whether the time has come.
func (t turn) come(now lease.Instant) bool { return t.at != 0 && now >= t.at }

// relink says whom to keep a link to, and has the failure detector watch whom the algorithm depends
// on. A process that fell silent on an open link is asked on, to learn when a cut has healed.
func (n *Node) relink() {
	if n.roster == nil || !n.linksMayDiffer() {
		return
	}
	n.peers.stale, n.peers.coordinator = false, n.election.State().Coordinator
	links := append(n.election.Links(), n.peers.silent...)
	if n.passing.from != "" {
		links = append(links, n.passing.from)
	}
	if n.guarded() {
		n.peers.reach = n.lease.Reach()
		links = append(links, n.lease.Links()...)
	}
	n.peers.doubters = n.election.Doubters()
	links = append(links, n.peers.doubters...)
	coordinator := n.watchable(links)
	if coordinator != "" {
		links = append(links, coordinator)
	}
	n.detector.Watch(coordinator, append(n.election.Watched(), n.peers.silent...), n.peers.doubters)
	slices.Sort(links)
	if links = slices.Compact(links); !slices.Equal(links, n.links) || n.ready.Roster != nil {
		n.links, n.ready.Relink, n.ready.Links = links, true, links
	}
}

// linksMayDiffer reports whether anything has happened since the last time that the links depend
// on. (In a Guarded group the view shows the leaseholder, also while the algorithm names nobody.)
func (n *Node) linksMayDiffer() bool {
	return n.peers.stale || n.ready.Changed || n.peers.turn.come(n.now.Boot) ||
		n.peers.coordinator != n.election.State().Coordinator ||
		!slices.Equal(n.peers.doubters, n.election.Doubters()) ||
		n.guarded() && n.peers.reach != n.lease.Reach()
}

// watchable returns the coordinator, unless that is this process itself, or a process to which it
// needs a link for nothing else, has none, and whose turn has not come.
func (n *Node) watchable(needed []string) string {
	c := n.peers.coordinator
	if c == n.self.Name {
		c = ""
	}
	if c == "" || n.guarded() || slices.Contains(needed, c) || slices.Contains(n.links, c) {
		n.peers.turn = turn{}
		return c
	}
	if n.peers.turn.coordinator != c || n.peers.turn.at > n.now.Boot+n.roster.Heartbeat {
		members := time.Duration(len(n.roster.Members))
		n.peers.turn = turn{c,
			n.now.Boot + n.roster.Heartbeat*time.Duration(n.election.Distance(c))/members}
	}
	if !n.peers.turn.come(n.now.Boot) {
		return ""
	}
	n.peers.turn = turn{}
	return c
}
