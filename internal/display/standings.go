package display

import (
	"fmt"
	"strings"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// byStanding gathers processes by their standing, in the order in which these first occur, each
// with a sentence.
func (s *subject) byStanding(all []Process, say func(Standing, []string) string) []Standings {
	var groups []Standings
	index := map[Standing]int{}
	for _, p := range all {
		i, known := index[p.Standing]
		if !known {
			i = len(groups)
			index[p.Standing] = i
			groups = append(groups, Standings{Standing: p.Standing})
		}
		groups[i].Processes = append(groups[i].Processes, p.Name)
	}
	for i := range groups {
		groups[i].Text = say(groups[i].Standing, groups[i].Processes)
	}
	return groups
}

// plain says of processes how they stand.
func (s *subject) plain(standing Standing, who []string) string {
	return sentence(Enumerate(who) + " " + standing.why(len(who)))
}

// whyNotIt says of processes that outrank the coordinator why they do not coordinate.
func (s *subject) whyNotIt(standing Standing, who []string) string {
	ranks := "ranks"
	if len(who) > 1 {
		ranks = "rank"
	}
	text := fmt.Sprintf("%s %s higher, but %s", Enumerate(who), ranks, standing.why(len(who)))
	switch {
	case standing == StandingSilent:
		return sentence(text + ", so it is not known why")
	case standing != StandingCandidate:
		return sentence(text)
	}
	text = fmt.Sprintf("%s %s higher, and %s", Enumerate(who), ranks, standing.why(len(who)))
	if w := stepDownOf(s.group); w != nil && w.To == s.coordinator.Name && w.To != "" {
		return text + fmt.Sprintf(", but %s ranks above all others while the request to step down "+
			"stands.", w.To)
	}
	if s.preemption == nil {
		return text + ": one should take over at once. If this lasts, check which processes can reach " +
			"each other."
	}
	switch v1.PreemptionPolicy(s.preemption.Policy) {
	case v1.Never:
		return text + ", but preemption is Never."
	case v1.Always:
		return text + ": one should take over at once. If this lasts, it does not answer the " +
			"coordinator, or reaches no majority of the voters: see the agents' logs."
	default:
		return text + fmt.Sprintf(": one takes over when it has answered the coordinator for %ds "+
			"without interruption. If this lasts, it reaches no majority of the voters, or its answers "+
			"are interrupted: see the agents' logs.", s.preemption.StableSeconds)
	}
}

// sentence ends a text with a stop. It begins as it did: it may begin with the name of a process.
func sentence(text string) string {
	if text = strings.TrimRight(text, ". "); text == "" {
		return ""
	}
	return text + "."
}
