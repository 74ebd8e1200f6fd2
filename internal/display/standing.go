package display

import (
	"fmt"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Standing is whether a process may coordinate, and if not, why.
type Standing string

// The standings that are not a v1.NotCandidateReason.
const (
	StandingCoordinates Standing = "Coordinates"
	StandingCandidate   Standing = "Candidate"
	// StandingCrashed: it does not run.
	StandingCrashed Standing = "Crashed"
	// StandingNotAnswering: it does not answer its peers, and may run.
	StandingNotAnswering Standing = "NotAnswering"
	// StandingSilent: it does not report to the manager. It may run, and be a candidate.
	StandingSilent Standing = "NotReporting"
	// StandingNoAgent: its pod has no agent.
	StandingNoAgent Standing = "AgentMissing"
	// StandingNotOnRoster: it is not on the roster yet, so the others do not know it.
	StandingNotOnRoster Standing = "NotOnRoster"
)

// standing judges a row. Member is the process on the roster; nil if it is not there.
func (s *subject) standing(row *v1.ProcessStatus, member *v1.RosterMember) Standing {
	switch {
	case row.Name != "" && s.group.Status.Coordinator != nil &&
		row.Name == s.group.Status.Coordinator.Name:
		return StandingCoordinates
	case row.Agent == v1.AgentMissing:
		return StandingNoAgent
	case row.State == v1.ProcessCrashed:
		return StandingCrashed
	case row.State == v1.ProcessNotAnswering:
		return StandingNotAnswering
	case row.NotCandidate == v1.NotCandidateWitness || isWitness(member):
		return Standing(v1.NotCandidateWitness)
	case ptr.Deref(row.Priority, 0) == 0:
		return Standing(v1.NotCandidatePriorityZero)
	case row.State == v1.ProcessUnknown || !ptr.Deref(row.Connected, false):
		return StandingSilent
	case row.NotCandidate != "":
		return Standing(word(string(row.NotCandidate)))
	case s.group.Status.Roster != nil && member == nil:
		return StandingNotOnRoster
	default:
		return StandingCandidate
	}
}

func isWitness(m *v1.RosterMember) bool { return m != nil && ptr.Deref(m.Witness, false) }

// Means says that of one process: "it does not run".
func (s Standing) Means() string { return "it " + s.why(1) }

// why completes a sentence about one process or several: "NAME does not run".
func (s Standing) why(n int) string {
	verb := func(one, many string) string {
		if n == 1 {
			return one
		}
		return many
	}
	switch s {
	case StandingCrashed:
		return verb("does not run", "do not run")
	case StandingNotAnswering:
		return verb("does not answer the others, and may still run",
			"do not answer the others, and may still run")
	case StandingSilent:
		return verb("does not report to the manager", "do not report to the manager")
	case StandingNoAgent:
		return verb("has no agent", "have no agents")
	case StandingCoordinates:
		return verb("coordinates", "coordinate")
	case StandingCandidate:
		return verb("is a candidate", "are candidates")
	case StandingNotOnRoster:
		return verb("is not on the roster yet", "are not on the roster yet")
	case Standing(v1.NotCandidateUnhealthy):
		return verb("is no candidate: its app is unhealthy",
			"are no candidates: their apps are unhealthy")
	case Standing(v1.NotCandidateNoSession):
		return verb("is no candidate: its app has no session with the agent",
			"are no candidates: their apps have no sessions with their agents")
	case Standing(v1.NotCandidatePriorityZero):
		return verb("has priority 0", "have priority 0")
	case Standing(v1.NotCandidateWitness):
		return verb("is a witness and never coordinates", "are witnesses and never coordinate")
	case Standing(v1.NotCandidateSteppedDown):
		return verb("stands aside: an operator asked it to step down",
			"stand aside: an operator asked them to step down")
	case Standing(v1.NotCandidateLeaving):
		return verb("is about to end", "are about to end")
	case Standing(v1.NotCandidateResting):
		return verb("rests: it reached no majority of the voters, stood still, or was restarted",
			"rest: they reached no majority of the voters, stood still, or were restarted")
	default:
		return fmt.Sprintf("%s no candidate (%s)", verb("is", "are"), s)
	}
}
