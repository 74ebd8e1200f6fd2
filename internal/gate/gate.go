// Package gate joins the two machines of a process in a Guarded group: the election machine nominates, the lease machine
// authorises. What one says that concerns the other goes through here, so that the agent and the simulator do the same. In a
// Classic group there is no lease machine, and the gate is open.
//
// What is not promised: a Gate is not safe for concurrent use.
package gate

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Driver carries out what the machines say.
type Driver interface {
	// Now reads the clocks.
	Now() lease.Reading
	// T is as the failure detector has it.
	T() time.Duration
	// Elected carries out what a step of the election machine said.
	Elected(before, after election.State, out election.Output)
	// Sync returns once the state is on the disk.
	Sync(s lease.State) error
	// Request sends a request.
	Request(to string, p lease.Request)
	// Heard notes that the holder was heard: the failure detector need not ask it.
	Heard(process string)
	// Stopped takes the permission away from the app, and returns until when the app was told that it may act.
	Stopped() lease.Instant
}

// Gate is a process with its two machines.
type Gate struct {
	Machine *election.Machine
	Lease   *lease.Machine // nil: Classic
	driver  Driver
	named   string // by the election machine, as the lease machine knows it
	ill     bool   // the driver has withdrawn the process
	rests   bool   // the lease machine has
	dirty   uint64 // a version of the state that is yet to be written
}

// New returns a gate. Lease is nil in a Classic group.
func New(m *election.Machine, t *lease.Machine, d Driver) *Gate {
	return &Gate{Machine: m, Lease: t, driver: d}
}

// Elect gives an event to the election machine.
func (g *Gate) Elect(e election.Event) {
	switch e.Type {
	case election.Withdraw:
		g.ill = true
		g.Authorise(lease.Event{Type: lease.Withdrawn})
	case election.Restore:
		g.ill = false
		if !g.rests { // else not yet
			g.step(e)
		}
		g.Authorise(lease.Event{Type: lease.Restored})
		return
	case election.Receive, election.Answered:
		if g.Lease == nil || !g.Lease.Settled() {
			break
		}
		if e.Type == election.Answered {
			return
		}
		e.Message = election.Message{} // F5, or the books would bully the holder for ever. Which life speaks is noted
	default:
	}
	g.step(e)
}

func (g *Gate) step(e election.Event) {
	before := g.Machine.State()
	out := g.Machine.Step(e)
	g.driver.Elected(before, g.Machine.State(), out)
	g.nominate()
}

// nominate tells the lease machine whom the election machine names now.
func (g *Gate) nominate() {
	s := g.Machine.State()
	if s.Electing {
		s.Coordinator = ""
	}
	if g.Lease != nil && s.Coordinator != g.named {
		g.named = s.Coordinator
		g.Authorise(lease.Event{Type: lease.Nominated, Process: g.named})
	}
}

// Authorise gives an event to the lease machine, and returns its answer to a request, if it has one.
func (g *Gate) Authorise(e lease.Event) *lease.Response {
	if g.Lease == nil {
		return nil
	}
	e.Now, e.T = g.driver.Now(), g.driver.T()
	out := *g.Lease.Step(e)
	var answer *lease.Response
	if n := len(out.Replies); n > 0 {
		answer = &out.Replies[n-1].Response
		copied := *answer
		answer = &copied
	}
	requests := slices.Clone(out.Requests)
	if out.Withdraw { // before anything else goes out
		defer g.Authorise(lease.Event{Type: lease.Told, Until: g.driver.Stopped()})
	}
	g.dirty = max(g.dirty, out.Version)
	var written lease.Event
	if g.dirty != 0 && e.Type != lease.WriteFailed && e.Type != lease.Told {
		written = lease.Event{Type: lease.Persisted, Version: g.dirty}
		g.dirty = 0
		if g.driver.Sync(g.Lease.State()) != nil {
			written = lease.Event{Type: lease.WriteFailed}
		}
	}
	for _, p := range requests {
		g.driver.Request(p.To, p.Request)
	}
	if written.Type != 0 {
		if a := g.Authorise(written); a != nil {
			answer = a
		}
	}
	if out.Heard != "" {
		g.driver.Heard(out.Heard)
	}
	g.rest()
	if out.Suspect != "" {
		g.step(election.Event{Type: election.Suspect, Process: out.Suspect})
	}
	if out.Appoint != "" {
		g.step(election.Event{Type: election.Appoint, Process: out.Appoint})
	}
	return answer
}

// rest withdraws a process that reaches no majority from the election, and brings it back (N5).
func (g *Gate) rest() {
	if rests := g.Lease.Rests(); rests != g.rests {
		g.rests = rests
		switch {
		case g.ill:
		case rests:
			g.step(election.Event{Type: election.Withdraw})
		default:
			g.step(election.Event{Type: election.Restore})
		}
	}
}
