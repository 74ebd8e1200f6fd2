package agent

import (
	"bytes"
	"errors"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
)

// update brings the node a roster of the manager's.
func (a *agent) update(u roster.Update) {
	if u.Gone {
		a.lapsed = false
		a.step(node.Event{Type: node.RosterReceived})
		return
	}
	if a.recheck(u.Roster) {
		return
	}
	if err := a.receiveRoster(u.Roster); err != nil {
		a.Logger.Error("this process cannot take part with the roster that it was given", "error", err)
	}
}

// receiveRoster brings the node a roster. The error is why the process cannot take part with it.
func (a *agent) receiveRoster(r *roster.Roster) (refused error) {
	a.offer(r)
	a.readClocks()
	ready := a.node.Step(node.Event{
		Type:   node.RosterReceived,
		Now:    a.now,
		Roster: nodeRoster(r),
	})
	for _, n := range ready.Notes {
		if n.Type == node.Refused {
			refused = errors.Join(refused, n.Err)
		}
	}
	a.carryOut(ready)
	return refused
}

// offer is for a roster that the node is to be given next. If it is the first one, the node hears
// before that whether it lacks a session: an algorithm may elect at once.
func (a *agent) offer(r *roster.Roster) {
	a.offered = r
	if a.inUse == nil {
		a.wantsSession = a.wants(r.AppHealth)
		a.told()
	}
}

// passedOn brings the node a roster that it has asked another process for, if the manager signed
// it.
func (a *agent) passedOn(from string, signed []byte) {
	if a.Open == nil || !a.node.Awaits(from) {
		return
	}
	r, err := a.Open(signed)
	if err != nil {
		a.Logger.Warn("a roster that another process passed on is not used", "from", from,
			"error", err)
		a.receive(from, "", 0, node.Message{Type: node.RosterReply})
		return
	}
	a.Logger.Info("another process passed on a roster of the manager's", "from", from,
		"generation", r.Generation)
	a.offer(&r)
	a.receive(from, "", 0, node.Message{Type: node.RosterReply, Roster: nodeRoster(&r)})
}

// follow puts the roster into use that the node uses: its members are who may send to us.
func (a *agent) follow(r *node.Ready) {
	if r.Exited {
		a.inUse = nil
		a.Links.Admit(nil)
		a.links = nil
		a.probe(roster.AppHealth{})
	}
	if r.Roster == nil {
		return
	}
	checked := a.inUse != nil && a.inUse.AppHealth == a.offered.AppHealth
	a.inUse, a.lapsed = a.offered, false
	a.Meter.runs(a.inUse.Algorithm)
	a.Accounts.belong(a.inUse.Group, a.inUse.Algorithm)
	a.Links.Pace(a.inUse.Heartbeat)
	a.Links.Admit(members(a.inUse))
	if !checked {
		a.probe(a.inUse.AppHealth)
	}
}

// recheck takes the one thing of a roster that may change within a generation: how the app's health
// is checked. The election does not hear of it. It reports whether the roster is the one in use.
func (a *agent) recheck(r *roster.Roster) bool {
	if a.inUse == nil || r.GroupUID != a.inUse.GroupUID || r.Generation != a.inUse.Generation {
		return false
	}
	if r.AppHealth == a.inUse.AppHealth {
		a.keepSignature(r.Signed)
		return true
	}
	a.Logger.Info("the app's health is checked in another way from now on", "appHealth", r.AppHealth)
	changed := *a.inUse
	changed.AppHealth, changed.Signed = r.AppHealth, r.Signed
	a.inUse = &changed
	a.write(a.written)
	a.probe(changed.AppHealth)
	return true
}

// keepSignature keeps the newest signature of the roster in use: it lasts longer than the one
// before.
func (a *agent) keepSignature(signed []byte) {
	if bytes.Equal(a.inUse.Signed, signed) {
		return
	}
	again := *a.inUse
	again.Signed = signed
	a.inUse = &again
	a.write(a.written)
	a.publish() // the manager may ask for it
}

// probe has the app checked: by probes, or by whether it has a session.
func (a *agent) probe(h roster.AppHealth) {
	if a.Probe != nil {
		a.Probe(h)
	}
	a.wantsSession = a.wants(h)
	a.Ledger.tell() // whether it has one counts from now on, or no longer
}

// wants reports whether only a process whose app has a session is to be a candidate.
func (a *agent) wants(h roster.AppHealth) bool {
	return h.Handler == roster.Session && !a.OwnHealth
}

// nodeRoster is what the node has to know of a roster.
func nodeRoster(r *roster.Roster) *node.Roster {
	n := &node.Roster{
		Group:        r.GroupUID,
		Generation:   r.Generation,
		Algorithm:    r.Algorithm,
		Guarded:      r.Safety == roster.Guarded,
		Heartbeat:    r.Heartbeat,
		Timeout:      r.Timeout,
		Lease:        r.Lease,
		LeaseMinimum: r.LeaseMinimum,
		Rules:        r.Rules,
		Preemption:   lease.Policy(r.Preemption),
		Stable:       r.Stable,
	}
	for _, p := range r.Processes {
		n.Members = append(n.Members, lease.Member{
			Name:     p.Name,
			UID:      p.UID,
			StateID:  p.StateID,
			Priority: p.Priority,
			Voter:    p.Voter,
			Created:  p.Created,
			Grace:    p.Grace,
		})
	}
	return n
}

func members(r *roster.Roster) []transport.Member {
	list := make([]transport.Member, len(r.Processes))
	for i, p := range r.Processes {
		list[i] = transport.Member{
			Name:    p.Name,
			UID:     p.UID,
			Address: p.Address,
		}
	}
	return list
}
