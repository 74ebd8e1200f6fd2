package node

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
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
	n.peers.electionReach, n.peers.doubters = n.election.Reach(), n.election.Doubters()
	links = append(links, n.peers.doubters...)
	coordinator := n.watchable(links)
	if coordinator != "" {
		links = append(links, coordinator)
	}
	n.detector.Watch(coordinator, append(n.election.Watched(), n.peers.silent...), n.peers.doubters)
	links = n.keepOpen(links)
	slices.Sort(links)
	if links = slices.Compact(links); !slices.Equal(links, n.links) || n.ready.Roster != nil {
		before := n.links
		n.links, n.ready.Relink, n.ready.Links = links, true, links
		n.unlinked(before)
	}
}

// unlinked has the process of a crowd forget what it knew of those to whom it links no more: a link
// that was down ends without a word, and one that is open is used no more.
func (n *Node) unlinked(before []string) {
	if !n.election.Crowd() {
		return
	}
	for _, name := range before {
		if !n.linksTo(name) {
			n.elect(election.Event{Type: election.PeerUnlinked, Process: name})
		}
	}
	if n.show() {
		n.ready.Changed = true
	}
}

// keepOpen adds the open links of a process of a crowd that has just started. While others start,
// too, each of them is among the highest for a moment; links to them that are given up would be
// made again.
func (n *Node) keepOpen(links []string) []string {
	if n.now.Boot >= n.peers.settled || !n.election.Crowd() {
		n.peers.settled = 0
		return links
	}
	for _, name := range n.links {
		if n.election.Linked(name) {
			links = append(links, name)
		}
	}
	return links
}

// linksTo reports whether this process wants a link to that one.
func (n *Node) linksTo(name string) bool {
	_, wanted := slices.BinarySearch(n.links, name)
	return wanted
}

// linksMayDiffer reports whether anything has happened since the last time that the links depend
// on. (In a Guarded group the view shows the leaseholder, also while the algorithm names nobody.)
func (n *Node) linksMayDiffer() bool {
	return n.peers.stale || n.ready.Changed || n.peers.turn.come(n.now.Boot) ||
		n.peers.coordinator != n.election.State().Coordinator ||
		n.peers.electionReach != n.election.Reach() ||
		n.peers.settled != 0 && n.now.Boot >= n.peers.settled ||
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

// awaitLinks has the failure detector wait for the links of a large group, where each bully links
// to all, or to the front, from the start. (On a ring the link to the coordinator is made when
// there is one.)
func (n *Node) awaitLinks(r *Roster) {
	if !election.IsBully(r.Algorithm) {
		return
	}
	elections, until := n.election, n.now.Boot+lease.LinksTake(len(r.Members))
	n.peers.settled = until
	n.detector.AwaitLinks(func(process string) bool {
		return n.now.Boot >= until || elections.LinkKnown(process)
	})
}

// A crowd may be too large for its machines: for two cores 100 processes are, and 20 are not. Where
// T proves too short there, it may become perProcess for each of them. (Not the T of the lease
// protocol, where it is the lease that adapts: LH10.) Rings, which wait for n times T, are left
// out.
const perProcess = 50 * time.Millisecond

// timing is the detector's form of the roster's timing.
func timing(r *Roster) detector.Timing {
	t := detector.Timing{Heartbeat: r.Heartbeat, Timeout: r.Timeout}
	if n := len(r.Members); n > election.Crowd && election.IsBully(r.Algorithm) {
		t.Crowded = max(time.Duration(n)*perProcess, t.Timeout)
	}
	return t
}
