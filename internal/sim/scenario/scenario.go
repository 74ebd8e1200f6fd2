package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
)

// Scenario is a group, what befalls it, and who notices. Played twice it gives the same events.
type Scenario struct {
	Algorithm   string
	Processes   []election.Process // in ring order
	Coordinator string             // all follow it at the start; empty: the highest
	Cold        bool               // nobody follows anyone at the start; Coordinator is empty
	// Crashed are down from the start. Nobody has been told, but for their predecessors in a ring.
	Crashed   []string
	Unhealthy []string // their apps have failed from the start; their control parts go on
	// Initiators hold an election at time 0: their failure detector suspects the coordinator, whether
	// it is down or not. An initiator that is the coordinator itself, and every initiator of a cold
	// group, starts anew instead, as after a failure.
	Initiators []string
	Faults     []Fault
	Carry      Carry // when messages arrive; nil: each takes a Unit
	Until      Time  // the end; 0: when nothing is under way any more
	// each process has a failure detector, which finds out within T that its coordinator is gone
	Detect bool
}

// Fault is something that happens to the group.
type Fault struct {
	At        Time
	Kind      FaultKind
	Processes []string // that crash or recover
	// of a cut: two processes reach each other if some side has both, or if one of them is in no side
	Sides [][]string
}

// FaultKind says what a fault is.
type FaultKind string

// The kinds of faults. A Cut replaces the one before; Heal ends it.
const (
	Crash   FaultKind = "Crash"
	Recover FaultKind = "Recover"
	Cut     FaultKind = "Cut"
	Heal    FaultKind = "Heal"
)

// check says what is wrong with a scenario, and what would be right.
func (s *Scenario) check() error {
	if !slices.Contains(election.Algorithms(), s.Algorithm) {
		return fmt.Errorf("no election algorithm %q; there are %s", s.Algorithm,
			strings.Join(election.Algorithms(), ", "))
	}
	if len(s.Processes) == 0 {
		return fmt.Errorf("a scenario needs at least one process")
	}
	seen := map[string]bool{}
	for _, p := range s.Processes {
		switch {
		case p.Name == "":
			return fmt.Errorf("process %d has no name", len(seen)+1)
		case seen[p.Name]:
			return fmt.Errorf("two processes are called %s: names are unique", p.Name)
		case p.Priority < 0:
			return fmt.Errorf("%s has the priority %d; it is 0 (never coordinates) or more", p.Name,
				p.Priority)
		}
		seen[p.Name] = true
	}
	if s.Cold && s.Coordinator != "" {
		return fmt.Errorf("a cold group has no coordinator: leave out either Cold or the coordinator %s",
			s.Coordinator)
	}
	if s.Until < 0 {
		return fmt.Errorf("the scenario ends at %s; give 0 to play until nothing is under way, or a "+
			"later time", Delays(s.Until))
	}
	return s.checkNames()
}

// checkNames sees to it that everybody named is a process, and that no fault falls outside the time
// played.
func (s *Scenario) checkNames() error {
	known := func(what string, names ...string) error {
		for _, name := range names {
			if !slices.ContainsFunc(s.Processes, func(p election.Process) bool { return p.Name == name }) {
				return fmt.Errorf("%s: there is no process %q; there are %s", what, name,
					strings.Join(namesOf(s.Processes), ", "))
			}
		}
		return nil
	}
	if s.Coordinator != "" {
		if err := known("coordinator", s.Coordinator); err != nil {
			return err
		}
	}
	if err := known("crashed", s.Crashed...); err != nil {
		return err
	}
	if err := known("unhealthy", s.Unhealthy...); err != nil {
		return err
	}
	if err := known("initiators", s.Initiators...); err != nil {
		return err
	}
	for _, name := range s.Initiators {
		if slices.Contains(s.Crashed, name) {
			return fmt.Errorf("%s is crashed, so it cannot be an initiator", name)
		}
	}
	for _, name := range s.Unhealthy {
		if slices.Contains(s.Crashed, name) {
			return fmt.Errorf("%s is crashed, so its app cannot be unhealthy while it runs", name)
		}
	}
	for _, f := range s.Faults {
		if err := known(strings.ToLower(string(f.Kind)),
			append(slices.Concat(f.Sides...), f.Processes...)...); err != nil {
			return err
		}
		if err := f.check(s.Until); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fault) check(until Time) error {
	switch {
	case f.At < 0:
		return fmt.Errorf("%s at %s: times start at 0", f.Kind, Delays(f.At))
	case until > 0 && f.At > until:
		return fmt.Errorf("%s at %s is after the end at %s; let the scenario last until %s at least",
			f.Kind, Delays(f.At), Delays(until), Delays(f.At))
	}
	switch f.Kind {
	case Crash, Recover:
		if len(f.Processes) == 0 || len(f.Sides) > 0 {
			return fmt.Errorf("%s at %s names processes, and no sides", f.Kind, Delays(f.At))
		}
	case Cut:
		if len(f.Processes) > 0 || len(f.Sides) < 2 {
			return fmt.Errorf("%s at %s names two or more sides, and no processes", f.Kind, Delays(f.At))
		}
	case Heal:
		if len(f.Processes)+len(f.Sides) > 0 {
			return fmt.Errorf("%s at %s ends the cut as a whole: it names neither processes nor sides",
				f.Kind, Delays(f.At))
		}
	default:
		return f.checkMishap()
	}
	return nil
}

func namesOf(processes []election.Process) []string {
	names := make([]string, len(processes))
	for i, p := range processes {
		names[i] = p.Name
	}
	return names
}

// Highest is the process that outranks all others.
func Highest(processes []election.Process) (highest election.Process) {
	for i, p := range processes {
		if i == 0 || p.Outranks(highest) {
			highest = p
		}
	}
	return highest
}
