package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// leaving is how far a process has come that ends on purpose. A coordinator first stops
// coordinating, releases its lease once its app relies on it no more, and has another one elected;
// then a voter goes on answering until the manager has made a roster without it (MC6).
type leaving struct {
	since     lease.Instant // when it was asked to leave; 0: it was not
	handsOver lease.Instant // until when it hands over; 0: it does not, or has
	left      bool

	// grace is how long the pod may take to end, as the roster in use says since graceFrom; 0: the
	// roster does not say that the pod is being deleted.
	grace     time.Duration
	graceFrom lease.Instant
}

const (
	// longestLeave is how long a process waits that was not told that its pod is being deleted.
	longestLeave = 5 * time.Second
	// toldWithin is how long a voter waits at least to be told that its pod is being deleted: then its
	// last word proves that it has ended (MC5).
	toldWithin = time.Second
	// lastSecond is what is left of the grace period when a process ends.
	lastSecond = time.Second
)

// by is when a process that leaves has left at the latest. It is a time on CLOCK_BOOTTIME, which
// goes on while the machine is suspended.
func (l *leaving) by() lease.Instant {
	if l.grace == 0 {
		return l.since + longestLeave
	}
	return max(l.graceFrom+l.grace, l.since+2*lastSecond) - lastSecond
}

// learnGrace takes from a roster how long this pod may take to end.
func (n *Node) learnGrace(r *Roster) {
	l := &n.leaving
	if m, _ := r.find(n.self.Name); m.Grace != l.grace {
		l.grace, l.graceFrom = m.Grace, n.now.Boot
	}
}

// overdue reports whether this process has left, or should have: whatever happens, it says nothing
// more.
func (n *Node) overdue() bool {
	l := &n.leaving
	return l.left || l.since != 0 && n.now.Boot >= l.by()
}

// leave begins to leave.
func (n *Node) leave() {
	if n.leaving.since != 0 {
		return
	}
	n.stirred = true
	n.leaving.since = n.now.Boot
	if n.roster == nil {
		return
	}
	coordinates := n.holds != 0 || n.election.State().Coordinator == n.self.Name
	n.withdraw()
	if coordinates {
		n.leaving.handsOver = n.now.Boot + min(max(n.detector.T(), n.roster.Lease), longestLeave)
	}
}

// proceedLeaving looks whether there is anything left to wait for.
func (n *Node) proceedLeaving() {
	l := &n.leaving
	if l.since == 0 || l.left {
		return
	}
	due := n.now.Boot >= l.by()
	if l.handsOver != 0 {
		if !due && !n.handedOver() && n.now.Boot < l.handsOver {
			return
		}
		l.handsOver = 0
	}
	if !due && n.guarded() && n.config.Managed && n.waitsAsVoter() {
		return
	}
	l.left, n.stirred = true, true
	n.ready.Left = true
}

// next is when a process that leaves looks again whether there is anything to wait for; 0: never.
func (l *leaving) next(now lease.Instant) lease.Instant {
	switch {
	case l.since == 0 || l.left:
		return 0
	case l.handsOver != 0:
		return min(l.handsOver, l.by())
	case l.grace == 0 && now < l.since+toldWithin:
		return l.since + toldWithin
	default:
		return l.by()
	}
}

// handedOver reports whether another process coordinates, or could not.
func (n *Node) handedOver() bool {
	switch {
	case n.roster == nil:
		return true
	case n.guarded() && n.lease.SteppingDown():
		return false
	default:
		s := n.election.State()
		return s.Coordinator != "" && s.Coordinator != n.self.Name || n.alone()
	}
}

// waitsAsVoter reports whether this process is a voter, and either another process may coordinate,
// which counts on its vote, or it has yet to be told that its pod is being deleted. When all pods
// of a group are deleted, none waits for the others.
func (n *Node) waitsAsVoter() bool {
	votes, candidates := false, false
	for _, m := range n.roster.Members {
		if m.Name == n.self.Name {
			votes = m.Voter
		} else if m.Priority > 0 {
			candidates = true
		}
	}
	untold := n.leaving.grace == 0 && n.now.Boot < n.leaving.since+toldWithin
	return votes && (candidates || untold)
}

// alone reports whether there is no other live process to hand over to.
func (n *Node) alone() bool {
	n.table = n.election.AppendTable(n.table[:0])
	for _, e := range n.table {
		if e.Name != n.self.Name && e.Status != election.Crashed {
			return false
		}
	}
	return true
}
