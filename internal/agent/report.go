package agent

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
)

// report is what the manager is told: all that the view has.
func (a *agent) report() roster.Report {
	r := roster.Report{
		StateID: a.StateID, Version: a.Version, Incarnation: a.Incarnation, Generation: a.view.Generation,
		Coordinator: a.view.Coordinator, Electing: a.view.Electing, Withdrawn: a.view.Withdrawn, Leaving: a.leaving, LeaseState: a.view.LeaseState,
	}
	if a.view.Bound { // an epoch that this voter has not promised, it only knows by hearsay
		r.Epoch = int64(a.view.Epoch)
	}
	for _, p := range a.view.Processes {
		r.Table = append(r.Table, roster.Row{Name: p.Name, State: p.State})
	}
	if last := a.view.Last; last != nil {
		r.LastElection = &roster.Election{
			Decision: last.Decision.String(), Initiator: last.Initiator, Reason: string(last.Reason),
			Sent: last.Sent, Duration: last.Duration, Transcript: last.Transcript,
		}
	}
	return r
}

// state is the API's spelling of a status.
func state(s election.Status) string {
	switch s {
	case election.Coordinates:
		return "Coordinator"
	case election.Crashed:
		return "Crashed"
	default:
		return "Normal"
	}
}
