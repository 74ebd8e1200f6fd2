package history

import (
	"fmt"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/register"
)

// Rule names what was broken.
type Rule string

// The rules.
const (
	TwoAct         Rule = "two may act at once"            // G1
	TwoOwners      Rule = "an epoch has two owners"        // G2
	EpochBack      Rule = "an epoch went back"             // G3
	ReleasedEarly  Rule = "released while told it may act" // G8, T6
	ReleasedFirst  Rule = "released before it stopped"     // G8
	StaleAccepted  Rule = "a stale write was accepted"     // G7
	FreshRefused   Rule = "a fresh write was refused"      // of the register itself
	NeverPermitted Rule = "a write that nobody permitted"  // of the writers themselves
	// everything that names the coordinator carries it
	WithoutAnyEpoch Rule = "no epoch in a Guarded group"
	WithAnEpoch     Rule = "an epoch in a Classic group" // it would promise what is not kept
)

// Violation is one time that a rule was broken.
type Violation struct {
	Rule Rule
	At   register.Instant
	Text string
}

// Report is what became of a group in a run.
type Report struct {
	Told      int // how often a process was told that it may act
	Stretches int // of time, each by one process and epoch, in which it was told so without a gap
	Writes    Writes
	// Together is when two processes were told at once that they may act. In a Classic group a process
	// does not count while it is stopped: nobody told it until when it may act, so nobody can say when
	// that would have ended.
	Together Times
	// Nobody is when none was, from the first time that one was.
	Nobody Times
	// Held, Stopped and Released count the steps in the agents' logs.
	Held, Stopped, Released int

	Violations []Violation
}

// Writes counts what was sent to the register.
type Writes struct {
	Accepted, Refused int
	// RefusedCareful are those of the refused whose writer had checked the clock right before.
	RefusedCareful int
	// Late were accepted after the writer's deadline: nobody with a newer epoch had written yet.
	Late int
	// Stale were accepted in the midst of what another process wrote, which was told later. Without
	// epochs nothing refuses them.
	Stale int
}

// Guarded checks a Guarded group.
func (h History) Guarded(group string) Report {
	all := h.told(group)
	merged := merge(all)
	found := overlaps(merged)
	r := h.report(group, all, merged, found)
	for _, o := range found {
		r.violate(TwoAct, o.From, "%s under epoch %v and %s under epoch %v, for %v", o.A.Process,
			lease.Epoch(o.A.Epoch), o.B.Process, lease.Epoch(o.B.Epoch), o.To.Sub(o.From))
	}
	h.epochs(&r, group, all)
	h.releases(&r, group, all)
	h.replay(&r, group)
	return r
}

// Classic looks at a Classic group, which may have two coordinators at once: how often, is in the
// report.
func (h History) Classic(group string) Report {
	all := h.told(group)
	merged := merge(all)
	r := h.report(group, all, merged, overlaps(merge(without(all, h.pauses(group)))))
	for _, i := range all {
		if i.Epoch != 0 {
			r.violate(WithAnEpoch, i.From, "%s was told %d", i.Process, i.Epoch)
		}
	}
	return r
}

func (h History) report(group string, all, merged []Interval, found []Overlap) Report {
	r := Report{
		Told:      len(all),
		Stretches: len(merged),
		Together:  together(found),
		Nobody:    nobody(all, h.End),
		Held:      len(h.leases(group, Holds)),
		Stopped:   len(h.leases(group, Stops)),
		Released:  len(h.leases(group, Releases)),
	}
	r.Writes = h.writes(group)
	return r
}

func (r *Report) violate(rule Rule, at register.Instant, format string, args ...any) {
	r.Violations = append(r.Violations, Violation{
		Rule: rule,
		At:   at,
		Text: fmt.Sprintf(format, args...),
	})
}
