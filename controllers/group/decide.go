package group

import (
	"time"

	"github.com/podesta-dev/podesta/internal/membership"
)

// statusWithin is how long the status may stay as it is while the roster changes in every pass.
const statusWithin = time.Second

// decision is all that a pass is to do, decided before its first write.
type decision struct {
	membership   membership.State
	setBackSince time.Time // see state
	roster       rosterDecision
	// rosterEvents are recorded after the roster has been persisted.
	rosterEvents []notification
	// status is what the group's status is to say; nil: this pass leaves it as it is. Without a
	// status no pod gets the role label; it may still be taken off one.
	status  *statusDecision
	role    roleDecision
	service serviceDecision
	// again is when the group is to be reconciled again without an event; zero: never.
	again time.Duration
}

// decide makes all decisions of a pass. A pass with a new roster hands out the roster only: the
// status follows in the next pass, when the agents have had time to respond to the roster. If the
// roster changes in every pass, the status is decided once a second all the same.
func decide(o observation) decision {
	d := decision{roster: decideRoster(o)}
	d.membership, d.again = d.roster.state, d.roster.again
	d.setBackSince = setBackSince(o, d.roster)
	d.role.labels = observedLabels(o) // known even if this pass decides nothing about them
	o.published.Roster = d.roster.known
	if d.roster.record != nil {
		d.rosterEvents = rosterEvents(o.published.Roster, d.roster.record, guarded(o.group))
		d.again = o.debounce
		if o.now.Sub(o.statusAt) < statusWithin {
			return d
		}
		o.published.Roster = d.roster.record
	}
	if hold := max(holdStatus(o), holdSetBack(o.now, d.setBackSince)); hold > 0 {
		d.role = decideHeldRole(o)
		d.again = sooner(hold, d.again)
		return d
	}
	status := decideStatus(o, d.roster)
	d.status = &status
	d.again = sooner(status.recheck, d.again)
	d.role = status.role
	d.service = decideService(o)
	return withinBudget(o, d)
}

// sooner returns the shorter of two waits, where zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
