package agent

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/gate"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// enter begins to take part: with this roster, and as a process that starts or recovers.
func (a *agent) enter(r roster.Roster) error {
	m, err := election.New(election.Config{Algorithm: r.Algorithm, Self: a.Self, Incarnation: a.Incarnation, Roster: processes(r)})
	if err != nil {
		return err
	}
	a.Roster, a.view = r, View{Algorithm: r.Algorithm}
	a.probe()
	a.detector = detector.New(a.timing())
	a.gate = gate.New(m, a.leaseIn(r), a)
	a.Links.Pace(r.Heartbeat)
	a.Links.Admit(members(r))
	a.Links.Link(m.Links())
	a.gate.Authorise(lease.Event{Type: lease.Enrolled, Roster: leaseRoster(r)})
	a.complain(r)
	if a.ill || a.leaving {
		a.gate.Elect(election.Event{Type: election.Withdraw})
	} else {
		a.gate.Authorise(lease.Event{Type: lease.Stands})
	}
	a.gate.Elect(election.Event{Type: election.Start})
	return nil
}

// complain says so if lease passes the roster over (V4).
func (a *agent) complain(r roster.Roster) {
	if !a.guarded() {
		return
	}
	if s := a.lease.State(); s.Group == leaseRoster(r).Group && s.Generation > r.Generation {
		a.Logger.Error("the roster is older than one that this process has used: it neither votes nor acts until it has a newer one",
			"generation", r.Generation, "used", s.Generation)
	}
}

// update takes a new roster, which it keeps before it uses it. Without this process on it, or without a group, the process
// stops taking part.
func (a *agent) update(u roster.Update) {
	a.unkept = nil
	if u.Gone || !u.Roster.Has(a.Self, a.UID) {
		a.keep(nil)
		a.exit()
		a.probe() // nobody says any more how
		return
	}
	if a.gate != nil && u.Roster.GroupUID == a.Roster.GroupUID && u.Roster.Generation <= a.Roster.Generation {
		if u.Roster.Generation == a.Roster.Generation {
			a.recheck(u.Roster.AppHealth)
		}
		return // known, or late; a group that was made anew counts anew
	}
	if a.gate != nil && (u.Roster.GroupUID != a.Roster.GroupUID || u.Roster.Safety != a.Roster.Safety) {
		a.exit() // another group of the same name
	}
	if !a.keep(u.Roster) && u.Roster.Safety == roster.Guarded {
		a.postpone(u)
		return // to acknowledge it is to remember it
	}
	if a.gate == nil {
		if err := a.enter(*u.Roster); err != nil {
			a.Logger.Error("cannot take part", "error", err)
		}
		return
	}
	a.Logger.Info("roster", "generation", u.Roster.Generation, "processes", len(u.Roster.Processes), "algorithm", u.Roster.Algorithm)
	rechecked := u.Roster.AppHealth != a.Roster.AppHealth
	a.Roster, a.view.Algorithm = *u.Roster, u.Roster.Algorithm
	if rechecked {
		a.probe()
	}
	a.detector.SetTiming(a.timing())
	a.Links.Pace(a.Roster.Heartbeat)
	a.Links.Admit(members(a.Roster))
	a.gate.Authorise(lease.Event{Type: lease.Enrolled, Roster: leaseRoster(a.Roster)})
	a.gate.Elect(election.Event{Type: election.Change, Roster: processes(a.Roster), Algorithm: a.Roster.Algorithm})
}

// postpone has a roster tried again that could not be kept: the manager says it once.
func (a *agent) postpone(u roster.Update) {
	a.unkept, a.again = &u, time.Now().Add(keepAgain)
	a.Logger.Error("the roster is not in use before it is on the disk: make room there", "generation", u.Roster.Generation, "retryIn", keepAgain)
}

// keepAgain is how long after a disk refused a roster it is asked again.
const keepAgain = time.Second

// recheck takes the one thing of a roster that may change within a generation. The election does not hear of it.
func (a *agent) recheck(h roster.AppHealth) {
	if h == a.Roster.AppHealth {
		return
	}
	a.Logger.Info("the app is asked otherwise from now on", "appHealth", h)
	a.Roster.AppHealth = h
	kept := a.Roster
	a.keep(&kept)
	a.probe()
}

// probe has the app asked as the roster in use says.
func (a *agent) probe() {
	if a.Probe != nil {
		a.Probe(a.Roster.AppHealth)
	}
}

// keep reports whether the roster is on the disk.
func (a *agent) keep(r *roster.Roster) bool {
	if a.Keep == nil {
		return true
	}
	err := a.Keep(r)
	if err != nil {
		a.Logger.Error("cannot keep the roster; a restart without the manager would begin with an older one", "error", err)
	}
	return err == nil
}

// exit stops taking part.
func (a *agent) exit() {
	if a.gate == nil {
		return
	}
	a.gate.Authorise(lease.Event{Type: lease.Enrolled}) // acts no more
	a.Logger.Info("no longer in the group")
	a.gate, a.Roster = nil, roster.Roster{}
	clear(a.alarms)
	clear(a.silent)
	a.Links.Admit(nil)
	a.view = View{}
	a.post()
}

// leave ends on purpose: a coordinator first stops coordinating, gives back its lease once its app relies on it no more, and has
// another one elected; a voter goes on answering until the manager has made a roster without it. That takes 5 s at most. Then
// every link hears that this process leaves.
func (a *agent) leave() {
	if a.gate != nil {
		a.leaving = true
		over, cancel := context.WithTimeout(context.Background(), longestLeave)
		defer cancel()
		a.handOver(over)
		if a.gate != nil && a.guarded() && a.Updates != nil {
			a.post()
			a.loop(over.Done(), a.unseated)
		}
		a.post()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	a.Links.Leave(ctx)
}

// longestLeave leaves room in a pod's grace period.
const longestLeave = 5 * time.Second

func (a *agent) handOver(over context.Context) {
	coordinates := a.acts != 0 || a.gate.Machine.State().Coordinator == a.Self
	a.gate.Elect(election.Event{Type: election.Withdraw})
	if !coordinates {
		return
	}
	over, cancel := context.WithTimeout(over, max(a.detector.T(), a.Roster.Lease))
	defer cancel()
	a.loop(over.Done(), a.handedOver)
}

func (a *agent) handedOver() bool {
	switch {
	case a.gate == nil:
		return true
	case a.guarded() && a.gate.Lease.Resigning():
		return false
	default:
		s := a.gate.Machine.State()
		return s.Coordinator != "" && s.Coordinator != a.Self || a.alone()
	}
}

// unseated reports whether nobody counts on this process's promises any more: it is no voter, or the only one.
func (a *agent) unseated() bool {
	if a.gate == nil {
		return true
	}
	others, seated := 0, false
	for _, p := range a.Roster.Processes {
		switch {
		case !p.Voter:
		case p.Name == a.Self:
			seated = true
		default:
			others++
		}
	}
	return !seated || others == 0
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
