package node

import "slices"

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
	coordinator := n.peers.coordinator
	if coordinator == n.self.Name {
		coordinator = ""
	}
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
	return n.peers.stale || n.ready.Changed ||
		n.peers.coordinator != n.election.State().Coordinator ||
		!slices.Equal(n.peers.doubters, n.election.Doubters()) ||
		n.guarded() && n.peers.reach != n.lease.Reach()
}
