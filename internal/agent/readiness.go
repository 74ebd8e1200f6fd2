package agent

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
)

// Readiness says whether Kubernetes may count on this pod, so that a rollout does not get ahead of
// the group. A pod of a Guarded group is ready once its process votes, that of a Classic group once
// it is on the roster. A pod is ready, too, when the manager has admitted it and says that the
// group cannot take it now.
//
// A pod that was ready once stays ready, whatever becomes of the manager, the roster or the
// majority. So none of these takes an app out of its Services. Safe for concurrent use.
type Readiness struct {
	views   *Views
	ledger  *Ledger
	manager ManagerEnd
	ready   atomic.Bool
}

// ManagerEnd is what an agent knows of the manager; roster.Client is one.
type ManagerEnd interface {
	// Standing returns what the manager says of processes that do not vote yet, and whether it has
	// admitted this one. If it has not, trouble says why, if that is known.
	Standing() (hold roster.Hold, admitted bool, trouble string)
}

// NewReadiness returns the readiness of a process that was ready before or was not. The manager is
// nil if the roster is in a file.
func NewReadiness(v *Views, l *Ledger, manager ManagerEnd, before bool) *Readiness {
	r := &Readiness{views: v, ledger: l, manager: manager}
	r.ready.Store(before)
	return r
}

// WasReady reports whether a process was ready that has left this roster in its state directory.
func WasReady(kept *roster.Roster, stateID string) bool {
	if kept == nil || kept.Safety == roster.Classic {
		return kept != nil
	}
	for _, p := range kept.Processes {
		if p.StateID == stateID && p.Voter {
			return true
		}
	}
	return false
}

// Waits says in a sentence what the process waits for; empty: it is ready.
func (r *Readiness) Waits() string {
	if r.ready.Load() {
		return ""
	}
	waits := r.waits()
	if waits == "" {
		r.ready.Store(true)
	}
	return waits
}

func (r *Readiness) waits() string {
	v, _ := r.views.Read()
	switch {
	case v.Name == "":
	case !v.guarded():
		return ""
	case v.Votes:
		left := v.VotesFrom - r.ledger.clocks.Boot()
		if left <= 0 {
			return ""
		}
		return fmt.Sprintf("this process is a new voter, and may vote in %v: an earlier voter of its "+
			"name may be bound until then", left.Round(time.Millisecond))
	case r.manager == nil:
		return "" // the file does not make it a voter
	}
	return r.waitsForManager(v.Name != "")
}

// waitsForManager says what a process waits for that does not vote.
func (r *Readiness) waitsForManager(member bool) string {
	if r.manager == nil {
		return "this process has not begun to take part yet"
	}
	hold, admitted, trouble := r.manager.Standing()
	switch {
	case !admitted && trouble != "":
		return "this process waits for the manager: " + trouble
	case !admitted:
		return "this process waits for the manager to admit it"
	case hold.Ready:
		return ""
	case hold.Reason != "":
		return hold.Reason
	case member:
		return "this process is on the roster, and waits until it is a voter: voters change one at a time"
	default:
		return "the manager has admitted this process, which waits for a roster that names it"
	}
}

// ServeHTTP answers a readiness probe.
func (r *Readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if waits := r.Waits(); waits != "" {
		http.Error(w, waits, http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ready") // whoever asked has gone
}
