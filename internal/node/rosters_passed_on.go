package node

import "github.com/podesta-dev/podesta/internal/lease"

// MC9. Passing on. The manager tells a roster to the agents that it reaches, and may end in
// between. Then some voters use a newer generation than others, and neither part has a majority. So
// every question, answer, lease request and lease response says which generation its sender uses,
// and who hears of a newer one asks for it, at most once a heartbeat, the process that uses it; if
// several say so, they take turns, because one may lie. That one answers with the roster as the
// manager signed it. It counts as if the manager had sent it: a roster is persisted before any
// agent is told (MC1), so it may be used, and acknowledged (MC4).
//
// A roster that was passed on does not end this process's part in the group: that it is on no
// roster any more is for the manager to say. A static group has no manager, nothing that is signed,
// and passes nothing on.
//
// Who may be believed: nobody. The driver hands over only what the manager has signed, for this
// very group object; an older one, or the same, changes nothing.

// passing is what this process knows of rosters that are newer than its own.
type passing struct {
	from   string        // who uses one, and was asked for it last; empty: nobody
	other  string        // who said meanwhile that it uses one, too: it is asked next
	asked  lease.Instant // when
	awaits bool          // its answer is not there yet; a request has one answer
	// when each process was last given our roster, which is large: at most once a heartbeat
	given map[string]lease.Instant
}

// compare learns which generation another process uses, and asks for its roster if that is newer.
func (n *Node) compare(from string, generation int64) {
	if generation <= max(n.roster.Generation, n.refused) {
		return
	}
	n.ready.Behind = true
	p := &n.passing
	if !n.config.Managed || p.from != "" && n.now.Boot < p.asked+n.roster.Heartbeat {
		if from != p.from {
			p.other = from
		}
		return
	}
	if from == p.from && p.other != "" {
		from = p.other
	}
	p.from, p.other, p.asked, p.awaits = from, "", n.now.Boot, true
	n.peers.stale = true // a link to it is needed, until the roster is there
	n.send(Message{Type: RosterRequest, To: from})
}

// Awaits reports whether a roster that this process passes on is what the node has asked it for.
// Only then its signature is worth checking: a member that lies has one checked a heartbeat.
func (n *Node) Awaits(from string) bool {
	return n.roster != nil && n.passing.awaits && n.passing.from == from
}

// rosterRequested gives another process the roster in use.
func (n *Node) rosterRequested(e *Event) {
	last, ok := n.passing.given[e.From]
	if !n.config.Managed || ok && n.now.Boot < last+n.roster.Heartbeat {
		return
	}
	if n.passing.given == nil {
		n.passing.given = map[string]lease.Instant{}
	}
	n.passing.given[e.From] = n.now.Boot
	n.send(Message{
		Type:    RosterReply,
		To:      e.From,
		ReplyTo: e.Message.ReplyTo,
		Roster:  n.roster,
	})
}

// rosterPassedOn takes a roster that another process has passed on. An answer without a roster is
// one that nobody has signed.
func (n *Node) rosterPassedOn(e *Event) {
	if !n.Awaits(e.From) {
		return
	}
	n.passing.awaits = false
	r := e.Message.Roster
	if r == nil || r.Group != n.roster.Group || !r.has(n.self.Name, n.self.UID) {
		return
	}
	n.rosterReceived(r)
}
