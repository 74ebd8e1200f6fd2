package agent

import (
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
)

// View is what this process knows, at one instant. It is never changed once it is on the Views.
type View struct {
	Name        string      // of this process; empty before the first roster
	Group       string      // UID of the group object that the roster in use is of
	GroupName   string      // of the same
	Generation  int64       // of the newest roster in use; in a Guarded group, of those on the disk
	Algorithm   string      // that the group runs
	Safety      string      // Classic or Guarded
	Coordinator string      // empty while there is none. Guarded: the leaseholder, as far as is known
	Epoch       lease.Epoch // of its lease; 0 in Classic groups
	Bound       bool        // this process has promised that epoch, or has none to promise
	LeaseState  string      // what this process does in a Guarded group, in a word
	Priority    int32       // of the coordinator
	Votes       bool        // Guarded: this process votes, from VotesFrom on, by CLOCK_BOOTTIME
	VotesFrom   lease.Instant
	Electing    bool // this process takes part in an election
	Withdrawn   bool // this process is no candidate
	// why this process is no candidate, a constant of package roster; empty: it is a candidate
	NotCandidate string
	Leaving      bool          // this process is about to end on purpose
	Left         bool          // it has left, and says nothing more
	Processes    []ProcessView // the process status table, in ring order
	Voters       []string      // Guarded: the names of the roster's voters
	Last         *node.Account // of the last election; nil before the first
	Since        time.Time     // when this process began to follow the coordinator
	Updated      time.Time     // when the Views got this coordinator, or nobody; Views.publish sets it
	T            time.Duration // within which a live process answers, as measured
	Lease        time.Duration // the longest of the roster; it may be 0 in Classic groups
}

// ProcessView is a row of the process status table.
type ProcessView struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	State    string `json:"state"` // Normal, Coordinator, Crashed, NotAnswering
	// Unlinked is why this process has no link to it, though it wants one; empty: it has one, wants
	// none, or has not tried for long.
	Unlinked string `json:"unlinked,omitempty"`
}

// Coordinates reports whether this very process is the coordinator. In a Guarded group only the
// Ledger knows whether it may act.
func (v View) Coordinates() bool { return v.Name != "" && v.Coordinator == v.Name }

func (v View) guarded() bool { return v.Safety == roster.Guarded }

// Views show the newest View to whoever reads it: one goroutine publishes, any may read.
type Views struct {
	mu      sync.Mutex
	view    View
	changed chan struct{}
}

// NewViews returns Views that show the empty View.
func NewViews() *Views {
	return &Views{view: View{Updated: time.Now()}, changed: make(chan struct{})}
}

// Read returns the newest view, and a channel that is closed when there is a newer one. A slow
// reader misses views, but never the newest.
func (s *Views) Read() (View, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view, s.changed
}

func (s *Views) publish(v View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Updated = s.view.Updated
	if v.Coordinator != s.view.Coordinator || !v.Since.Equal(s.view.Since) {
		v.Updated = time.Now()
	}
	s.view = v
	close(s.changed)
	s.changed = make(chan struct{})
}

// publish shows what the node knows now, and reports it to the manager.
func (a *agent) publish() {
	a.view = a.present(a.node.View())
	a.Views.publish(a.view)
	a.Meter.published(a.view)
	if a.Report != nil {
		a.Report(a.report())
	}
}

// present adds to the node's view what the roster says, in the words of the API.
func (a *agent) present(n node.View) View {
	r := a.inUse
	if r == nil {
		return View{Leaving: n.Leaving, Left: n.Left}
	}
	coordinator, _ := r.Find(n.Coordinator)
	v := View{
		Name:         a.Self,
		Group:        n.Group,
		GroupName:    r.Group,
		Voters:       voters(r),
		Generation:   n.Acknowledged, // in a Guarded group, to use a roster is to remember it
		Algorithm:    r.Algorithm,
		Safety:       r.Safety,
		Coordinator:  n.Coordinator,
		Epoch:        n.Epoch,
		Bound:        n.Bound,
		LeaseState:   n.Phase,
		Priority:     coordinator.Priority,
		Votes:        n.Votes,
		VotesFrom:    n.VotesFrom,
		Electing:     n.Electing,
		Withdrawn:    n.Withdrawn,
		NotCandidate: string(n.NotCandidate),
		Leaving:      n.Leaving,
		Left:         n.Left,
		Last:         n.Last,
		T:            a.node.T(),
		Lease:        r.Lease,
	}
	if n.Since != 0 {
		v.Since = time.Now().Add(n.Since - a.Ledger.clocks.Boot())
		if a.view.Coordinator == v.Coordinator && !a.view.Since.IsZero() && n.Last == a.view.Last {
			v.Since = a.view.Since // the same instant, and no rounding makes it another one
		}
	}
	v.Processes = make([]ProcessView, len(n.Table))
	for i, e := range n.Table {
		v.Processes[i] = ProcessView{
			Name:     e.Name,
			Priority: r.Processes[i].Priority,
			State:    state(e.Status),
			Unlinked: a.unlinked[e.Name],
		}
	}
	return v
}

// state is the API's word for a status.
func state(s election.Status) string {
	switch s {
	case election.Coordinates:
		return roster.Coordinator
	case election.Crashed:
		return roster.Crashed
	case node.NotAnswering:
		return roster.NotAnswering
	default:
		return roster.Normal
	}
}
