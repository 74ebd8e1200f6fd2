package node

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// In a Guarded group every process answers the leaseholder's renewals. So the leaseholder knows
// which processes stand still, also those that no algorithm asks anything. A process that finds no
// majority knows it of the voters that did not answer its last pre-vote. That is for the view only:
// the two machines do not hear of it.

// unanswered are the renewals that a process has not answered.
type unanswered struct {
	since    lease.Instant // when the oldest was sent, or when this process stood still after that
	renewals int
	silent   bool // for so long that the process counts as not answering
	answers  bool // it has answered, and is not silent since
}

// missedRenewals is how many renewals in a row are missing at least.
const missedRenewals = 2

// renewed notes that a renewal is sent to a process.
func (n *Node) renewed(name string) {
	u := n.peers.unanswered[name]
	if u == nil {
		if n.peers.unanswered == nil {
			n.peers.unanswered = map[string]*unanswered{}
		}
		u = &unanswered{}
		n.peers.unanswered[name] = u
	}
	if u.renewals == 0 {
		u.since = n.now.Boot
	}
	late := n.now.Boot-u.since >= n.detector.T()+missedRenewals*n.roster.Heartbeat
	if !u.silent && late && u.renewals >= missedRenewals {
		u.silent, u.answers, n.tableStale, n.stirred = true, false, true, true
	}
	u.renewals++
}

// answeredRenewal notes that a process answers.
func (n *Node) answeredRenewal(name string) {
	if u := n.peers.unanswered[name]; u != nil {
		n.tableStale, n.stirred = n.tableStale || !u.answers, n.stirred || !u.answers
		*u = unanswered{answers: true}
	}
}

// forgiveSilence counts anew if this process itself stood still: answers may lie unread.
func (n *Node) forgiveSilence(late time.Duration) {
	if late <= n.T()/2 {
		return
	}
	for _, u := range n.peers.unanswered {
		if !u.silent {
			u.renewals = 0
		}
	}
}

// ignoresRenewals reports whether a process does not answer this leaseholder.
func (n *Node) ignoresRenewals(name string) bool {
	u := n.peers.unanswered[name]
	return u != nil && u.silent
}

// answersRenewals reports whether a process answers this leaseholder over an open link. A process
// that is no candidate does not answer an ELECTION, as if it had failed, but it answers renewals.
func (n *Node) answersRenewals(name string) bool {
	u := n.peers.unanswered[name]
	return u != nil && u.answers && n.election.Linked(name)
}

// keepUnheard keeps the processes that did not answer this leaseholder when its lease is over.
func (n *Node) keepUnheard() {
	n.peers.unheard = n.peers.unheard[:0]
	for name, u := range n.peers.unanswered {
		if u.silent {
			n.peers.unheard = append(n.peers.unheard, name)
		}
	}
	n.peers.unanswered = nil
}

// missVoters notes which voters have not answered when a pre-vote has found no majority. They count
// as not answering until the next one is over, or somebody leads.
func (n *Node) missVoters(leads bool) {
	was := slices.Clone(n.peers.unheard)
	if names, over := n.lease.AppendUnheard(n.peers.unheard[:0]); over {
		n.peers.unheard = names
	}
	if leads {
		n.peers.unheard = n.peers.unheard[:0]
	}
	n.tableStale = n.tableStale || !slices.Equal(was, n.peers.unheard)
}

// unheard reports whether a process does not answer this one, as a leaseholder or a pre-vote found.
func (n *Node) unheard(name string) bool {
	return n.ignoresRenewals(name) || slices.Contains(n.peers.unheard, name)
}
