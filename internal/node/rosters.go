package node

import (
	"maps"
	"slices"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// rosterReceived takes a roster. Without this process on it, or without a group, the process stops
// taking part. A roster is in use at once; what acknowledges it waits until it is on the disk.
func (n *Node) rosterReceived(r *Roster) {
	if r != nil && n.roster != nil && n.late(r) {
		return
	}
	if r == nil || !r.has(n.self.Name, n.self.UID) {
		n.exit()
		n.writes.forgetRoster()
		return
	}
	if n.refuses(r) {
		return
	}
	if n.roster != nil && (r.Group != n.roster.Group || r.Guarded != n.roster.Guarded) {
		n.exit() // another group of the same name
	}
	if n.roster == nil {
		n.enter(r)
		return
	}
	early := n.early.take(nil, n.now.Boot, n.T())
	if r.Algorithm != n.roster.Algorithm {
		early = nil
	}
	n.use(r)
	n.note(Note{Type: RosterChanged})
	n.detector.SetTiming(timing(r))
	n.authorise(lease.Event{Type: lease.RosterChanged, Roster: leaseRoster(r)})
	n.elect(election.Event{
		Type:      election.Change,
		Roster:    processes(r),
		Algorithm: r.Algorithm,
	})
	for _, e := range early {
		n.elect(e)
	}
}

// refuses reports whether this process does not support a roster's rules level (MC11). Then it
// stays with the roster that it has, if it has one, as if it had not heard of this one: to the
// others it is a voter that cannot be reached. What it promised it keeps.
func (n *Node) refuses(r *Roster) bool {
	if !r.Guarded || lease.Supports(n.config.Rules, r.Rules) {
		return false
	}
	if n.roster != nil && n.roster.Group == r.Group {
		n.refused = max(n.refused, r.Generation)
	}
	n.note(Note{Type: Refused, Err: &lease.RulesError{
		Level: lease.Level(r.Rules), Newest: lease.Level(n.config.Rules),
	}})
	return true
}

// late reports whether a roster is older than one that this process has used, or the one in use. A
// group that was made anew counts anew; one that was left counts on (V12).
func (n *Node) late(r *Roster) bool {
	if r.Group == n.roster.Group {
		return r.Generation <= n.roster.Generation
	}
	return n.lease != nil && r.Generation < n.lease.Used(r.Group)
}

// enter begins to take part, as a process that starts or recovers.
func (n *Node) enter(r *Roster) {
	m, err := election.New(election.Config{
		Algorithm:   r.Algorithm,
		Self:        n.self.Name,
		Incarnation: n.self.Number,
		Roster:      processes(r),
		Called:      n.called,
	})
	if err != nil {
		n.note(Note{Type: Refused, Err: err})
		return
	}
	if r.Guarded {
		if err := n.admits(r.Group); err != nil {
			n.note(Note{Type: Refused, Err: err})
			return
		}
	}
	n.election, n.detector = m, detector.New(timing(r), m.Rank)
	n.use(r)
	n.note(Note{Type: Enters})
	n.authorise(lease.Event{Type: lease.RosterChanged, Roster: leaseRoster(r)})
	n.complain(r)
	if n.withdrawn {
		n.withdraw()
	} else {
		n.authorise(lease.Event{Type: lease.Restored})
	}
	n.elect(election.Event{Type: election.Start})
}

// admits reports why this process may not take part in a group object; nil if it may (V12).
func (n *Node) admits(group string) error {
	if n.lease == nil {
		n.lease = lease.New(lease.Config{
			Self:      n.self,
			Saved:     n.config.Saved,
			Seed:      n.config.Seed,
			Now:       n.now,
			Throttled: n.config.Throttled,
		})
	}
	return n.lease.Admits(group)
}

// use puts a roster into use.
func (n *Node) use(r *Roster) {
	n.roster, n.ready.Roster, n.peers.stale, n.stirred, n.tableStale = r, r, true, true, true
	n.passing, n.refused = passing{}, 0
	n.learnGrace(r)
	left := func(name string) bool {
		_, ok := r.find(name)
		return !ok
	}
	n.peers.silent = slices.DeleteFunc(n.peers.silent, left)
	n.peers.ended = slices.DeleteFunc(n.peers.ended, left)
	n.peers.unheard = slices.DeleteFunc(n.peers.unheard, left)
	maps.DeleteFunc(n.peers.unanswered, func(name string, _ *unanswered) bool { return left(name) })
	n.waiting = waiting{} // the algorithm may be another one
	n.writes.changeRoster(r)
}

// complain notes that the lease protocol passes the roster over, because it is older than one that
// this voter has used (V4): the process neither votes nor acts until it has a newer one.
func (n *Node) complain(r *Roster) {
	if !n.guarded() {
		return
	}
	if used := n.lease.Used(r.Group); used > r.Generation {
		n.note(Note{Type: OldRoster, Epoch: lease.NewEpoch(used, 0)})
	}
}

func processes(r *Roster) []election.Process {
	list := make([]election.Process, len(r.Members))
	for i, m := range r.Members {
		list[i] = election.Process{
			Name:     m.Name,
			Priority: m.Priority,
			UID:      m.UID,
		}
	}
	return list
}

// timing is the detector's form of the roster's timing.
func timing(r *Roster) detector.Timing {
	return detector.Timing{Heartbeat: r.Heartbeat, Timeout: r.Timeout}
}

func leaseRoster(r *Roster) *lease.Roster {
	return &lease.Roster{
		Group:        r.Group,
		Generation:   r.Generation,
		Heartbeat:    r.Heartbeat,
		Timeout:      r.Timeout,
		Lease:        r.Lease,
		LeaseMinimum: r.LeaseMinimum,
		Preemption:   r.Preemption,
		Stable:       r.Stable,
		Members:      r.Members,
	}
}
