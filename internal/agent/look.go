package agent

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
)

// look takes what the machines say into the view and reports whether it differs.
func (a *agent) look() bool {
	is := a.present()
	a.table = a.gate.Machine.AppendTable(a.table[:0])
	if a.guarded() {
		authorise(a.table, is.Coordinator)
	}
	was := a.view
	if is.Coordinator == was.Coordinator && is.Epoch == was.Epoch && is.Bound == was.Bound && is.LeaseState == was.LeaseState && is.Electing == was.Electing &&
		is.Withdrawn == was.Withdrawn && was.Generation == a.Roster.Generation && slices.Equal(a.table, was.table) {
		return false
	}
	if a.guarded() {
		a.turn(was.Coordinator, is)
	}
	coordinator, _ := a.Roster.Find(is.Coordinator)
	is.Name, is.Generation, is.Algorithm, is.Safety = a.Self, a.Roster.Generation, a.Roster.Algorithm, a.Roster.Safety
	is.Priority, is.T, is.Last, is.Since = coordinator.Priority, a.detector.T(), a.view.Last, a.view.Since
	is.table = slices.Clone(a.table)
	is.Processes = make([]ProcessView, len(a.table))
	for i, e := range a.table {
		is.Processes[i] = ProcessView{Name: e.Name, Priority: a.Roster.Processes[i].Priority, State: state(e.Status)}
	}
	a.view = is
	return true
}

// present is what the machines say now. In a Guarded group whoever holds coordinates, and nobody else.
func (a *agent) present() (v View) {
	s := a.gate.Machine.State()
	v.Coordinator, v.Electing, v.Withdrawn = s.Coordinator, s.Electing, s.Withdrawn
	if a.guarded() {
		holder, epoch, bound := a.gate.Lease.Following()
		v.Coordinator, v.Electing, v.Bound, v.LeaseState = holder, holder == "", bound, a.gate.Lease.Word()
		if holder != "" {
			v.Epoch = epoch
		}
	}
	return v
}

// turn follows a holder that comes or goes: the time between is what the election took.
func (a *agent) turn(was string, is View) {
	now := time.Now()
	switch {
	case is.Coordinator == "":
		a.episode.begin(now)
	case is.Coordinator != was:
		a.view.Epoch = is.Epoch
		a.decided(now, is.Coordinator)
	}
}

// authorise shows whoever holds as the coordinator, and a mere nominee as any other process.
func authorise(table []election.Entry, holder string) {
	for i := range table {
		switch {
		case table[i].Name == holder:
			table[i].Status = election.Coordinates
		case table[i].Status == election.Coordinates:
			table[i].Status = election.Normal
		}
	}
}

// post shows the view, and reports it.
func (a *agent) post() {
	a.Board.post(a.view)
	if a.Report != nil {
		a.Report(a.report())
	}
}
