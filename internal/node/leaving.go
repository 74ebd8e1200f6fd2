package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// leaving is how far a process has come that ends on purpose. A coordinator first stops
// coordinating, releases its lease once its app relies on it no more, and has another one elected;
// then a voter goes on answering until the manager has made a roster without it.
type leaving struct {
	since     lease.Instant // when it was asked to leave; 0: it was not
	handsOver lease.Instant // until when it hands over; 0: it does not, or has
	until     lease.Instant // until when it waits at all
	left      bool
}

// longestLeave leaves room in a pod's grace period. The manager counts on it (MC5), so it is a time
// on CLOCK_BOOTTIME: a timer stands still while the machine is suspended.
const longestLeave = 5 * time.Second

// overdue reports whether this process has left, or should have: whatever happens, it says nothing
// more.
func (n *Node) overdue() bool {
	l := &n.leaving
	return l.left || l.since != 0 && n.now.Boot >= l.since+longestLeave
}

// leave begins to leave.
func (n *Node) leave() {
	if n.leaving.since != 0 {
		return
	}
	n.stirred = true
	n.leaving = leaving{since: n.now.Boot, until: n.now.Boot + longestLeave}
	if n.roster == nil {
		return
	}
	coordinates := n.holds != 0 || n.election.State().Coordinator == n.self.Name
	n.withdraw()
	if coordinates {
		n.leaving.handsOver = n.now.Boot + min(max(n.detector.T(), n.roster.Lease), longestLeave)
		n.leaving.until = n.leaving.handsOver
	}
}

// proceedLeaving looks whether there is anything left to wait for.
func (n *Node) proceedLeaving() {
	l := &n.leaving
	if l.since == 0 || l.left {
		return
	}
	if l.handsOver != 0 {
		if !n.handedOver() && n.now.Boot < l.handsOver {
			return
		}
		l.handsOver, l.until = 0, l.since+longestLeave
	}
	if n.guarded() && n.config.Managed && !n.unseated() && n.now.Boot < l.until {
		return
	}
	l.left, l.until = true, 0
	n.ready.Left = true
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

// unseated reports whether nobody counts on this process's votes any more: it is no voter, or the
// only one.
func (n *Node) unseated() bool {
	others, seated := 0, false
	for _, m := range n.roster.Members {
		switch {
		case !m.Voter:
		case m.Name == n.self.Name:
			seated = true
		default:
			others++
		}
	}
	return !seated || others == 0
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
