package agent

import "github.com/podesta-dev/podesta/internal/roster"

// report is what the manager is told: all that the view has.
func (a *agent) report() roster.Report {
	v := a.view
	r := roster.Report{
		StateID:      a.StateID,
		Version:      a.Version,
		Rules:        a.Rules,
		Incarnation:  a.Incarnation,
		GroupUID:     v.Group,
		Generation:   v.Generation,
		Coordinator:  v.Coordinator,
		Electing:     v.Electing,
		Withdrawn:    v.Withdrawn,
		NotCandidate: v.NotCandidate,
		Leaving:      v.Leaving,
		Left:         v.Left,
		LeaseState:   v.LeaseState,
	}
	if a.inUse != nil {
		r.Signed = a.inUse.Signed
	}
	if v.Bound { // an epoch that this voter has not promised is hearsay
		r.Epoch = int64(v.Epoch)
	}
	for _, p := range v.Processes {
		r.Table = append(r.Table, roster.Row{
			Name:     p.Name,
			State:    p.State,
			Unlinked: p.Unlinked,
		})
	}
	if last := v.Last; last != nil {
		r.LastElection = &roster.Election{
			Decision:  last.Decision.String(),
			Initiator: last.Initiator,
			Reason:    string(last.Reason),
			Sent:      last.Sent,
			Duration:  last.Duration,
		}
		if v.Coordinator == v.Name { // what others know of its lease is hearsay
			r.LastElection.Epoch = int64(last.Epoch)
		}
	}
	return r
}
