package display

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Explanation is why a process coordinates a group, or why none does.
type Explanation struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// LastState and Current are as in Group.
	LastState   State        `json:"lastState,omitempty"`
	Current     *Current     `json:"current,omitempty"`
	Reason      string       `json:"reason,omitempty"`
	Coordinator *Coordinator `json:"coordinator,omitempty"`
	// Why are sentences: the reasons why this process coordinates, or why nobody does.
	Why []string `json:"why"`
	// Higher groups the processes that outrank the coordinator by what keeps them from coordinating.
	// While nobody coordinates, it groups all processes by their standing.
	Higher []Standings `json:"higher,omitempty"`
	Next   Next        `json:"next"`
	// Problems lists what is wrong, and what to do.
	Problems []Problem `json:"problems,omitempty"`
	// NotShown is what a status does not tell.
	NotShown []string `json:"notShown"`
}

// Standings are processes of one standing, highest first.
type Standings struct {
	Standing  Standing `json:"standing"`
	Processes []string `json:"processes"`
	// Text is that as a sentence.
	Text string `json:"text"`
}

// Explain returns why a process coordinates a group, or why none does.
func Explain(g *v1.ElectionGroup, now time.Time) Explanation {
	s := newSubject(g, now)
	e := Explanation{
		Namespace:   name(g.Namespace),
		Name:        name(g.Name),
		Coordinator: s.coordinator,
		Next:        s.next(),
		Problems:    s.problems(),
		NotShown: []string{"links between processes that have been missing for a few seconds only, " +
			"and those of processes that do not report", "what has changed since the manager " +
			"published it"},
	}
	e.State, e.Reason = s.state()
	if s.coordinator == nil {
		e.Why, e.Higher = s.whyNobody(e.Problems), s.byStanding(s.processes, s.plain)
		e.Why = append(e.Why, s.keptAside()...)
		return e
	}
	higher := slices.DeleteFunc(slices.Clone(s.processes), func(p Process) bool {
		return p.Name == s.coordinator.Name || !p.Outranks(s.coordinator, s.preemption)
	})
	e.Higher = s.byStanding(higher, s.whyNotIt)
	e.Why = append([]string{s.rank(higher)}, s.support())
	e.Why = append(append(e.Why, s.preempts()), s.keptAside()...)
	e.Why = append(e.Why, s.witnessed()...)
	if s.preemption != nil && s.preemption.Policy == string(v1.Delayed) && slices.ContainsFunc(
		higher, func(p Process) bool { return p.Standing == StandingCandidate }) {
		e.NotShown = append(e.NotShown,
			"for how long a higher candidate has answered the coordinator without interruption")
	}
	return e
}

// keptAside says which process an operator keeps from coordinating, if there is one.
func (s *subject) keptAside() []string {
	request := stepDownOf(s.group)
	if request == nil {
		return nil
	}
	return []string{fmt.Sprintf("An operator asked for it (kubectl election step-down): %s.",
		request.Text)}
}

// witnessed says which processes are witnesses, if there are any.
func (s *subject) witnessed() []string {
	var who []string
	for _, p := range s.processes {
		if p.Witness {
			who = append(who, p.Name)
		}
	}
	if len(who) == 0 {
		return nil
	}
	return []string{s.plain(Standing(v1.NotCandidateWitness), who)}
}

// whyNobody are the manager's reasons, without problems that do not keep a group from electing.
func (s *subject) whyNobody(problems []Problem) []string {
	var why []string
	for _, p := range problems {
		keeps := p.Condition == v1.ConditionStalled && keepsFromElecting(p.Reason)
		if !keeps && p.Condition != v1.ConditionCoordinatorElected && p.Reason != reasonNoStatus {
			continue
		}
		why = append(why, sentence(p.Message))
		if p.Means != "" {
			why = append(why, p.Means)
		}
	}
	return why
}

// rank says where the coordinator stands among the processes.
func (s *subject) rank(higher []Process) string {
	c, candidates := s.coordinator, 1
	for _, p := range s.processes {
		if p.Standing == StandingCandidate {
			candidates++
		}
	}
	total, equal := len(s.processes), ""
	for _, p := range s.processes {
		switch {
		case p.Name == c.Name || p.Priority != c.Priority:
		case s.preemption != nil:
			equal = "; processes of equal priority do not depose each other"
		case !p.Outranks(c, nil):
			equal = "; with equal priorities, the name that sorts last ranks higher"
		}
	}
	switch {
	case total == 1:
		return fmt.Sprintf("%s (priority %d) is the only process.", c.Name, c.Priority)
	case len(higher) == 1:
		return fmt.Sprintf("One of the %d processes ranks higher than %s (priority %d).", total, c.Name,
			c.Priority)
	case len(higher) > 1:
		return fmt.Sprintf("%d of the %d processes rank higher than %s (priority %d).", len(higher),
			total, c.Name, c.Priority)
	case candidates == 1:
		return fmt.Sprintf("%s (priority %d) ranks highest of the %d processes, and no other one that "+
			"reports is a candidate.", c.Name, c.Priority, total)
	case candidates == total:
		return fmt.Sprintf("%s (priority %d) ranks highest of the %d processes, all of them "+
			"candidates%s.", c.Name, c.Priority, total, equal)
	default:
		return fmt.Sprintf("%s (priority %d) ranks highest of the %d processes, %d of them "+
			"candidates%s.", c.Name, c.Priority, total, candidates, equal)
	}
}

// support tells how many processes follow the coordinator.
func (s *subject) support() string {
	followers, connected, voting := 0, 0, 0
	for _, p := range s.processes {
		if !p.Connected {
			continue
		}
		connected++
		if p.Agrees {
			followers++
		}
		if p.Agrees && p.reportsAsVoter() {
			voting++
		}
	}
	switch {
	case s.voters == nil && connected == 1 && followers == 1:
		return "It is the only process that reports to the manager. A Classic group needs no majority."
	case s.voters == nil:
		return fmt.Sprintf("%s processes that report to the manager follow it. A Classic group needs "+
			"no majority.", of(followers, connected))
	case s.voters.Total == 1 && voting == 1:
		return "The group has one voter, which reports that it follows it."
	}
	text := fmt.Sprintf("%s voters report that they follow it; a majority is %d.",
		of(voting, s.voters.Total), s.voters.Majority)
	if voting < s.voters.Majority {
		text += " The status shows what was last seen."
	}
	return text
}

// of returns "All 5", or "3 of the 5".
func of(n, total int) string {
	if n == total && n > 0 {
		return fmt.Sprintf("All %d", n)
	}
	return fmt.Sprintf("%d of the %d", n, total)
}

// preempts says when a higher process takes over.
func (s *subject) preempts() string {
	if s.preemption == nil {
		return "In a Classic group the highest candidate takes over at once."
	}
	switch v1.PreemptionPolicy(s.preemption.Policy) {
	case v1.Always:
		return "Preemption is Always: a higher candidate takes over at once, but not in the first " +
			"moments of a lease."
	case v1.Never:
		return "Preemption is Never: the coordinator stays until it fails or leaves."
	case v1.Delayed:
		return fmt.Sprintf("Preemption is Delayed: a higher candidate takes over when it has answered "+
			"the coordinator for %ds without interruption.", s.preemption.StableSeconds)
	default:
		return fmt.Sprintf("Preemption is %s, which this version does not know.", s.preemption.Policy)
	}
}
