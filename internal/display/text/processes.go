package text

import (
	"strconv"
	"strings"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/display"
)

// processes writes the process status table in the order of rank.
func (o Options) processes(b *strings.Builder, g display.Group) {
	columns := []column{
		{title: "PROCESS", names: true},
		{title: "PRIORITY", gives: 5},
		{title: "STATE"},
		{title: "FOLLOWS", gives: 2, names: true},
		{title: "EPOCH", gives: 6},
		{title: "VOTER", gives: 3},
		{title: "CONNECTED", gives: 4},
		{title: "CANDIDATE"},
		{title: "NOTE", gives: 1},
		{title: "UID"}, {title: "STATE ID"},
	}
	rows := make([][]cell, 0, len(g.Processes))
	for _, p := range g.Processes {
		rows = append(rows, o.process(p, g))
	}
	o.table(b, columns, rows)
}

func (o Options) process(p display.Process, g display.Group) []cell {
	row := []cell{
		{text: p.Name},
		{text: strconv.Itoa(int(p.Priority))},
		{text: or(p.State), style: processStyle(p)},
		{text: or(p.Follows)},
		{},
		{},
		{text: yes(p.Connected)},
		candidate(p),
		{text: note(p, g), style: yellow},
		{},
		{},
	}
	if p.State == string(v1.ProcessCoordinator) {
		row[0].style = bold
	}
	if p.Follows != "" && g.Coordinator != nil && p.Follows != g.Coordinator.Name {
		row[3].style = yellow
	}
	if g.Voters != nil {
		row[4].text, row[5].text = or(p.Epoch), yes(p.Voter)
	}
	if o.Wide {
		row[9].text, row[10].text = or(p.UID), or(p.StateID)
	}
	return row
}

func processStyle(p display.Process) style {
	switch v1.ProcessState(p.State) {
	case v1.ProcessCoordinator:
		return green
	case v1.ProcessCrashed, v1.ProcessNotAnswering:
		return red
	case v1.ProcessUnknown:
		return yellow
	default:
		return plain
	}
}

// candidate is whether a process may coordinate, or why not. What its state says is not repeated.
func candidate(p display.Process) cell {
	switch p.Standing {
	case display.StandingCoordinates:
		if !p.Connected {
			return cell{text: "unknown"}
		}
		return cell{text: "yes"}
	case display.StandingCandidate:
		return cell{text: "yes"}
	case display.StandingCrashed, display.StandingNotAnswering, display.StandingNoAgent:
		return cell{text: "no"}
	case display.StandingSilent:
		return cell{text: "unknown"}
	case display.Standing(v1.NotCandidatePriorityZero), display.Standing(v1.NotCandidateWitness):
		return cell{text: "no: " + string(p.Standing)}
	default:
		return cell{text: "no: " + string(p.Standing), style: yellow}
	}
}

// note is what else there is to say of a process.
func note(p display.Process, g display.Group) string {
	var notes []string
	switch v1.AgentState(p.Agent) {
	case v1.AgentMissing:
		notes = append(notes, "no agent")
	case v1.AgentOutdated:
		notes = append(notes, strings.TrimSpace("agent outdated "+p.Version))
	default:
	}
	if p.Witness && p.Standing != display.Standing(v1.NotCandidateWitness) {
		notes = append(notes, "a witness")
	}
	if p.GoneSeconds > 0 {
		notes = append(notes, "pod gone for "+ago(p.GoneSeconds))
	}
	if p.Forgotten {
		notes = append(notes, "forgotten")
	}
	if p.Connected && p.Follows == "" && g.Coordinator != nil {
		notes = append(notes, "follows nobody")
	}
	return strings.Join(notes, ", ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
