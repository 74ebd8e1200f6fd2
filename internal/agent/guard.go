package agent

import (
	"errors"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/gate"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// What the agent does for the gate: it is a gate.Driver.

// leaseIn is the lease machine, in a Guarded group; nil in a Classic one.
func (a *agent) leaseIn(r roster.Roster) *lease.Machine {
	if r.Safety != roster.Guarded {
		return nil
	}
	if a.lease == nil {
		self := lease.Incarnation{Name: a.Self, UID: a.UID, StateID: a.StateID, Number: a.Incarnation}
		a.lease = lease.New(lease.Config{Self: self, Remember: a.Lease, Seed: a.Incarnation, Now: a.Now()})
	}
	return a.lease
}

// guarded reports whether lease decides who coordinates.
func (a *agent) guarded() bool { return a.gate.Lease != nil }

// Now reads the clocks.
func (a *agent) Now() lease.Reading { return a.Permit.clock() }

// T is as the failure detector has it.
func (a *agent) T() time.Duration { return a.detector.T() }

// Sync keeps what a voter must not forget.
func (a *agent) Sync(s lease.State) error {
	if a.KeepLease == nil {
		return errors.New("there is no state directory: nothing can be promised")
	}
	err := a.KeepLease(s)
	if err != nil {
		a.Logger.Error("cannot keep what this voter promises; it promises nothing now", "error", err)
	}
	return err
}

// Request sends a request.
func (a *agent) Request(to string, p lease.Request) {
	if p.Kind == lease.Release && p.Epoch != a.released {
		a.released = p.Epoch
		a.trace("releases", p.Epoch)
	}
	a.Links.Request(to, p)
	a.Meter.requested(p.Kind)
}

// Heard takes a renewal of the holder for its heartbeat.
func (a *agent) Heard(process string) {
	now := time.Now()
	a.detector.Heard(process, now)
	if a.silent[process] {
		delete(a.silent, process)
		a.gate.Elect(election.Event{Type: election.PeerUp, Process: process})
	}
}

// Stopped takes the permission from the app, and says until when the app relies on it.
func (a *agent) Stopped() lease.Instant {
	a.Permit.grant(Permission{})
	told := a.Permit.outstanding()
	if a.acts != 0 {
		a.trace("stops", a.acts, "told", int64(told))
		a.acts = 0
	}
	return told
}

// permit grants the app what this process may do now.
func (a *agent) permit() {
	if a.gate == nil || !a.guarded() {
		return
	}
	epoch, deadline, ok := a.gate.Lease.Permission()
	if !ok {
		return // Stopped has said so
	}
	if epoch != a.acts {
		a.acts = epoch
		a.trace("holds", epoch, "deadline", int64(deadline))
	}
	a.Permit.grant(Permission{Epoch: epoch, Deadline: deadline})
}

// apps follows the app's health and its sessions: an app that had one and has none has gone, and its process is no candidate until it
// is back. The agent goes on answering and forwarding ("the control part of a failed process continues to function", seed 000).
func (a *agent) apps() {
	if a.gate != nil && a.guarded() && a.gate.Lease.Resigning() {
		a.gate.Authorise(lease.Event{Type: lease.Told, Until: a.Permit.outstanding()})
	}
	ill := a.ailment != nil || a.Permit.deserted()
	if ill == a.ill || a.leaving {
		return
	}
	turn := election.Restore
	if a.ill = ill; ill {
		a.Logger.Warn("the app is not well, or it closed its session: this process is no candidate", "ailment", a.ailment)
		turn = election.Withdraw
	} else {
		a.Logger.Info("the app is well again: this process is a candidate")
	}
	if a.gate != nil { // else it counts from the next roster on
		a.gate.Elect(election.Event{Type: turn})
	}
}

// trace logs what happens to this process's lease, on the clock that all processes of a machine share.
func (a *agent) trace(state string, e lease.Epoch, more ...any) {
	a.Logger.Info("lease", append([]any{"state", state, "epoch", int64(e), "boottime", int64(a.Now().Boot)}, more...)...)
}

// requested lets the gate answer a request.
func (a *agent) requested(e transport.LeaseRequested) {
	a.compare(e.Request.Epoch.Generation())
	if !a.guarded() {
		return
	}
	from, ok := a.lifeOf(e.From, e.StateID, e.Incarnation)
	if !ok {
		return
	}
	if v := a.gate.Authorise(lease.Event{Type: lease.Requested, From: from, Request: e.Request}); v != nil {
		e.Answer(*v)
		a.Meter.ruled(v.Granted)
	}
}

func (a *agent) decidedOn(e transport.LeaseResponded) {
	a.compare(e.Response.Generation)
	if from, ok := a.lifeOf(e.From, e.StateID, e.Incarnation); ok && a.guarded() {
		a.gate.Authorise(lease.Event{Type: lease.Responded, From: from, Response: e.Response})
	}
}

// compare looks whether another process has a newer roster.
func (a *agent) compare(generation int64) {
	if generation > a.Roster.Generation && a.Behind != nil {
		a.Behind()
	}
}

// lifeOf is the life of a process of the roster: the link has seen to it that it is the pod which the roster names.
func (a *agent) lifeOf(name, memory string, incarnation uint64) (lease.Incarnation, bool) {
	p, ok := a.Roster.Find(name)
	return lease.Incarnation{Name: name, UID: p.UID, StateID: memory, Number: incarnation}, ok
}

// leaseRoster is what lease has to know of a roster.
func leaseRoster(r roster.Roster) *lease.Roster {
	t := &lease.Roster{Group: r.GroupUID, Generation: r.Generation, Heartbeat: r.Heartbeat, Timeout: r.Timeout, Lease: r.Lease, Preemption: lease.Policy(r.Preemption), Stable: r.Stable}
	for _, p := range r.Processes {
		t.Members = append(t.Members, lease.Member{Name: p.Name, UID: p.UID, StateID: p.StateID, Priority: p.Priority, Voter: p.Voter})
	}
	return t
}

var _ gate.Driver = (*agent)(nil)
