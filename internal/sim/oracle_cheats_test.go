package sim

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// Processes that cheat, each in one way. A cheat keeps what it remembers of one run only.

// cheats lets processes cheat.
func cheats(cheat func(w *World, p int32, e *node.Event, r *node.Ready)) func(w *World) {
	return func(w *World) { w.sabotage.cheat = cheat }
}

// loses loses messages for ever, without their links breaking, in calm, too.
func loses(lost func(w *World, p, q int32, m *node.Message) bool) func(w *World) {
	return func(w *World) {
		w.route = func(p, q int32, m *node.Message, at Time) Time {
			if lost(w, p, q, m) {
				return forever
			}
			return at
		}
	}
}

// permits changes the permission of a process when it begins to hold another epoch.
func permits(change func(w *World, p int32, granted *lease.Permission)) func(w *World) {
	return cheats(func(w *World, p int32, _ *node.Event, r *node.Ready) {
		o := w.oracleOf(p)
		if o == nil || r.Permission.Epoch == 0 || o.holds[p].epoch == r.Permission.Epoch {
			return
		}
		change(w, p, &r.Permission)
	})
}

// takesUsedEpoch: a process holds the epoch that another one has held.
func takesUsedEpoch(w *World, p int32, granted *lease.Permission) {
	o := w.oracleOf(p)
	if owner := o.owners[o.highest]; owner != "" && owner != names[p] {
		granted.Epoch = o.highest
	}
}

// takesLowerEpoch: a process holds an epoch below the highest that was held, which nobody has held.
func takesLowerEpoch(w *World, p int32, granted *lease.Permission) {
	o := w.oracleOf(p)
	if _, known := o.owners[o.highest-1]; !known && o.highest > 0 {
		granted.Epoch = o.highest - 1
	}
}

// takesUnknownGeneration: a process holds an epoch of a roster that there is not.
func takesUnknownGeneration(_ *World, _ int32, granted *lease.Permission) {
	granted.Epoch = lease.NewEpoch(granted.Epoch.Generation()+1, 1)
}

// goesOn: a leaseholder relies on what it was promised for two T longer.
func goesOn(_ *World, _ int32, _ *node.Event, r *node.Ready) {
	if r.Permission.Epoch != 0 {
		r.Permission.Deadline += 2 * lease.Instant(T)
	}
}

// holdsAlone: a process that asks for votes acts without waiting for them.
func holdsAlone(w *World, p int32, _ *node.Event, r *node.Ready) {
	for i := range r.Messages {
		if m := &r.Messages[i]; asks(m, lease.Vote) && r.Permission.Epoch == 0 {
			now := w.processes[p].clock.instant(w.now)
			r.Permission = lease.Permission{
				Epoch:    m.Request.Epoch,
				Deadline: now + m.Request.Lease/2,
			}
		}
	}
}

// grantsAll: a voter grants every vote, bound or not.
func grantsAll(_ *World, _ int32, _ *node.Event, r *node.Ready) {
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Type == node.LeaseResponse && votes(m.Response.Kind) {
			m.Response.Granted = true
		}
	}
}

// releasesEarly: a leaseholder releases its epoch, and goes on.
func releasesEarly(_ *World, _ int32, _ *node.Event, r *node.Ready) {
	if h := r.Permission.Epoch; h != 0 {
		for i := range r.Messages {
			if m := &r.Messages[i]; asks(m, lease.Renew) && m.Request.Epoch == h {
				m.Request.Kind = lease.Release
				return
			}
		}
	}
}

// followsStranger: P1 follows one who is on no roster.
func followsStranger(w *World, p int32, _ *node.Event, _ *node.Ready) {
	if p == 0 && w.processes[p].roster != nil {
		w.processes[p].seen.Coordinator = "nobody"
	}
}

// followsZero: a process follows one that never coordinates.
func followsZero(w *World, p int32, _ *node.Event, _ *node.Ready) {
	v := &w.processes[p]
	if v.roster == nil {
		return
	}
	for i := range v.roster.Members {
		if v.roster.Members[i].Priority == 0 {
			v.seen.Coordinator = v.roster.Members[i].Name
		}
	}
}

// staysWithdrawn: a process coordinates though its app cannot.
func staysWithdrawn(w *World, p int32, _ *node.Event, _ *node.Ready) {
	if s := &w.processes[p].seen; s.Coordinator == names[p] {
		s.Withdrawn = true
	}
}

// holdsWithoutPriority: a process that never coordinates takes the next epoch.
func holdsWithoutPriority(w *World, p int32, _ *node.Event, r *node.Ready) {
	o := w.oracleOf(p)
	priority, known := w.priorityOf(p, names[p])
	if o == nil || o.highest == 0 || !known || priority != 0 {
		return
	}
	r.Permission = lease.Permission{
		Epoch:    o.highest + 1,
		Deadline: w.processes[p].clock.instant(w.now) + lease.Instant(T),
	}
}

// namesNobody: P1 neither follows nor elects.
func namesNobody(w *World, p int32, _ *node.Event, _ *node.Ready) {
	if p == 0 {
		s := &w.processes[p].seen
		s.Coordinator, s.Electing = "", false
	}
}

// writesToStranger: a process sends to a name that is no process.
func writesToStranger(_ *World, _ int32, _ *node.Event, r *node.Ready) {
	if n := len(r.Messages); n > 0 && r.Messages[n-1].ReplyTo == nil {
		r.Messages[n-1].To = "nobody"
	}
}

// shouts: a process says each thing a hundred times.
func shouts(_ *World, _ int32, _ *node.Event, r *node.Ready) {
	if len(r.Messages) > 0 {
		r.Messages = append(r.Messages, slices.Repeat(r.Messages[:1], 100)...)
	}
}

// circles: a ring's message is passed on as if it had not travelled.
func circles(_ *World, _ int32, e *node.Event, r *node.Ready) {
	for i := range r.Messages {
		if m := &r.Messages[i]; e.Type == node.Received && relays(&m.Election, &e.Message.Election) {
			m.Election.Hops = e.Message.Election.Hops
		}
	}
}

// breaksDown: a process panics when its app becomes unhealthy.
func breaksDown(_ *World, p int32, e *node.Event, _ *node.Ready) {
	if e.Type == node.Unhealthy {
		panic(fmt.Sprintf("%s breaks down", names[p]))
	}
}

// stops: no timer runs out.
func stops(_ *World, _ int32, _ *node.Event, r *node.Ready) { r.Next = 0 }

// chatters: in calm, processes say at every tick what they said last in an election.
func chatters(w *World) {
	var last [len(names)]node.Message
	w.sabotage.cheat = func(w *World, p int32, e *node.Event, r *node.Ready) {
		for i := range r.Messages {
			if m := &r.Messages[i]; m.Type == node.Election {
				last[p] = *m
				last[p].Election.List = slices.Clone(m.Election.List)
				last[p].Election.Table = slices.Clone(m.Election.Table)
			}
		}
		if w.calm && e.Type == node.Tick && last[p].To != "" && last[p].Election.Kind != election.Elect {
			r.Messages = append(r.Messages, last[p])
		}
	}
}

// otherWinner: what announces a coordinator names another one to P1.
func otherWinner(w *World) {
	w.route = func(p, q int32, m *node.Message, at Time) Time {
		if q == 0 && p != 1 && says(m, election.Coordinator) && m.Election.Process != "P2" {
			m.Election.Process = "P2"
		}
		return at
	}
}

// tires: a leaseholder that sees a link break renews nothing for a while.
func tires(w *World) {
	var rests [len(names)]Time
	w.sabotage.cheat = func(w *World, p int32, e *node.Event, r *node.Ready) {
		if e.Type == node.LinkDown && r.Permission.Epoch != 0 {
			rests[p] = w.now + 20*T
		}
	}
	w.route = func(p, _ int32, m *node.Message, at Time) Time {
		if w.now < rests[p] && asks(m, lease.Renew) {
			return forever
		}
		return at
	}
}

// losesVotes loses, in calm, what asks for votes or renews them, from an instant of each period on.
func losesVotes(from, period Time) func(w *World) {
	return loses(func(w *World, _, _ int32, m *node.Message) bool {
		return w.calm && w.now%period >= from && m.Type == node.LeaseRequest && votes(m.Request.Kind)
	})
}
