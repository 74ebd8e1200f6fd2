package agent

import (
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// View is what this process knows, at one instant. It is never changed once it is on the Board.
type View struct {
	Name        string           // of this process; empty before the first roster
	Generation  int64            // of the roster in use
	Algorithm   string           // that the group runs
	Safety      string           // Classic or Guarded
	Coordinator string           // empty while there is none. Guarded: whoever holds, as far as this process knows
	Epoch       lease.Epoch      // of its lease; 0 in Classic groups
	Bound       bool             // this process has promised that epoch, or has none to promise
	LeaseState  string           // what this process is at in a Guarded group, in a word
	Priority    int32            // of the coordinator
	Electing    bool             // this process takes part in an election
	Withdrawn   bool             // this process is no candidate
	Processes   []ProcessView    // the process status table, in ring order
	Last        *LastElection    // nil before the first
	Since       time.Time        // when this process began to follow the coordinator
	T           time.Duration    // within which a live process answers, as measured
	table       []election.Entry // what Processes was made of
}

// ProcessView is a row of the process status table.
type ProcessView struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	State    string `json:"state"` // Normal, Coordinator, Crashed
}

// Coordinates reports whether this very process is the coordinator. In a Guarded group only the Permit knows whether it may act.
func (v View) Coordinates() bool { return v.Name != "" && v.Coordinator == v.Name }

func (v View) guarded() bool { return v.Safety == roster.Guarded }

// Board shows the newest View to whoever looks: one process writes, anybody reads.
type Board struct {
	mu      sync.Mutex
	view    View
	changed chan struct{}
}

// NewBoard returns a board that shows the empty View.
func NewBoard() *Board { return &Board{changed: make(chan struct{})} }

// Read returns the newest view, and a channel that is closed when there is a newer one. Who reads slowly misses views, never
// the newest.
func (b *Board) Read() (View, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

func (b *Board) post(v View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
	close(b.changed)
	b.changed = make(chan struct{})
}
