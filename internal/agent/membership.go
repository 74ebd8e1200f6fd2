package agent

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// enter begins to take part: with this roster, and as a process that starts or recovers.
func (a *agent) enter(r roster.Roster) error {
	m, err := election.New(election.Config{Algorithm: r.Algorithm, Self: a.Self, Incarnation: a.Incarnation, Roster: processes(r)})
	if err != nil {
		return err
	}
	a.machine, a.Roster = m, r
	a.view = View{Algorithm: r.Algorithm}
	a.detector = detector.New(a.timing())
	a.Links.Admit(members(r))
	a.Links.Link(m.Links())
	a.step(election.Event{Type: election.Start})
	return nil
}

// update takes a new roster, which it keeps before it uses it. Without this process on it, or without a group, the process
// stops taking part.
func (a *agent) update(u roster.Update) {
	if u.Gone || !u.Roster.Has(a.Self, a.UID) {
		a.keep(nil)
		a.exit()
		return
	}
	if a.machine != nil && u.Roster.GroupUID == a.Roster.GroupUID && u.Roster.Generation <= a.Roster.Generation {
		return // known, or late; a group that was made anew counts anew
	}
	a.keep(u.Roster)
	if a.machine == nil {
		if err := a.enter(*u.Roster); err != nil {
			a.Logger.Error("cannot take part", "error", err)
		}
		return
	}
	a.Logger.Info("roster", "generation", u.Roster.Generation, "processes", len(u.Roster.Processes), "algorithm", u.Roster.Algorithm)
	a.Roster, a.view.Algorithm = *u.Roster, u.Roster.Algorithm
	a.detector.SetTiming(a.timing())
	a.Links.Admit(members(a.Roster))
	a.step(election.Event{Type: election.Change, Roster: processes(a.Roster), Algorithm: a.Roster.Algorithm})
}

func (a *agent) keep(r *roster.Roster) {
	if a.Keep == nil {
		return
	}
	if err := a.Keep(r); err != nil {
		a.Logger.Error("cannot keep the roster; a restart without the manager would begin with an older one", "error", err)
	}
}

// exit stops taking part.
func (a *agent) exit() {
	if a.machine == nil {
		return
	}
	a.Logger.Info("no longer in the group")
	a.machine, a.Roster = nil, roster.Roster{}
	clear(a.alarms)
	clear(a.silent)
	a.Links.Admit(nil)
	a.view = View{}
	a.post()
}

// leave ends on purpose: a coordinator first stops coordinating and has another one elected, for at most T (and 5 s); then every link
// hears that this process leaves.
func (a *agent) leave() {
	if a.machine != nil {
		a.leaving = true
		if a.machine.State().Coordinator == a.Self {
			a.handOver()
		}
		a.post()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	a.Links.Leave(ctx)
}

// longestHandOver leaves room in a pod's grace period.
const longestHandOver = 5 * time.Second

func (a *agent) handOver() {
	a.step(election.Event{Type: election.Withdraw})
	over, cancel := context.WithTimeout(context.Background(), min(a.detector.T(), longestHandOver))
	defer cancel()
	a.loop(over.Done(), func() bool { return a.machine == nil || a.machine.State().Coordinator != "" || a.alone() })
}

// alone reports whether there is no other live process to hand over to.
func (a *agent) alone() bool {
	for _, e := range a.view.table {
		if e.Name != a.Self && e.Status != election.Crashed {
			return false
		}
	}
	return true
}

func processes(r roster.Roster) []election.Process {
	list := make([]election.Process, len(r.Processes))
	for i, p := range r.Processes {
		list[i] = election.Process{Name: p.Name, Priority: p.Priority, UID: p.UID}
	}
	return list
}

func members(r roster.Roster) []transport.Member {
	list := make([]transport.Member, len(r.Processes))
	for i, p := range r.Processes {
		list[i] = transport.Member{Name: p.Name, UID: p.UID, Address: p.Address}
	}
	return list
}
