package roster

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The limits of a report. If anything exceeds its limit, the manager closes the stream with an
// error that says so.
const (
	maxRows     = MaxProcesses
	maxDecision = 400 // a name and two numbers
	maxWord     = 64
	maxCause    = 256 // transport.MaxCause
	maxEpoch    = 1<<53 - 1
)

// The states of an agent of a Guarded group with respect to the lease; empty in a Classic group, or
// without a roster. A state that the reader does
// not know comes from a newer agent.
const (
	LeaseFollowing = "Following" // another process holds the epoch of the report
	LeaseHolding   = "Holding"   // this process may act under the epoch of the report
	LeaseElecting  = "Electing"  // no leaseholder is known
	// this process waits until its vote for a process that does not answer expires
	LeaseWaiting    = "Waiting"
	LeaseNoMajority = "NoMajority" // too few voters answer
	// it is a candidate, but the ballots of the report's generation are used up
	LeaseBallotsSpent = "BallotsSpent"
	// it no longer acts, and waits until the permissions it gave its app have ended
	LeaseSteppingDown = "SteppingDown"
)

// Why an agent's process is no candidate, spelled as in the API. A reason that the reader does not
// know comes from a newer agent; an older one gives none.
const (
	NotCandidateUnhealthy    = "Unhealthy"    // its app is unhealthy
	NotCandidateNoSession    = "NoSession"    // its app has none, and had one or is to have one
	NotCandidatePriorityZero = "PriorityZero" // the roster gives it priority 0
	NotCandidateLeaving      = "Leaving"      // it is about to end, on purpose
	// it reached no majority, or stood still or was restarted as the leaseholder, and waits some
	// seconds at most
	NotCandidateResting = "Resting"
)

// The states of a row, spelled as in the API.
const (
	Normal      = "Normal"
	Coordinator = "Coordinator"
	Crashed     = "Crashed"
	// NotAnswering: it does not answer, and nothing tells that it has ended.
	NotAnswering = "NotAnswering"
	Unknown      = "Unknown"
)

// Report is everything that an agent tells the manager. It is always complete, so only the newest
// one counts.
type Report struct {
	StateID     string // identifies the agent's state directory
	GroupUID    string // of the group object whose roster is in use; empty: none
	Generation  int64  // of that roster; 0 before the first one
	Incarnation uint64 // of the process; grows with every start
	Coordinator string // the coordinator that it follows; empty during an election
	// of the lease that it follows or holds; 0 in a Classic group, and while there is none
	Epoch      int64
	LeaseState string // in a Guarded group: a state such as LeaseHolding
	Electing   bool
	Withdrawn  bool // it is not a candidate, because its app is unhealthy or it leaves
	// why it is not a candidate, such as NotCandidateUnhealthy; empty: it is one
	NotCandidate string
	Leaving      bool // it is about to end, on purpose
	Left         bool // it has left, and answers nobody any more: its last word
	Table        []Row
	LastElection *Election
	Version      string // of the agent
	Rules        int32  // the newest rules level that the agent supports (MC11); 0 counts as 1
	// Signed is the roster in use as a manager signed it; empty: it came from no manager. It is shown
	// to a manager that asks for it, and no part of what is sent otherwise. Nobody modifies it.
	Signed []byte
}

// Row is a row of the agent's process status table. Unlinked is why the agent has no link to that
// process, for people; empty: that is not so.
type Row struct{ Name, State, Unlinked string }

// Election describes the last election that an agent took part in.
type Election struct {
	// identifies the announcement that ended it; equal at every process that received it
	Decision  string
	Initiator string
	Reason    string // why this agent took part: an ElectionReason of the API
	Sent      int    // election messages that this agent sent
	// from losing a coordinator to following one, at this agent; in microseconds
	Duration time.Duration
	// Epoch is that of the lease when this agent began to act, if it is the coordinator of a
	// Guarded group; else 0. It stays when the epoch of the lease changes in place, so it tells a
	// lease that was obtained again from one that goes on.
	Epoch int64
}

// Validate returns an error that says which value is out of bounds.
func (r Report) Validate() error {
	switch {
	case r.StateID != "" && !isUID(r.StateID): // it becomes a part of the roster
		return fmt.Errorf("state ID %q: must be letters, digits and '-', '.', '_', at most %d bytes",
			r.StateID, maxUID)
	case r.GroupUID != "" && !isUID(r.GroupUID):
		return fmt.Errorf("group UID %q: must be letters, digits and '-', '.', '_', at most %d bytes",
			r.GroupUID, maxUID)
	case r.Rules < 0 || r.Rules > maxRules:
		return fmt.Errorf("rules level %d: must be between 0 and %d", r.Rules, maxRules)
	case r.Generation < 0:
		return fmt.Errorf("generation %d is negative", r.Generation)
	case r.Coordinator != "" && !isName(r.Coordinator):
		return fmt.Errorf("coordinator %q is not a valid process name", r.Coordinator)
	case r.Epoch < 0 || r.Epoch > maxEpoch:
		return fmt.Errorf("epoch %d: must be between 0 and %d", r.Epoch, int64(maxEpoch))
	case len(r.LeaseState) > maxWord:
		return fmt.Errorf("lease state has %d bytes: at most %d", len(r.LeaseState), maxWord)
	case len(r.NotCandidate) > maxWord:
		return fmt.Errorf("the reason for not being a candidate has %d bytes: at most %d",
			len(r.NotCandidate), maxWord)
	case !isVersion(r.Version): // people see it in their terminals
		return fmt.Errorf("version %q: must be letters, digits and any of %q, at most %d bytes",
			r.Version, versionMarks, maxWord)
	case len(r.Table) > maxRows:
		return fmt.Errorf("the table has %d rows: at most %d", len(r.Table), maxRows)
	}
	for _, row := range r.Table {
		if !isName(row.Name) {
			return fmt.Errorf("the table names %q, which is not a valid process name", row.Name)
		}
		if !isPlain(row.Unlinked) { // people see it in their terminals
			return fmt.Errorf("the table says of %s why it is not linked in %d bytes: must be printable "+
				"ASCII, at most %d bytes", row.Name, len(row.Unlinked), maxCause)
		}
		switch row.State {
		case Normal, Coordinator, Crashed, NotAnswering, Unknown:
		default:
			return fmt.Errorf("the table has state %[2]q for %[1]s: must be Normal, Coordinator, "+
				"Crashed, NotAnswering or Unknown", row.Name, row.State)
		}
	}
	if r.LastElection == nil {
		return nil
	}
	return r.LastElection.validate()
}

// isPlain reports whether a cause is printable ASCII, and short.
func isPlain(cause string) bool {
	return len(cause) <= maxCause && !strings.ContainsFunc(cause, func(r rune) bool {
		return r < ' ' || r > '~'
	})
}

// A table may have spareRows more rows than the published roster has processes: the agent may use
// an earlier or a later roster.
const spareRows = 8

// rowsBy returns what is kept of a table: no more than the group's roster has processes, and a few.
func rowsBy(r *Roster, table []Row) []Row {
	most := spareRows
	if r != nil {
		most += len(r.Processes)
	}
	if len(table) <= most {
		return table
	}
	listed := map[string]bool{}
	if r != nil {
		for _, p := range r.Processes {
			listed[p.Name] = true
		}
	}
	kept := make([]Row, 0, most)
	for _, row := range table {
		if listed[row.Name] && len(kept) < most {
			kept = append(kept, row)
		}
	}
	return kept
}

// IsNamed reports whether the decision names an election, as election.ID does: a process that
// called it and two numbers, in the one way to write them. An agent that has got its coordinator
// without an announcement has none to name.
func (e Election) IsNamed() bool {
	parts := strings.Split(e.Decision, "/")
	return len(parts) == 3 && isName(parts[0]) && isNumber(parts[1]) && isNumber(parts[2])
}

func isNumber(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == s
}

func (e Election) validate() error {
	switch {
	case len(e.Decision) > maxDecision:
		return fmt.Errorf("the election's decision has %d bytes: at most %d", len(e.Decision),
			maxDecision)
	case e.Initiator != "" && !isName(e.Initiator):
		return fmt.Errorf("the election's initiator %q is not a valid process name", e.Initiator)
	case len(e.Reason) > maxWord:
		return fmt.Errorf("the election's reason has %d bytes: at most %d", len(e.Reason), maxWord)
	case e.Sent < 0 || e.Duration < 0:
		return fmt.Errorf("the election sent %d messages in %v: neither can be negative", e.Sent,
			e.Duration)
	case e.Epoch < 0 || e.Epoch > maxEpoch:
		return fmt.Errorf("the election's epoch %d: must be between 0 and %d", e.Epoch,
			int64(maxEpoch))
	}
	return nil
}
