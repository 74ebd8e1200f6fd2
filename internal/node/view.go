package node

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// NotAnswering is the status of a process that does not answer, or that the network does not reach.
// Nothing tells that it has ended. The election algorithms take it for Crashed.
const NotAnswering election.Status = "NOT ANSWERING"

// View is what this process knows, at one instant. Its Table is never changed once it was returned.
type View struct {
	Member       bool   // this process is on a roster; if not, there is nothing more to know
	Group        string // of the roster in use
	Generation   int64  // of the roster in use
	Acknowledged int64  // of the newest roster that is on the disk as used: a restart does not go back
	Coordinator  string // empty while there is none. Guarded: the leaseholder, as far as is known
	Epoch        lease.Epoch
	// Guarded: this voter has promised that epoch, or has none to promise
	Bound bool
	Phase string // Guarded: what this process does, in a word (lease.Machine.Phase)
	// Guarded: this process votes by the roster in use, which is on the disk, from VotesFrom on (V1)
	Votes        bool
	VotesFrom    lease.Instant
	Electing     bool             // this process takes part in an election
	Withdrawn    bool             // the election algorithm takes this process for no candidate
	NotCandidate NotCandidate     // why this process is not a candidate; empty: it is one
	Leaving      bool             // it is about to end on purpose
	Left         bool             // it has left: it says nothing more
	Table        []election.Entry // the process status table, in ring order
	Last         *Account         // nil before the first election
	Since        lease.Instant    // when this process began to follow the coordinator
}

// View returns the newest view.
func (n *Node) View() View { return n.view }

// T is within what time a live process answers, as measured; 0 without a roster.
func (n *Node) T() lease.Instant {
	if n.detector == nil {
		return 0
	}
	return n.detector.T()
}

// show takes what the machines say now into the view, and reports whether it differs.
func (n *Node) show() bool {
	was := n.view
	if n.roster == nil {
		n.view = View{Leaving: n.leaving.since != 0, Left: n.leaving.left}
		return was.Member || was.Leaving != n.view.Leaving || was.Left != n.view.Left
	}
	is := n.present()
	if is.Coordinator == was.Coordinator && n.calm(is.Coordinator) {
		n.episode.cancel() // nothing has changed: that was no election
	}
	if n.guarded() {
		n.missVoters(is.Coordinator != "")
	}
	table, changed := n.newTable(is.Coordinator)
	if !changed && is.equal(&was) {
		return false
	}
	if n.guarded() {
		n.turn(was.Coordinator, &is)
	}
	is.Table, is.Last, is.Since = table, n.view.Last, n.view.Since
	n.view = is
	return true
}

// newTable returns the process status table, and whether it differs from that of the view. It is
// made anew only if the election algorithm has taken a step, or the coordinator is another one.
func (n *Node) newTable(coordinator string) (table []election.Entry, changed bool) {
	if !n.tableStale && coordinator == n.view.Coordinator {
		return n.view.Table, false
	}
	n.tableStale = false
	n.table = n.election.AppendTable(n.table[:0])
	if n.guarded() {
		n.authoriseTable(coordinator)
	}
	for i, e := range n.table {
		if e.Status == election.Normal && n.unheard(e.Name) {
			n.table[i].Status = NotAnswering
		}
		_, ended := slices.BinarySearch(n.peers.ended, e.Name)
		switch {
		case e.Status != election.Crashed || ended:
		case n.answersRenewals(e.Name):
			n.table[i].Status = election.Normal
		default:
			n.table[i].Status = NotAnswering
		}
	}
	if slices.Equal(n.table, n.view.Table) {
		return n.view.Table, false
	}
	return slices.Clone(n.table), true
}

// equal reports whether two views are the same, apart from their tables and the account of the last
// election, which change with them.
func (v *View) equal(o *View) bool {
	return v.Member == o.Member && v.Group == o.Group && v.Generation == o.Generation &&
		v.Acknowledged == o.Acknowledged &&
		v.Coordinator == o.Coordinator && v.Epoch == o.Epoch && v.Bound == o.Bound &&
		v.Phase == o.Phase && v.Electing == o.Electing && v.Withdrawn == o.Withdrawn &&
		v.Leaving == o.Leaving && v.Left == o.Left && v.Votes == o.Votes &&
		v.VotesFrom == o.VotesFrom && v.NotCandidate == o.NotCandidate
}

// present is what the machines say now. In a Guarded group the leaseholder coordinates, and nobody
// else does.
func (n *Node) present() View {
	s := n.election.State()
	v := View{
		Member:       true,
		Group:        n.roster.Group,
		Generation:   n.roster.Generation,
		Acknowledged: n.acknowledged(),
		Coordinator:  s.Coordinator,
		Electing:     s.Electing,
		Withdrawn:    s.Withdrawn,
		NotCandidate: n.notCandidate(),
		Leaving:      n.leaving.since != 0,
		Left:         n.leaving.left,
	}
	if n.guarded() {
		holder, epoch, bound := n.lease.Following()
		v.Coordinator, v.Electing, v.Bound, v.Phase = holder, holder == "", bound, n.lease.Phase()
		if holder != "" {
			v.Epoch = epoch
		}
		if from, votes := n.lease.Votes(); votes && v.Acknowledged == v.Generation {
			v.Votes = true
			if from > n.now.Boot {
				v.VotesFrom = from
			}
		}
	}
	return v
}

// turn follows a leaseholder that comes or goes: the time between is what the election took.
func (n *Node) turn(was string, is *View) {
	switch {
	case is.Coordinator == "":
		n.episode.begin(n.now.Boot)
	case is.Coordinator != was:
		n.follows(is.Coordinator, is.Epoch)
	}
}

// follows closes the account of an election: in a Guarded group when somebody holds the lease.
func (n *Node) follows(coordinator string, e lease.Epoch) {
	n.episode.begin(n.now.Boot)
	n.view.Last, n.view.Since = n.episode.end(n.now.Boot, n.around(), coordinator, e), n.now.Boot
	n.note(Note{
		Type:    Follows,
		Process: coordinator,
		Epoch:   e,
		Account: n.view.Last,
	})
}

// authoriseTable shows the leaseholder as the coordinator, and one that is only nominated as any
// other process. That one may have failed: without a majority no election replaces it.
func (n *Node) authoriseTable(holder string) {
	for i := range n.table {
		e := &n.table[i]
		switch {
		case e.Name == holder:
			e.Status = election.Coordinates
		case e.Status == election.Coordinates && n.election.Failed(e.Name):
			e.Status = election.Crashed
		case e.Status == election.Coordinates:
			e.Status = election.Normal
		}
	}
}
