package roster

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of a report. A longer transcript is cut by the client (the newest lines are kept); anything else beyond its bound
// is refused by the manager, which closes the stream with a sentence that says so.
const (
	MaxTranscript     = 64  // lines
	MaxTranscriptLine = 200 // bytes
	maxRows           = MaxProcesses
	maxDecision       = 400 // a name and two numbers
	maxWord           = 64
	maxEpoch          = 1<<53 - 1
)

// What an agent of a Guarded group says that it is at. A reader takes a word that it does not know for a newer agent's.
const (
	LeaseNone         = ""             // a Classic group, or no roster
	LeaseFollowing    = "Following"    // somebody holds the epoch of the report
	LeaseHolding      = "Holding"      // this process may act under the epoch of the report
	LeaseElecting     = "Electing"     // nobody is known to hold
	LeaseWaiting      = "Waiting"      // a promise to somebody that nobody hears still runs
	LeaseNoMajority   = "NoMajority"   // too few voters answer
	LeaseBallotsSpent = "BallotsSpent" // it would claim, and the ballots of the report's generation are used up
	LeaseSteppingDown = "SteppingDown" // it acts no more, and waits until what it told its app has ended
)

// The states of a row, spelled as in the API.
const (
	Normal      = "Normal"
	Coordinator = "Coordinator"
	Crashed     = "Crashed"
	Unknown     = "Unknown"
)

// Report is all that an agent tells the manager. It is always whole, so that only the newest one matters.
type Report struct {
	StateID      string // identity of the agent's state directory
	Generation   int64  // of the roster in use; 0 before the first
	Incarnation  uint64 // of the process; grows with every start
	Coordinator  string // whom it follows; empty while it elects
	Epoch        int64  // of the lease that it follows or holds; 0 in a Classic group, and while there is none
	LeaseState   string // what it is at in a Guarded group: a word such as LeaseHolding
	Electing     bool
	Withdrawn    bool // it is no candidate: its app is ill, or it is leaving
	Leaving      bool // it is about to end, on purpose
	Table        []Row
	LastElection *Election
	Version      string // of the agent
}

// Row is a row of the agent's process status table.
type Row struct{ Name, State string }

// Election is an agent's account of the last election that it took part in.
type Election struct {
	Decision   string // names the announcement it ended with; equal at every process that heard the same one
	Initiator  string
	Reason     string        // why this agent took part: an ElectionReason of the API
	Sent       int           // messages of the election that this agent sent
	Duration   time.Duration // from losing the coordinator to following one, at this agent; microseconds are kept
	Transcript []string
}

// Validate says what is out of bounds.
func (r Report) Validate() error {
	switch {
	case r.StateID != "" && !isUID(r.StateID): // it becomes a part of the roster
		return fmt.Errorf("state ID %q: must be letters, digits and '-', '.', '_', at most %d bytes", r.StateID, maxUID)
	case r.Generation < 0:
		return fmt.Errorf("generation %d is negative", r.Generation)
	case r.Coordinator != "" && !isName(r.Coordinator):
		return fmt.Errorf("coordinator %q is no process's name", r.Coordinator)
	case r.Epoch < 0 || r.Epoch > maxEpoch:
		return fmt.Errorf("epoch %d: must be between 0 and %d", r.Epoch, int64(maxEpoch))
	case len(r.LeaseState) > maxWord:
		return fmt.Errorf("lease state has %d bytes: at most %d", len(r.LeaseState), maxWord)
	case len(r.Version) > maxWord:
		return fmt.Errorf("version has %d bytes: at most %d", len(r.Version), maxWord)
	case len(r.Table) > maxRows:
		return fmt.Errorf("the table has %d rows: at most %d", len(r.Table), maxRows)
	}
	for _, row := range r.Table {
		if !isName(row.Name) {
			return fmt.Errorf("the table names %q, which is no process's name", row.Name)
		}
		switch row.State {
		case Normal, Coordinator, Crashed, Unknown:
		default:
			return fmt.Errorf("the table says that %s is %q: must be Normal, Coordinator, Crashed or Unknown", row.Name, row.State)
		}
	}
	if r.LastElection == nil {
		return nil
	}
	return r.LastElection.validate()
}

func (e Election) validate() error {
	switch {
	case len(e.Decision) > maxDecision:
		return fmt.Errorf("the election's decision has %d bytes: at most %d", len(e.Decision), maxDecision)
	case e.Initiator != "" && !isName(e.Initiator):
		return fmt.Errorf("the election's initiator %q is no process's name", e.Initiator)
	case len(e.Reason) > maxWord:
		return fmt.Errorf("the election's reason has %d bytes: at most %d", len(e.Reason), maxWord)
	case e.Sent < 0 || e.Duration < 0:
		return fmt.Errorf("the election sent %d messages in %v: neither can be negative", e.Sent, e.Duration)
	case len(e.Transcript) > MaxTranscript:
		return fmt.Errorf("the election's transcript has %d lines: at most %d", len(e.Transcript), MaxTranscript)
	}
	for _, line := range e.Transcript {
		if len(line) > MaxTranscriptLine {
			return fmt.Errorf("a line of the election's transcript has %d bytes: at most %d", len(line), MaxTranscriptLine)
		}
	}
	return nil
}

// cut returns the newest lines of a transcript, within bounds and valid UTF-8 (the wire refuses anything else).
func cut(transcript []string) []string {
	if extra := len(transcript) - MaxTranscript; extra > 0 {
		transcript = transcript[extra:]
	}
	lines := make([]string, len(transcript))
	for i, line := range transcript {
		if len(line) > MaxTranscriptLine {
			line = line[:MaxTranscriptLine]
		}
		lines[i] = strings.ToValidUTF8(line, "")
	}
	return lines
}
